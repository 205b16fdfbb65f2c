"""10,000 of 20,000 partitions moved in one request, RF 3, 10 brokers that answer and join at once: until accepted,
until all complete, lists while they run, and store writes per move."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter, sleep

from benchmarks.cluster import QuietHost, plant, register, settle
from benchmarks.figures import figure, percentile, rate
from controller import Controller, TopicPartition
from controller.model.host import HostResponse, LeaderAndIsrPartition, LeaderAndIsrRequest
from stores import Commit, Delete, MemoryServer, MemoryStore, Op, Put

TOPICS, PARTITIONS, BROKERS, MOVES = 2_000, 10, 10, 10_000


class CountingStore(MemoryStore):
    """Counts the keys that are written."""

    written = 0
    commits = 0

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        self.commits += 1
        self.written += sum(1 for op in ops if isinstance(op, Put | Delete))
        return super().commit(ops, timeout_s=timeout_s)


class JoiningHost(QuietHost):
    """Leaders that report every target in sync as soon as they are told of it."""

    def __init__(self) -> None:
        self.controller: Controller
        self.epochs: dict[int, int] = {}
        self.joining = True

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        for told in request.partitions:
            if self.joining and told.leader == request.broker_id and told.target_replicas is not None:
                self._join(told, request.broker_epoch)
        return HostResponse()

    def _join(self, told: LeaderAndIsrPartition, broker_epoch: int) -> None:
        missing = [b for b in told.target_replicas or () if b not in told.isr]
        if missing:
            self.controller.alter_isr(
                TopicPartition(told.topic, told.partition),
                told.leader,
                told.leader_epoch,
                told.partition_epoch,
                [*told.isr, *missing],
                broker_epoch,
            )


def run() -> None:
    moved_by_polling()
    listed_beside_threads()


def moved_by_polling() -> None:
    """How fast moves are decided, in one thread with the host."""
    controller, store = _cluster()
    register(controller, BROKERS)
    settle(controller)
    store.written = store.commits = 0
    began = perf_counter()
    result = controller.admin.alter_partition_reassignments(_targets())
    futures = list(result.values.values())
    accepted_s = None
    while controller.poll_once():
        if accepted_s is None and futures[-1].done() and all(future.done() for future in futures):
            accepted_s = perf_counter() - began
        if accepted_s is not None and not controller.describe().reassigning_partitions:
            break
    seconds = perf_counter() - began
    assert not controller.describe().reassigning_partitions
    assert all(future.exception() is None for future in futures)
    settle(controller)
    rate("moves, accepted", MOVES, accepted_s or 0.0)
    rate(
        "moves, submit to all complete",
        MOVES,
        seconds,
        store_writes_per_move=round(store.written / MOVES, 3),
        commits=store.commits,
    )
    controller.close()


def listed_beside_threads() -> None:
    """How long an operator waits for the listing of all that moves, again and again from the submission to the end,
    from a thread of its own."""
    controller, _ = _cluster()
    register(controller, BROKERS)
    controller.start()
    while len(controller.describe().live_brokers) < BROKERS:
        sleep(0.01)
    accepted = controller.admin.alter_partition_reassignments(_targets()).all()
    lists_s: list[float] = []
    moving = True
    while moving or not accepted.done():
        asked_at = perf_counter()
        moving = bool(controller.admin.list_partition_reassignments().result(600))
        lists_s.append(perf_counter() - asked_at)
    figure("list while moves run, p99", len(lists_s), percentile(lists_s, 0.99), longest_s=round(max(lists_s), 6))
    controller.close()


def _cluster() -> tuple[Controller, CountingStore]:
    """A controller over the partitions that nothing drives yet."""
    server = MemoryServer()
    plant(server, TOPICS, PARTITIONS, BROKERS)
    store, host = CountingStore(server), JoiningHost()
    controller = host.controller = Controller(store, 1, host)
    return controller, store


def _targets() -> dict[TopicPartition, list[int]]:
    """Every second partition gets three brokers that it is not on."""
    targets = {}
    for number in range(0, 2 * MOVES, 2):
        tp = TopicPartition(f"topic-{number // PARTITIONS:06d}", number % PARTITIONS)
        targets[tp] = [1 + (number + 3 + i) % BROKERS for i in range(3)]
    return targets
