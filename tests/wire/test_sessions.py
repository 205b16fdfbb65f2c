"""Brokers that register at a gateway are alive while they beat."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kedge import BrokerRegistration, Hooks, NewTopic, TopicPartition
from kedge.controller.wire.calls import Address
from kedge.controller.wire.listeners import OWN_LISTENER
from kedge.controller.wire.remote import with_remote_brokers
from tests.kit.waiting import until
from tests.wire.peers import Peer
from tests.wire.remote import CLUSTER, Remote
from tests.wire.served import RawClient

LATEST = {4: (0, 7), 5: (0, 4), 6: (0, 8)}
NOWHERE = Address("127.0.0.1", 1)


@pytest.fixture
def remote() -> Iterator[Remote]:
    with Remote() as opened:
        yield opened


def register(client: RawClient, broker_id: int, address: Address, version: int = 4, **fields: Any) -> Any:
    return client.ask("BrokerRegistration", version, **(registration(broker_id, address) | fields))


def registration(broker_id: int, address: Address) -> dict[str, Any]:
    listener = {"name": "PLAINTEXT", "host": address.host, "port": address.port, "security_protocol": 0}
    known = {"broker_id": broker_id, "cluster_id": CLUSTER, "incarnation_id": uuid.uuid4()}
    return known | {"listeners": [listener]}


def beat(client: RawClient, broker_id: int, epoch: int, version: int = 1, **fields: Any) -> Any:
    asked = {"broker_id": broker_id, "broker_epoch": epoch, **fields}
    return client.ask("BrokerHeartbeat", version, **asked)


@pytest.mark.parametrize("version", range(5))
def test_a_broker_registers_in_every_version(remote: Remote, client: RawClient, version: int) -> None:
    with Peer(LATEST) as peer:
        answer = register(client, 7, peer.address, version, rack="a")
        assert answer.error_code == 0
        remote.live(7)
        found = remote.view(lambda view: view.brokers[7])
    assert (found.epoch, found.rack) == (answer.broker_epoch, "a")
    assert (found.registration.host, found.registration.port) == (peer.address.host, peer.address.port)
    assert [e.listener for e in found.registration.endpoints] == ["PLAINTEXT"]


@pytest.mark.parametrize("version", range(2))
def test_who_beats_under_its_epoch_is_served_and_who_does_not_has_to_register(client: RawClient, version: int) -> None:
    assert beat(client, 7, 1, version).error_code == 77
    epoch = register(client, 7, NOWHERE).broker_epoch
    answer = beat(client, 7, epoch, version)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced, answer.should_shut_down) == (
        0,
        True,
        False,
        False,
    )
    assert beat(client, 7, epoch + 1, version).error_code == 77


@pytest.mark.slow
def test_a_broker_that_stops_beating_dies() -> None:
    with Remote(session_s=0.3) as remote, RawClient(remote.address) as client:
        epochs = {broker_id: register(client, broker_id, NOWHERE).broker_epoch for broker_id in (1, 2)}
        remote.live(1, 2)

        def has_died() -> bool:
            assert beat(client, 1, epochs[1]).error_code == 0
            return remote.controller.describe().live_brokers == (1,)

        until(has_died)
        assert beat(client, 2, epochs[2]).error_code == 77
        assert register(client, 2, NOWHERE).broker_epoch > epochs[2]
        remote.live(1, 2)


def test_the_same_process_that_registers_again_keeps_its_epoch(remote: Remote, client: RawClient) -> None:
    process = uuid.uuid4()
    epoch = register(client, 7, NOWHERE, incarnation_id=process).broker_epoch
    assert register(client, 7, NOWHERE, incarnation_id=process, rack="b").broker_epoch == epoch
    until(lambda: remote.view(lambda view: 7 in view.brokers and view.brokers[7].rack == "b"))


@pytest.mark.slow
def test_a_broker_that_was_restarted_at_its_address_is_let_in_once_its_former_self_is_silent() -> None:
    """Until then it is refused and tries again; the former self has to register again."""
    with Remote(session_s=6.0) as remote, RawClient(remote.address) as client:
        epoch = register(client, 7, NOWHERE).broker_epoch
        answers: list[Any] = []

        def is_let_in() -> bool:
            answers.append(register(client, 7, NOWHERE))
            return bool(answers[-1].error_code == 0)

        until(is_let_in)
        later = answers[-1].broker_epoch
        assert later > epoch
        assert {answer.error_code for answer in answers[:-1]} <= {101}
        assert beat(client, 7, epoch).error_code == 77
        assert beat(client, 7, later).error_code == 0


def test_broker_that_was_allowed_to_leave_is_admitted_again_at_once(remote: Remote, client: RawClient) -> None:
    """A restart in good order waits for nothing."""
    epoch = register(client, 7, NOWHERE).broker_epoch
    remote.live(7)
    until(lambda: beat(client, 7, epoch, want_shut_down=True).should_shut_down)
    assert register(client, 7, NOWHERE).broker_epoch > epoch


@pytest.mark.parametrize("address", [NOWHERE, Address("127.0.0.1", 2)], ids=["same address", "elsewhere"])
def test_a_second_process_under_the_id_of_one_that_beats_is_refused(
    client: RawClient, caplog: pytest.LogCaptureFixture, address: Address
) -> None:
    """The first keeps its epoch, and the log names it in a sentence."""
    epoch = register(client, 7, NOWHERE).broker_epoch
    assert register(client, 7, address).error_code == 101
    assert beat(client, 7, epoch).error_code == 0
    assert "broker 7 is registered already at 127.0.0.1:1 by another process, whose last heartbeat was" in caplog.text


def test_the_id_of_a_broker_of_the_gateways_own_process_is_refused(
    remote: Remote, client: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    epoch = remote.controller.register_broker(BrokerRegistration(7, "127.0.0.1", 1))
    assert register(client, 7, NOWHERE).error_code == 101
    assert remote.controller.broker_epoch(7) == epoch
    assert "broker 7 is registered already by the gateway's own process" in caplog.text


@pytest.mark.parametrize(
    "fields, error_code",
    [
        ({"cluster_id": "another"}, 104),
        ({"listeners": []}, 42),
        ({"broker_id": -1}, 42),
        ({"listeners": [{"name": "x", "host": "x", "port": 1, "security_protocol": 0}] * 17}, 42),
        ({"listeners": [{"name": "x", "host": "x" * 256, "port": 1, "security_protocol": 0}]}, 42),
        ({"listeners": [{"name": "x" * 256, "host": "x", "port": 1, "security_protocol": 0}]}, 42),
        ({"rack": "x" * 256}, 42),
        ({"rack": "a\x1b[2J"}, 42),
        ({"listeners": [{"name": "", "host": "x", "port": 1, "security_protocol": 0}]}, 42),
        ({"listeners": [{"name": "x\n", "host": "x", "port": 1, "security_protocol": 0}]}, 42),
        ({"listeners": [{"name": "x", "host": "x\nERROR all is lost", "port": 1, "security_protocol": 0}]}, 42),
        ({"listeners": [{"name": "x", "host": "fe80::1%\n", "port": 1, "security_protocol": 0}]}, 42),
        ({"listeners": [{"name": "x", "host": "0.0.0.0", "port": 1, "security_protocol": 0}]}, 42),  # noqa: S104
        ({"listeners": [{"name": "x", "host": "x", "port": 0, "security_protocol": 0}]}, 42),
    ],
)
def test_invalid_registration_is_refused_and_registers_no_broker(
    remote: Remote, client: RawClient, fields: dict[str, Any], error_code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The log gets a line without control characters, and no traceback."""
    answer = client.ask("BrokerRegistration", 4, **(registration(7, NOWHERE) | fields))
    assert (answer.error_code, answer.broker_epoch) == (error_code, -1)
    assert remote.controller.broker_epochs == {}
    assert all(each.getMessage().isprintable() and not each.exc_info for each in caplog.records)


