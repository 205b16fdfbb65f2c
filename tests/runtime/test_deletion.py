"""Deletion at the keys: what another client writes meanwhile, what cannot be read, parents, topics removed by hand."""

from __future__ import annotations

import pytest

from kedge import HostResponse, NewTopic, Settings, TopicPartition
from kedge.controller.codec import keys
from kedge.controller.keys.base import KeyContext
from kedge.controller.keys.table import KeyKinds
from kedge.controller.machine import step
from kedge.controller.model.errors import ErrorCode, StorageError
from kedge.controller.model.events import DeleteTopic, DeletionAcknowledged, PartitionDue, Reason, TopicGoneDue
from kedge.controller.model.host import StopReplicaRequest
from kedge.controller.model.values import LEADER_DURING_DELETE, Partition
from kedge.controller.runtime.writer import Writer
from kedge.stores import MemoryStore
from kedge.stores.base import PRESENT, Delete, Op
from tests.rules.world import World
from tests.runtime.test_conflicts import meddled
from tests.runtime.world import Cluster, cluster_of_three, failing

STATE, TOPIC, CONFIG, ASKED = (
    keys.state("t", 0),
    keys.topic("t"),
    keys.topic_config("t"),
    keys.delete_topic("t"),
)


def left(cluster: Cluster, name: str = "t") -> list[str]:
    found = cluster.keys()
    return [key for key in found if name in key.split("/")]


def delete(cluster: Cluster, name: str = "t") -> None:
    cluster.done(cluster.controller.admin.delete_topics([name]).all())


def refusing(*brokers: int) -> Cluster:
    """Topic t on 1, 2, 3, of which some do not delete it."""
    cluster = cluster_of_three()

    def answer(request: object) -> HostResponse:
        if isinstance(request, StopReplicaRequest) and request.broker_id in brokers:
            named = [TopicPartition(p.topic, p.partition) for p in request.partitions]
            return HostResponse(errors=dict.fromkeys(named, ErrorCode.KAFKA_STORAGE_ERROR))
        return HostResponse()

    cluster.host.answer = answer
    return cluster


@pytest.mark.parametrize("key", [STATE, TOPIC, CONFIG, ASKED])
def test_key_that_another_client_writes_before_its_removal_is_removed(key: str) -> None:
    """At the version that it has then; however often they write it."""
    cluster, store = meddled(key, 0)
    cluster.host.answer = failing(3, StopReplicaRequest)
    delete(cluster)
    assert cluster.has(ASKED)
    store.times = 5
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(30_000)
    assert left(cluster) == []
    assert store.times == 0
    assert cluster.findings() == {}


@pytest.mark.parametrize("key", [STATE, TOPIC, CONFIG])
def test_key_that_another_client_removes_first_is_no_obstacle(key: str) -> None:
    cluster = refusing(3)
    delete(cluster)
    cluster.delete(key)
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(20_000)
    assert left(cluster) == []
    assert cluster.findings() == {}


def test_unreported_settings_are_deleted_with_the_topic() -> None:
    """The next topic of the name begins with its own."""
    cluster = cluster_of_three()
    cluster.delete(CONFIG)
    cluster.wait(100)
    cluster.controllers.pop().close()
    cluster.another(2)
    cluster.wait(1000)
    cluster.put(CONFIG, {"version": 1, "config": {"retention.ms": "5"}})
    delete(cluster)
    cluster.wait(1000)
    assert left(cluster) == []


def test_a_topic_whose_state_key_cannot_be_read_is_deleted() -> None:
    """Every live broker gets the request: the key may have named any. The finding goes with it."""
    cluster = cluster_of_three()
    cluster.create("other", (4, 5))
    cluster.controllers.pop().close()
    cluster.put(STATE, b"{broken")
    cluster.another(2)
    cluster.wait(1000)
    assert "t-0" in cluster.findings()
    cluster.host.told.clear()
    delete(cluster)
    cluster.wait(1000)
    assert left(cluster) == []
    assert cluster.findings() == {}
    assert {r.broker_id for r in cluster.host.told if isinstance(r, StopReplicaRequest)} == {1, 2, 3, 4, 5, 6}


