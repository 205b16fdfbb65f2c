"""Own brokers are registered in sessions of their own, and stay registered."""

from __future__ import annotations

import pytest

from kedge import (
    BrokerRegistration,
    DuplicateBrokerRegistration,
    Endpoint,
    IneligibleReplica,
    NewTopic,
    Settings,
    StaleBrokerEpoch,
)
from kedge.controller.model.values import Replicas
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Put, Unavailable
from kedge.stores.faults import FailBefore, LoseReply, Rule
from tests.runtime.world import Cluster

NINE = BrokerRegistration(9, host="nine", port=9)


def test_a_stand_by_registers_brokers_which_outlive_the_active_controller() -> None:
    """The end of a controller is not the end of its brokers, unless it closes."""
    cluster = Cluster()
    cluster.run()
    stand_by = cluster.another(2)
    epoch = stand_by.register_broker(NINE)
    cluster.run()
    assert cluster.controllers[0].describe().live_brokers == (9,)
    assert stand_by.broker_epoch(9) == epoch == cluster.epoch(9)
    cluster.controllers.pop(0).close()
    cluster.run()
    assert stand_by.describe().live_brokers == (9,)
    stand_by.close()
    assert cluster.other.get("/brokers/ids/9", timeout_s=1) is None


def test_registering_again_keeps_the_epoch() -> None:
    """Other endpoints, another rack: no election follows."""
    controller = Cluster().controller
    first = controller.register_broker(NINE)
    assert controller.register_broker(BrokerRegistration(9, host="nine", port=9, rack="b")) == first


def test_a_live_broker_is_not_taken_over_by_another_controller_at_the_same_address() -> None:
    """Host and port are the same by default; the error is a sentence, and nothing is written."""
    cluster = Cluster()
    cluster.controller.register_broker(BrokerRegistration(1))
    before = cluster.keys("/brokers/ids")
    with pytest.raises(DuplicateBrokerRegistration) as refused:
        cluster.another(2).register_broker(BrokerRegistration(1))
    assert cluster.keys("/brokers/ids") == before
    assert str(refused.value).startswith(
        "broker 1 is registered already at localhost:9092 by the process of controller 1:"
    )
    assert "{" not in str(refused.value)
    assert cluster.controllers[0].register_broker(BrokerRegistration(1, rack="b")) == cluster.epoch(1)


def test_a_process_that_was_restarted_replaces_what_its_former_self_registered() -> None:
    """It has the same node id, and need not wait for the end of its former session."""
    cluster = Cluster()
    first = cluster.controllers.pop().register_broker(NINE)  # killed: its session lives on for a while
    assert cluster.another(1).register_broker(NINE) > first


def test_a_broker_that_something_else_registered_at_the_same_address_is_refused() -> None:
    """A Kafka broker, say, whose registration names no controller."""
    cluster = Cluster()
    cluster.join(9, host=NINE.host, port=NINE.port)
    with pytest.raises(DuplicateBrokerRegistration, match="by another process"):
        cluster.controller.register_broker(NINE)


def test_a_key_that_holds_nonsense_is_nobodys_leftover() -> None:
    cluster = Cluster()
    cluster.put("/brokers/ids/9", b"{")
    with pytest.raises(DuplicateBrokerRegistration):
        cluster.controller.register_broker(NINE)


def test_a_broker_whose_session_was_lost_is_registered_again_under_a_new_epoch() -> None:
    cluster = Cluster()
    cluster.join(1, 2)
    epoch = cluster.controller.register_broker(NINE)
    cluster.create("t", (9, 1))
    cluster.server.expire(cluster.other.get("/brokers/ids/9", timeout_s=1).owner)  # type: ignore[union-attr,arg-type]
    cluster.run()
    again = cluster.controller.broker_epoch(9)
    assert again is not None
    assert again > epoch
    assert cluster.epoch(9) == again
    assert cluster.state()["leader"] == 1
    assert cluster.get("/kedge/brokers/9") == {"broker_epoch": again}


def test_what_cannot_be_registered_again_is_a_finding_and_tried_on() -> None:
    cluster = Cluster()
    cluster.controller.register_broker(NINE)
    owner = cluster.other.get("/brokers/ids/9", timeout_s=1).owner  # type: ignore[union-attr]
    cluster.server.expire(owner)  # type: ignore[arg-type]
    cluster.sessions[9] = MemoryStore(cluster.server)
    key = Put("/brokers/ids/9", b'{"version":4,"host":"thief","port":1}', ABSENT, ephemeral=True)
    cluster.sessions[9].commit([key], timeout_s=1)
    cluster.run()
    assert "/brokers/ids/9" in cluster.findings()
    cluster.leave(9)
    assert cluster.findings() == {}
    assert cluster.controller.broker_epoch(9) == cluster.epoch(9)


