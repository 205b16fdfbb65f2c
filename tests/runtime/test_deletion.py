"""Deletion where transcripts do not reach: a store with parents, numbers of intents, reports of logs."""

from __future__ import annotations

import json
from collections.abc import Sequence

import attrs
import pytest

from kedge import HostResponse, LogReport, StopReplicaRequest, TopicPartition
from kedge.controller.codec import keys
from kedge.stores import Capabilities, MemoryStore
from kedge.stores.base import PRESENT, Commit, Delete, MetadataStore, Op
from kedge.stores.faults import FaultStore
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.world import Cluster, cluster_of_three, failing

TOPIC = keys.topic("t")


def delete(cluster: Cluster) -> None:
    cluster.done(cluster.controller.admin.delete_topics(["t"]).all())


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
    assert not cluster.has(TOPIC)
    removed = [key for key in store.removed if "t" in key.split("/")]
    states = [key for number in range(2) for key in (keys.state("t", number), keys.partition("t", number))]
    assert removed == [*states, keys.partitions("t"), TOPIC, keys.topic_config("t"), keys.delete_topic("t")]


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_reports_of_logs_that_are_not_needed_any_more_are_forgotten(is_forgotten: bool) -> None:
    """Of a broker that is forgotten, and of a topic that is deleted, also where they came after its log was gone."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.done(cluster.move([1, 2]))
    cluster.leave(3)
    cluster.host.answer = lambda _: HostResponse()
    report = LogReport("t", 0, 3, 0, 0, 10, 8, 100)
    if is_forgotten:
        cluster.controller.report_log(report)
        cluster.done(cluster.controller.admin.forget_broker(3))
    else:
        cluster.host.answer = failing(2, StopReplicaRequest)
        delete(cluster)
        cluster.controller.report_log(attrs.evolve(report, broker_id=1))
        cluster.host.answer = lambda _: HostResponse()
        cluster.done(cluster.controller.admin.forget_broker(3))
        cluster.wait(20_000)
        assert not cluster.has(TOPIC)
    assert [cluster.controller.reported_log(TopicPartition("t", 0), broker) for broker in (1, 3)] == [None, None]


def intents(cluster: Cluster, broker: int) -> dict[int, list[tuple[str, int]]]:
    """What the keys of a broker hold, by their number: topic and partition of each."""
    found = cluster.keys(f"{keys.REPLICA_DELETIONS}/{broker}")
    return {
        int(key.rpartition("/")[2]): [(one["topic"], one["partition"]) for one in json.loads(value)["replicas"]]
        for key, value in found.items()
    }


def test_no_new_key_of_intents_meets_any_of_the_older_ones() -> None:
    """The very numbers that the next commits get are taken by keys that are left of before."""
    cluster = cluster_of_three()
    topic_id = cluster.get(keys.topic("t"))["topic_id"]
    cluster.controllers.pop().close()
    cluster.delete(TOKEN_KEY)  # numbers of commits restart
    one = {"topic": "t", "topic_id": topic_id, "partition": 7, "leader_epoch": 0}
    taken = range(1, 40)
    for seq in taken:
        cluster.put(keys.replica_deletions(3, seq), {"version": 1, "replicas": [{**one, "partition": seq + 10}]})
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.another(2)
    cluster.run()
    commits = cluster.store.errors["Conflict"]
    cluster.done(cluster.move([1, 2]))
    assert cluster.store.errors["Conflict"] == commits
    found = intents(cluster, 3)
    assert {seq: found[seq] for seq in taken} == {seq: [("t", seq + 10)] for seq in taken}
    assert [("t", 0)] in found.values()
    assert len(found) == len(taken) + 1