def test_a_topic_whose_own_key_cannot_be_read_waits_for_it() -> None:
    """A request is refused; the key of another tool stays, and is obeyed when the topic can be read again."""
    cluster = cluster_of_three()
    good = cluster.keys()[TOPIC]
    cluster.controllers.pop().close()
    cluster.put(TOPIC, b"{broken")
    cluster.put(ASKED, b"")
    cluster.another(2)
    cluster.wait(6000)
    assert isinstance(cluster.error(cluster.controller.admin.delete_topics(["t"])["t"]), StorageError)
    assert cluster.has(ASKED)
    cluster.put(TOPIC, good)
    cluster.wait(1000)
    assert left(cluster) == []


def test_partitions_without_state_or_leader_or_on_brokers_that_never_were_are_deleted() -> None:
    """Only what may hold a log is waited for; forget_broker ends that wait."""
    cluster = cluster_of_three()
    cluster.put(keys.topic("odd"), {"version": 1, "partitions": {"0": [77], "1": [1, 88]}})
    cluster.put(
        keys.state("odd", 1),
        {"controller_epoch": 1, "leader": -1, "version": 1, "leader_epoch": 4, "isr": [88]},
    )
    cluster.wait(500)
    delete(cluster, "odd")
    cluster.wait(1000)
    assert cluster.has(keys.state("odd", 1))
    cluster.done(cluster.controller.admin.forget_broker(88))
    cluster.wait(1000)
    assert left(cluster, "odd") == []
    assert "/admin/replica_deletions/88" not in " ".join(cluster.keys())


