"""A topic goes from 15,000 partitions to 10, at once, RF 3, 10 brokers that answer at once: until its key has 10, and
until the key of the reduction is gone; how many commits and the longest of them, the longest pass of the loop, and what
an isr change of another partition waits for meanwhile (the next is asked for when the last was answered)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from time import perf_counter, process_time

from benchmarks.cluster import QuietHost, Written, named, observe, register, settle
from benchmarks.driven import Driven
from benchmarks.figures import figure, percentile, rate
from benchmarks.place import Place
from kedge import AcceptedIsr, DeletePartitions, TopicPartition
from kedge.controller.codec import keys
from kedge.stores import Delete, Op

TOPIC, BEFORE, AFTER, BROKERS = "topic-000000", 15_000, 10, 10


class Reductions(Written):
    """Notes when the topic's key was written last, and when the key of the reduction went."""

    shrunk_at = gone_at = 0.0

    def note(self, ops: Sequence[Op], seconds: float) -> None:
        super().note(ops, seconds)
        for op in ops:
            if op.key == keys.topic(TOPIC):
                self.shrunk_at = perf_counter()
            elif isinstance(op, Delete) and op.key == keys.delete_partitions(TOPIC):
                self.gone_at = perf_counter()


class Bystander:
    """The last follower of partition 0 leaves the isr and returns, again and again."""

    def __init__(self, driven: Driven, epochs: dict[int, int]) -> None:
        self._controller, self._epochs = driven.controller, epochs
        partition = driven.answer(driven.controller.query(lambda view: view.partition(TOPIC, 0)))
        assert partition is not None
        self._replicas, self._leader_epoch = partition.replicas, partition.leader_epoch
        self._round = 0
        self._asked: Future[AcceptedIsr] | None = None
        self._asked_at = 0.0
        self.seconds: list[float] = []

    def look(self) -> None:
        """Between two passes."""
        if self._asked is not None:
            if not self._asked.done():
                return
            self._asked.result(0)
            self.seconds.append(perf_counter() - self._asked_at)
        isr = self._replicas[: 2 + self._round % 2]
        leader = isr[0]
        self._asked_at = perf_counter()
        self._asked = self._controller.alter_isr(
            TopicPartition(TOPIC, 0), leader, self._leader_epoch, self._round, list(isr), self._epochs[leader]
        )
        self._round += 1


def run(place: Place) -> None:
    place.fill(1, BEFORE, BROKERS)
    store, reductions = place.open(), Reductions()
    driven = place.driven(store, QuietHost())
    controller = driven.controller
    epochs = register(controller, named(store))
    driven.settle()
    bystander = Bystander(driven, epochs)
    observe(store, reductions.note)
    began = perf_counter()
    asked = controller.admin.delete_partitions({TOPIC: DeletePartitions(AFTER, immediate_delete=True)})
    passes_s: list[tuple[float, float]] = []  # by the clock, and of the processor
    while not reductions.gone_at:
        bystander.look()
        pass_at, processor_at = perf_counter(), process_time()
        controller.poll_once()
        passes_s.append((perf_counter() - pass_at, process_time() - processor_at))
    assert len(asked[TOPIC].result(0)) == BEFORE - AFTER
    settle(controller)
    left = controller.query(lambda view: view.partition_count(TOPIC))
    settle(controller)
    assert left.result(0) == AFTER
    rate("reduction, until the topic's key has 10", BEFORE - AFTER, reductions.shrunk_at - began, **place.figure)
    rate(
        "reduction, until its key is gone",
        BEFORE - AFTER,
        reductions.gone_at - began,
        commits=reductions.commits,
        keys=reductions.keys,
        value_bytes=reductions.value_bytes,
        longest_commit_s=round(max(reductions.seconds), 6),
        longest_pass_s=round(max(seconds for seconds, _ in passes_s), 6),
        processor_s=round(sum(seconds for _, seconds in passes_s), 6),
        longest_pass_processor_s=round(max(seconds for _, seconds in passes_s), 6),
        **place.figure,
    )
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        waited = percentile(bystander.seconds, share)
        figure(f"isr change beside a reduction, {name}", len(bystander.seconds), waited, **place.figure)
    longest_s = max(bystander.seconds)
    figure("isr change beside a reduction, longest", len(bystander.seconds), longest_s, **place.figure)