def test_only_the_last_epoch_can_be_unregistered() -> None:
    """Another epoch, another broker: StaleBrokerEpoch."""
    cluster = Cluster()
    epoch = cluster.controller.register_broker(NINE)
    for broker_id, stale in ((9, epoch + 1), (8, epoch)):
        with pytest.raises(StaleBrokerEpoch):
            cluster.controller.unregister_broker(broker_id, stale)
    cluster.controller.unregister_broker(9, epoch)
    assert cluster.other.get("/brokers/ids/9", timeout_s=1) is None
    assert cluster.controller.broker_epoch(9) is None


def test_a_store_that_cannot_be_reached_registers_nothing() -> None:
    """The call may be repeated; a reply that is lost leaves no key behind either."""
    cluster = Cluster()
    for fault in (FailBefore(), LoseReply()):
        cluster.store.play([Rule(fault, key="/brokers/ids/9", nth=1)])
        with pytest.raises((Unavailable, TimeoutError)):
            cluster.controller.register_broker(NINE)
        assert cluster.controller.broker_epoch(9) is None
        assert not cluster.has("/brokers/ids/9")
    assert cluster.controller.register_broker(NINE) > 0


@pytest.mark.parametrize(
    "said, error",
    [
        ({"port": -1}, ValueError),
        ({"endpoints": ("PLAINTEXT://h:1",)}, TypeError),
        ({"endpoints": (Endpoint("A", "h", 10**6),)}, ValueError),
        ({"leader_and_isr_version": "3"}, ValueError),
    ],
)
def test_unreadable_registration_is_refused_at_once(said: dict[str, object], error: type) -> None:
    cluster = Cluster()
    before = cluster.keys()
    with pytest.raises(error):
        cluster.controller.register_broker(BrokerRegistration(9, **said))  # type: ignore[arg-type]
    assert cluster.keys() == before


@pytest.mark.checklist(133, 135)
def test_the_version_of_the_registration_is_a_setting_and_the_rack_begins_with_v3() -> None:
    """For rolling upgrades; a version that is none is refused."""
    for version, rack in ((2, None), (3, "r")):
        cluster = Cluster(settings=Settings(registration_version=version))
        cluster.controller.register_broker(BrokerRegistration(9, rack="r"))
        found = cluster.get("/brokers/ids/9")
        assert (found["version"], found.get("rack")) == (version, rack)
    with pytest.raises(ValueError, match="registration_version"):
        Settings(registration_version=7)


@pytest.mark.checklist(158)
def test_racks_count_once_every_broker_of_a_rolling_upgrade_tells_its_own() -> None:
    """Until then topics are placed without regard to racks, over all brokers."""
    cluster, racks = Cluster(), {b: "abc"[b % 3] for b in range(1, 7)}
    first, hosts = cluster.controller, {}

    def started(broker: int, version: int) -> None:
        hosts[broker] = cluster.another(broker + 10, settings=Settings(registration_version=version))
        hosts[broker].register_broker(BrokerRegistration(broker, rack=racks[broker]))
        cluster.run()

    def upgraded(broker: int) -> None:
        cluster.controllers.remove(hosts[broker])
        hosts[broker].close()
        started(broker, 5)

    def placed(topic: str) -> list[Replicas]:
        created = cluster.done(first.admin.create_topics({topic: NewTopic(6, 3)}).all())
        return list(created[topic].assignments)

    for broker in racks:
        started(broker, 2)
    for broker in (1, 2, 3):
        upgraded(broker)
    assert {broker for replicas in placed("mixed") for broker in replicas} == set(racks)
    for broker in (4, 5, 6):
        upgraded(broker)
    assert [{racks[broker] for broker in replicas} for replicas in placed("whole")] == [{"a", "b", "c"}] * 6


def test_a_registration_that_failed_says_nothing_later() -> None:
    """A session that is lost after it publishes what the last successful call said."""
    cluster = Cluster()
    before = cluster.controller.register_broker(NINE)
    cluster.store.play([Rule(FailBefore(), key="/brokers/ids/9")])
    with pytest.raises(Unavailable):
        cluster.controller.register_broker(BrokerRegistration(9, host="elsewhere", port=1))
    cluster.store.play([])
    cluster.server.expire(cluster.other.get("/brokers/ids/9", timeout_s=1).owner)  # type: ignore[union-attr,arg-type]
    cluster.run()
    assert cluster.epoch(9) > before
    assert cluster.get("/brokers/ids/9")["host"] == "nine"


def test_broker_described_again_under_its_epoch_still_shuts_down() -> None:
    cluster = Cluster()
    for broker_id in (1, 2, 3):
        cluster.controller.register_broker(BrokerRegistration(broker_id))
    cluster.run()
    cluster.create()
    epoch = cluster.epoch(1)
    assert cluster.done(cluster.controller.controlled_shutdown(1, epoch)) == ()
    assert cluster.controller.register_broker(BrokerRegistration(1, host="elsewhere")) == epoch
    cluster.run()
    assert isinstance(cluster.error(cluster.isr([2, 3, 1])), IneligibleReplica)
    cluster.controller.unregister_broker(1, epoch)
    cluster.run()
    assert cluster.controller.register_broker(BrokerRegistration(1)) > epoch
    cluster.run()
    assert cluster.error(cluster.isr([2, 3, 1])) is None