def test_a_forgotten_broker_that_comes_back_has_nothing_of_the_former_topic_to_delete() -> None:
    """Intents of an earlier move of the topic were dropped with it, and the next topic of that name is untouched."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(1, StopReplicaRequest)
    cluster.done(cluster.move([2, 3]))
    delete(cluster)
    assert left(cluster)
    cluster.leave(1)
    cluster.done(cluster.controller.admin.forget_broker(1))
    cluster.wait(1000)
    assert left(cluster) == []
    cluster.create("t", (2, 3))
    cluster.host.answer = lambda _: HostResponse()
    cluster.join(1)
    cluster.wait(1000)
    assert cluster.partition().isr == (2, 3)
    assert cluster.controller.describe().replicas_to_delete == 0


def test_a_stand_by_takes_up_a_deletion_where_it_was_left() -> None:
    cluster = refusing(2)
    delete(cluster)
    cluster.wait(500)
    cluster.controllers.pop().close()
    cluster.host.answer = lambda _: HostResponse()
    cluster.another(2)
    cluster.wait(20_000)
    assert left(cluster) == []


def test_deletion_whose_key_was_removed_without_a_leader_ends_there() -> None:
    """What is left of the topic is led again, under a higher epoch."""
    cluster = refusing(1, 2, 3)
    delete(cluster)
    assert cluster.state()["leader"] == LEADER_DURING_DELETE
    epoch = cluster.state()["leader_epoch"]
    cluster.controllers.pop().close()
    cluster.delete(ASKED)
    cluster.host.answer = lambda _: HostResponse()
    cluster.another(2)
    cluster.wait(20_000)
    assert cluster.partition().leader == 1
    assert cluster.partition().leader_epoch > epoch
    assert cluster.controller.describe().replicas_to_delete == 0
    delete(cluster)
    cluster.wait(1000)
    assert left(cluster) == []


def _parents(name: str, count: int) -> list[Delete]:
    found = [Delete(keys.partition(name, i), PRESENT) for i in range(count)]
    return [*found, Delete(keys.partitions(name), PRESENT)]


def test_where_the_store_has_parents_they_go_right_after_what_stood_below_them() -> None:
    """A node with nodes below it cannot be removed there."""
    world = World()
    world.plant_broker(1)
    for number in range(2):
        world.plant(Partition("t", number, (1,), (1,), 1, 3))
    writer = Writer(KeyKinds(KeyContext(world.state, MemoryStore(), parents_stay=True)))
    ops: list[Op] = []
    world.run(DeleteTopic(1, "t"))
    step(world.state, DeletionAcknowledged(1, tuple(world.state.open_intents(1))))
    for number in range(2):
        step(world.state, PartitionDue(1, "t", number, Reason.ERASE))
    ops += writer.ops(world.state.batch, 9)[1]
    world.commit()
    step(world.state, TopicGoneDue(1, "t"))
    ops += writer.ops(world.state.batch, 10)[1]
    parents = [op for op in ops if op.key in {one.key for one in _parents("t", 2)}]
    assert parents == _parents("t", 2)
    paths = [op.key for op in ops]
    assert paths.index(keys.state("t", 1)) < paths.index(keys.partition("t", 1))
    assert paths.index(keys.partitions("t")) < paths.index(TOPIC) < paths.index(CONFIG) < paths.index(ASKED)


def test_stand_by_and_a_late_request_get_errors() -> None:
    """41 where this controller does not lead; 7 after the deadline: nothing is written by either."""
    cluster = cluster_of_three()
    late = cluster.controller.admin.delete_topics(["t"], timeout_s=0.0)["t"]
    forgotten = cluster.controller.admin.forget_broker(9, timeout_s=0.0)
    assert [getattr(cluster.error(future), "code", None) for future in (late, forgotten)] == [7, 7]
    other = cluster.another(2)
    cluster.run()
    refused = [other.admin.delete_topics(["t"])["t"], other.admin.forget_broker(9)]
    assert [getattr(cluster.error(future), "code", None) for future in refused] == [41, 41]
    assert not cluster.has(ASKED)


# --- by hand


@pytest.mark.slow
def test_topic_removed_by_hand_is_written_again_with_its_state_keys() -> None:
    """Removing keys is not how a topic is deleted: brokers hold its logs, and lead it. What the state key said last is
    not known, so the ISR is the leader alone: an old leader may have reduced it in the key itself."""
    cluster = cluster_of_three()
    before = cluster.keys("/brokers/topics")
    state = cluster.state()
    for key in (STATE, TOPIC):
        cluster.delete(key)
    cluster.wait(1000)
    assert set(cluster.keys("/brokers/topics")) == set(before)
    assert cluster.state() == {**state, "isr": [state["leader"]]}


@pytest.mark.parametrize("by_hand", [b"{broken", None])
def test_a_lost_state_key_is_written_with_the_leader_alone_until_others_join(by_hand: bytes | None) -> None:
    cluster = cluster_of_three()
    if by_hand is None:
        cluster.delete(STATE)
    else:
        cluster.put(STATE, by_hand)
    cluster.done(cluster.move([4, 5, 6]))
    assert cluster.state()["isr"] == [1]
    cluster.done(cluster.isr([1, 2, 3]))
    assert cluster.state()["isr"] == [1, 2, 3]


def test_what_a_former_topic_left_is_no_state_of_a_new_one() -> None:
    """Its key was removed by hand without a leader, its state keys were not."""
    cluster = cluster_of_three()
    cluster.done(cluster.move([3, 2, 1]))
    cluster.controllers.pop().close()
    cluster.delete(TOPIC)
    cluster.another(2)
    cluster.wait(1000)
    cluster.create("t", (4, 5))
    cluster.wait(100)
    made = cluster.partition()
    assert (made.replicas, made.isr, made.leader, made.leader_epoch) == ((4, 5), (4, 5), 4, 0)


# --- automatic creation


@pytest.mark.checklist(152)
def test_a_topic_that_a_host_creates_by_itself_is_placed_though_only_some_brokers_have_racks() -> None:
    """Automatic creation is the host's call of create_topics, which does not say how many: the topic is there, its
    partitions lead and follow in the order of the brokers' ids, and two replicas lie in the one rack that is known."""
    cluster = Cluster(settings=Settings(num_partitions=8, default_replication_factor=2))
    for broker in range(1, 5):
        cluster.join(broker, rack="a" if broker < 3 else None)
    cluster.done(cluster.controller.admin.create_topics({"auto": NewTopic()}).all())
    cluster.wait(100)
    made = [cluster.partition("auto", number) for number in range(8)]
    assert all(partition.leader == partition.replicas[0] for partition in made)
    leaders = [partition.leader for partition in made]
    assert leaders == [(leaders[0] - 1 + number) % 4 + 1 for number in range(8)]
    assert any(set(partition.replicas) == {1, 2} for partition in made)