def test_remote_broker_cannot_register_the_listener_of_simulated_ones(caplog: pytest.LogCaptureFixture) -> None:
    """Clients would log in at its address: gateways of `kedge serve` follow that listener."""
    with Remote(listeners=[OWN_LISTENER, "OUTSIDE"]) as remote, RawClient(remote.address) as client:
        for names in (["KEDGE"], ["OUTSIDE", "KEDGE"]):
            listeners = [{"name": name, "host": "evil.example", "port": 1, "security_protocol": 2} for name in names]
            assert register(client, 7, NOWHERE, listeners=listeners).error_code == 42
        assert "the listener KEDGE is of brokers beside a gateway alone" in caplog.text
        epoch = register(client, 7, NOWHERE).broker_epoch
        assert epoch > 0
        remote.live(7)
        brokers = client.ask("Metadata", 12, topics=[]).brokers
        assert [(each.node_id, each.host) for each in brokers] == [(7, remote.address.host)]


# --- brokers without an end


def test_one_broker_more_than_there_may_be_is_refused_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    with Remote(brokers_max=3) as remote, RawClient(remote.address) as client:
        process = uuid.uuid4()
        epochs = [register(client, number, NOWHERE, incarnation_id=process).broker_epoch for number in (1, 2, 3)]
        assert [register(client, number, NOWHERE).error_code for number in (4, 5)] == [44, 44]
        assert "3 brokers are registered at this gateway, which is its limit" in caplog.text
        assert beat(client, 3, epochs[2]).error_code == 0
        assert register(client, 3, NOWHERE, incarnation_id=process).broker_epoch == epochs[2]
        assert set(remote.controller.broker_epochs) == {1, 2, 3}


