"""Many fetches that wait for many partitions, and many appends: what they cost others, and what wakes fetches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import attrs
import pytest

from kedge.controller.model.host import LeaderAndIsrRequest, PartitionMetadata, UpdateMetadataRequest
from kedge.controller.model.logs import Appended, Batch, Fetched, FetchFrom
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import VirtualClock
from tests.rig.logs import LED, TP, Tried

BYTES: Final = 100


class Ticking(VirtualClock):
    """A clock of which each look takes `look_ms`."""

    look_ms = 0

    def monotonic_s(self) -> float:
        self.advance(self.look_ms)
        return super().monotonic_s()


class Counted(dict[Any, Any]):
    """Counts how often something is looked up."""

    count = 0

    def get(self, *args: Any) -> Any:
        self.count += 1
        return super().get(*args)


class Many(Tried):
    """As Tried, with so many partitions of the topic beside t-0."""

    def __init__(self, others: int, clock: VirtualClock | None = None) -> None:
        super().__init__(clock)
        self.others = [TopicPartition("t", number) for number in range(1, others + 1)]
        told = tuple(attrs.evolve(LED, partition=tp.partition) for tp in self.others)
        known = tuple(PartitionMetadata("t", "id", p.partition, 1, 3, (1, 2, 3), 5, (1, 2, 3), (), 0) for p in told)
        for broker_id, broker in self.brokers.items():
            assert not broker.leader_and_isr(LeaderAndIsrRequest(broker_id, 1, 9, 1, False, told, ())).errors
            broker.update_metadata(UpdateMetadataRequest(broker_id, 1, 9, 1, False, (), known))
            broker.metadata = Counted(broker.metadata)

    def poll(self, *tps: TopicPartition, client: str = "", **options: Any) -> Future[dict[TopicPartition, Fetched]]:
        given = {"bytes_max": 1_000, "bytes_min": 1, "wait_ms": 30_000, **options}
        return self.logs.fetch(None, {tp: FetchFrom(0, 1_000) for tp in tps}, client=client, **given)

    def written(self, tp: TopicPartition) -> Appended:
        """A batch that the leader has."""
        return self.logs.append(None, tp, Batch(b"x" * BYTES, 1, 0), acks=1, timeout_ms=0).result(0)

    def copied(self, tp: TopicPartition) -> None:
        """The followers have fetched it. This is not reported to the fetches."""
        for follower in (2, 3):
            self.brokers[1].replicas["id", tp.partition].fetched(follower, 1, self.clock.now_ms())

    def looks(self, work: Callable[[], object]) -> int:
        """How many partitions the work looks up."""
        counted = [broker.metadata for broker in self.brokers.values()]
        before = sum(each.count for each in counted if isinstance(each, Counted))
        work()
        return sum(each.count for each in counted if isinstance(each, Counted)) - before


@pytest.mark.slow
def test_an_append_and_a_step_cost_no_more_however_many_fetches_wait() -> None:
    """5 fetches wait for 2,000 partitions each."""
    many = Many(2_000)
    alone = many.looks(lambda: many.written(TP))
    waiting = [many.poll(*many.others, client="greedy") for _ in range(5)]
    assert many.looks(lambda: many.written(TP)) == alone
    assert many.looks(many.logs.step) <= 1_000 * len(many.brokers)
    assert not any(one.done() for one in waiting)


def test_a_change_that_is_not_reported_wakes_a_fetch_of_many_partitions() -> None:
    """Steps look at all partitions, some in each."""
    many = Many(2_500)
    waiting, last = many.poll(*many.others), many.others[-1]
    many.written(last)
    many.copied(last)
    for _ in range(3):
        many.logs.step()
    assert waiting.result(0)[last].size_bytes == BYTES


def test_bytes_of_several_partitions_that_change_one_after_the_other_are_enough_together() -> None:
    many = Many(3)
    waiting = many.poll(*many.others, bytes_min=3 * BYTES)
    for tp in many.others:
        assert not waiting.done()
        many.written(tp)
        many.copied(tp)
        many.logs.step()
    assert [one.size_bytes for one in waiting.result(0).values()] == [BYTES] * 3


def test_clients_take_turns_where_many_fetches_are_woken_at_once() -> None:
    """Of a greedy client 20 fetches of 300 partitions are woken before the one of another client."""
    clock = Ticking()
    many = Many(300, clock)
    greedy = [many.poll(TP, *many.others, client="greedy") for _ in range(20)]
    modest = many.poll(TP, client="modest")
    many.written(TP)
    many.copied(TP)
    clock.look_ms = 1
    many.logs.step()
    assert modest.done()
    assert not any(one.done() for one in greedy)
    clock.look_ms = 0
    many.logs.step()
    assert all(one.done() for one in greedy)


def test_clients_take_turns_where_one_appends_many_batches() -> None:
    clock = Ticking()
    many, calls = Many(1, clock), list[Callable[[], None]]()
    many.logs.soon = calls.append
    named: dict[str, Any] = {"acks": 1, "timeout_ms": 1_000}
    greedy = [many.logs.append(None, TP, Batch(b"x", 1, 0), **named, client="greedy") for _ in range(50)]
    modest = many.logs.append(None, many.others[0], Batch(b"x", 1, 0), **named, client="modest")
    for call in calls:
        call()
    clock.look_ms = 1
    assert many.logs.answer()
    assert modest.done()
    assert not all(one.done() for one in greedy)


def test_what_is_answered_or_given_up_waits_nowhere() -> None:
    many = Many(100)
    answered, given_up = many.poll(TP, *many.others), many.poll(TP, *many.others)
    many.written(TP)
    given_up.cancel()
    many.copied(TP)
    many.logs.step()
    assert answered.done()
    many.logs.step()
    assert many.looks(many.logs.step) == 0


def test_an_answer_has_so_many_batches_of_a_partition_and_comes_at_once() -> None:
    """Small batches: that there are not `bytes_min` of them is no reason to wait."""
    many = Many(1)
    for _ in range(501):
        many.written(TP)
    many.brokers[1].replicas["id", 0].log.high_watermark = 501
    wanted = {TP: FetchFrom(0, 10**6)}
    read = many.logs.fetch(None, wanted, bytes_max=10**6, bytes_min=60_000, wait_ms=30_000).result(0)[TP]
    assert (len(read.batches), read.batches[-1].end_offset) == (500, 500)
