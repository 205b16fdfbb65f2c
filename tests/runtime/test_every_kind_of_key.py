"""A cluster does everything once, with the longest names: what holds for every read and every commit."""

from __future__ import annotations

from typing import Any, Final, cast

import pytest

from kedge import DeletePartitions, ReassignPartitionsOptions, Settings, ThrottledRate, TopicPartition
from kedge.controller.codec import keys, orders
from kedge.controller.codec.small import intent_bytes_max
from kedge.controller.keys.base import NAME_CHARACTERS_MAX
from kedge.controller.keys.table import KINDS
from kedge.controller.runtime.writer import Writer
from kedge.controller.state import Batch, DirtyKey
from kedge.stores import MemoryStore
from kedge.stores.base import Op
from kedge.stores.checks import op_bytes
from kedge.stores.faults import DropEvent, Rule
from tests.runtime.configured import ALL, alter, change
from tests.runtime.world import Cluster, Counting

NAME: Final = "n" * NAME_CHARACTERS_MAX
ELSEWHERE: Final = {"parent", "old change"}
"""Kinds whose keys such a cluster does not write."""


class InTime(Counting):
    """A store all of whose calls have a time limit within the session."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in {"get", "get_many", "get_columns", "children", "snapshot", "commit"}:
            return found

        def called(*arguments: Any, timeout_s: float, **more: Any) -> Any:
            assert 0 < timeout_s <= self.session_timeout_s
            return found(*arguments, timeout_s=timeout_s, **more)

        return called


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds of keys that commits wrote; each op is within the bound of its key."""
    seen: set[str] = set()
    ops_of = Writer.ops

    def ops(self: Writer, batch: Batch, seq: int) -> tuple[list[DirtyKey], list[Op]]:
        dirty_keys, ops = ops_of(self, batch, seq)
        for dirty_key, op in zip(dirty_keys, ops, strict=True):
            kind, of = dirty_key
            intents = self.state.intents.undurable(cast(int, of)) if kind == "intents" else ()
            bound = self.cost_max(dirty_key) + sum(map(intent_bytes_max, intents))
            assert op_bytes(op) <= bound, dirty_key
            seen.add(kind)
        return dirty_keys, ops

    monkeypatch.setattr(Writer, "ops", ops)
    return seen


def partitions(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition(NAME, number) for number in numbers]


def joined(cluster: Cluster, *numbers: int) -> None:
    """The replicas that these partitions move to are in sync, and the move has ended."""
    for number in numbers:
        cluster.done(cluster.isr([1, 2, 3, 4, 5, 6], NAME, number))
    cluster.wait(2_000)


def test_every_call_has_a_time_limit_every_op_a_bound_and_nothing_conflicts(bounded: set[str]) -> None:
    cluster = Cluster(start=False, settings=Settings(delete_topic_partition_enable=True))
    store = InTime(MemoryStore(cluster.server))
    cluster.another(1, store)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create(NAME, *[(1, 2, 3)] * 4)
    cluster.done(alter(cluster, ALL, change("log.retention.ms", "1")))
    admin = cluster.controller.admin
    rows = [{"topic": NAME, "partition": number, "replicas": [6, 5, 4]} for number in (2, 3)]
    cluster.put(keys.REASSIGN_PARTITIONS, {"version": 1, "partitions": rows})
    cluster.put(keys.PREFERRED_ELECTION, {"version": 1, "partitions": [{"topic": NAME, "partition": 0}]})
    cluster.run()
    joined(cluster, 2, 3)
    throttled = ReassignPartitionsOptions(throttle=10_000)
    cluster.done(admin.reassign_partitions({tp: [4, 5, 6] for tp in partitions(0, 1)}, throttled).all())
    cluster.done(admin.alter_interbroker_throttled_rates({1: ThrottledRate(5_000, 7_000)}).all())
    joined(cluster, 0, 1)
    assert [cluster.state(NAME, number)["isr"] for number in range(4)] == [[4, 5, 6]] * 4
    cluster.done(admin.delete_partitions({NAME: DeletePartitions(2, True)}).all())
    cluster.leave(2)
    cluster.done(admin.forget_broker(2))
    cluster.wait(2_000)
    cluster.done(admin.delete_topics([NAME]).all())
    cluster.wait(2_000)
    cluster.succeed()
    assert cluster.keys(keys.TOPICS) == {}
    assert bounded == {kind.name for kind in KINDS} - ELSEWHERE
    assert store.errors == {}


def test_request_to_delete_partitions_that_another_program_wrote_meanwhile_is_read_at_once() -> None:
    """After one conflict. Both requests hold: fewer partitions stay of the two."""
    cluster = Cluster(settings=Settings(delete_topic_partition_enable=True))
    cluster.join(1, 2, 3)
    cluster.create("t", *[(1, 2)] * 4)
    cluster.store.play([Rule(DropEvent(), "event")])
    entry = {"timestamp": cluster.clock.now_ms(), "immediate": True}
    cluster.put(keys.delete_partitions("t"), {"version": 1, "partitions": {"3": entry}})
    cluster.done(cluster.controller.admin.delete_partitions({"t": DeletePartitions(3, True)}).all())
    cluster.store.play([])
    cluster.wait(2_000)
    assert sorted(cluster.get(keys.topic("t"))["partitions"]) == ["0", "1", "2"]
    assert cluster.store.errors == {"Conflict": 1}


def test_a_topic_is_deleted_without_any_hint() -> None:
    cluster = Cluster()
    cluster.join(1, 2, 3)
    cluster.create("t", (1, 2))
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.done(cluster.controller.admin.delete_topics(["t"]).all())
    cluster.wait(2_000)
    assert (cluster.keys(keys.TOPICS), cluster.keys(orders.DELETE_TOPICS)) == ({}, {})
    assert cluster.store.errors == {}