@pytest.mark.slow
def test_broker_gets_the_place_of_one_that_died() -> None:
    with Remote(brokers_max=1, session_s=0.3) as remote, RawClient(remote.address) as client:
        assert register(client, 1, NOWHERE).error_code == 0
        until(lambda: register(client, 2, NOWHERE).error_code == 0)
        assert set(remote.controller.broker_epochs) == {2}


def test_brokers_that_register_at_the_same_moment_are_as_many_as_there_may_be() -> None:
    """From one connection each; the requests are all there before the first is answered."""
    with Remote(brokers_max=3) as remote, ExitStack() as stack:
        clients = [stack.enter_context(RawClient(remote.address)) for _ in range(20)]
        for number, client in enumerate(clients):
            client.begin("BrokerRegistration", 4, **registration(number, NOWHERE))
        codes = [client.answer("BrokerRegistration", 4) for client in clients]
        assert sorted(answer.error_code for answer in codes) == [0] * 3 + [44] * 17
        assert len(remote.controller.broker_epochs) == 3


@pytest.mark.slow
def test_no_thread_waits_for_a_broker_that_cannot_be_reached(remote: Remote, client: RawClient) -> None:
    """Between two tries, which are seconds apart in the end."""
    register(client, 7, NOWHERE)
    until(lambda: "callbacks of broker 7" in remote.controller.describe().findings)

    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.endswith("-broker-7")]

    until(lambda: not threads(), timeout_s=9)


def test_reports_are_kept_of_partitions_and_brokers_that_there_are(remote: Remote, client: RawClient) -> None:
    with Peer(LATEST) as peer:
        register(client, 7, peer.address)
        remote.live(7)
        remote.controller.admin.create_topics({"orders": NewTopic(1, 1)}).all().result(30)
        log = {"leader_epoch": 0, "start_offset": 0, "end_offset": 5, "high_watermark": 5, "size_bytes": 9}
        rows = [{"partition_index": number, **log} for number in (0, 1)]
        topics = [{"name": name, "partitions": rows} for name in ("orders", "invented")]
        for broker_id in (7, 8):
            asked = {"broker_id": broker_id, "topics": topics}
            assert client.ask("ReportLogs", 0, **asked).error_code == 0
    named = itertools.product(("orders", "invented"), (0, 1), (7, 8))
    kept = [each for each in named if remote.controller.reported_log(TopicPartition(*each[:2]), each[2])]
    assert kept == [("orders", 0, 7)]


def test_a_broker_that_wants_to_go_may_when_another_leads(remote: Remote, client: RawClient) -> None:
    with Peer(LATEST) as one, Peer(LATEST) as two:
        epochs = {i: register(client, i, peer.address).broker_epoch for i, peer in {1: one, 2: two}.items()}
        remote.live(1, 2)
        topics = {"both": NewTopic(replica_assignments=[[1, 2]]), "alone": NewTopic(replica_assignments=[[1]])}
        remote.controller.admin.create_topics(topics).all().result(30)
        asked = {"broker_id": 1, "broker_epoch": epochs[1]}
        for version in (1, 2, 3):  # version 1 names no epoch
            answer = client.ask("ControlledShutdown", version, **asked)
            assert answer.error_code == 0
            assert [(p.topic_name, p.partition_index) for p in answer.remaining_partitions] == [("alone", 0)]
        assert remote.partition("both").leader == 2
        assert not beat(client, 1, epochs[1], want_shut_down=True).should_shut_down
        remote.controller.admin.delete_topics(["alone"]).all().result(30)
        until(lambda: beat(client, 1, epochs[1], want_shut_down=True).should_shut_down)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_unknown_broker_cannot_shut_down(client: RawClient, version: int) -> None:
    asked = {"broker_id": 9, "broker_epoch": 5}
    answer = client.ask("ControlledShutdown", version, **asked)
    assert (answer.error_code, list(answer.remaining_partitions)) == (77, [])


def test_what_brokers_ask_takes_cluster_action() -> None:
    with (
        Remote(hooks=Hooks(authorizer=lambda _, operation, __: operation != "CLUSTER_ACTION")) as remote,
        RawClient(remote.address) as client,
    ):
        asked = {"broker_id": 7, "broker_epoch": 1}
        assert register(client, 7, NOWHERE).error_code == 31
        assert beat(client, 7, 1).error_code == 31
        for api in ("ControlledShutdown", "AlterPartition"):
            assert client.ask(api, 3, **asked).error_code == 31
        assert remote.controller.broker_epochs == {}


@pytest.mark.parametrize("option", ["session_s", "brokers_max"])
def test_limits_of_brokers_are_positive(option: str) -> None:
    with pytest.raises(ValueError, match=option):
        with_remote_brokers(**{option: 0})  # type: ignore[arg-type]
