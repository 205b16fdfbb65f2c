"""Deletion at the keys: what another client writes meanwhile, what cannot be read, parents, topics removed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from kedge import ErrorCode, HostResponse, StopReplicaRequest, TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.values import LEADER_DURING_DELETE
from kedge.stores import Capabilities, MemoryStore
from kedge.stores.base import PRESENT, Commit, Delete, MetadataStore, Op
from kedge.stores.faults import FaultStore
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


class WithParents(FaultStore):
    """Says that nodes above a key stay until they are removed; it has none, and notes what would be removed."""

    def __init__(self, inner: MetadataStore) -> None:
        super().__init__(inner)
        self.removed: list[str] = []

    @property
    def capabilities(self) -> Capabilities:
        return attrs.evolve(super().capabilities, parents_stay=True)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        is_parent = [isinstance(op, Delete) and op.expect is PRESENT for op in ops]
        there = [op for op, parent in zip(ops, is_parent, strict=True) if not parent]
        commit = super().commit(there, timeout_s=timeout_s)
        self.removed += [op.key for op in ops if isinstance(op, Delete)]
        versions = iter(commit.versions)
        return attrs.evolve(commit, versions=tuple(None if parent else next(versions) for parent in is_parent))


def test_parents_go_right_after_what_stood_below_them() -> None:
    """A node with nodes below it cannot be removed."""
    cluster = Cluster(start=False)
    store = WithParents(MemoryStore(cluster.server))
    cluster.another(1, store)
    cluster.join(1, 2)
    cluster.create("t", (1,), (1,))
    delete(cluster)
    cluster.wait(1_000)
    assert left(cluster) == []
    removed = [key for key in store.removed if "t" in key.split("/")]
    states = [key for number in range(2) for key in (keys.state("t", number), keys.partition("t", number))]
    assert removed == [*states, keys.partitions("t"), TOPIC, CONFIG, ASKED]


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
