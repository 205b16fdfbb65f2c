"""Transactions in virtual time: workers that read, write and commit their place, and die; brokers and controllers that
fail; coordinators and partitions that move.

Invariants
* A read_committed reader gets all records of a transaction or none, in order, and each input once, whatever died.
* Nothing of an aborted transaction is read, and nothing that a fenced producer writes.
* The last stable offset never goes back while the high watermark does not.
* A committed offset is never followed by a lower one.
* Nothing waits for ever: once all is healed, all inputs are processed, and a transaction whose worker left is aborted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeAlias

import attrs

from kedge.controller.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, CoordinatorError, partition_of
from kedge.controller.coordinators.records import Producer
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import FetchedOffsets
from kedge.controller.groups.requests import Commit, FetchOffsets
from kedge.controller.model.logs import Batch, Fetched, FetchFrom, Guard, LogError, StoredBatch
from kedge.controller.model.values import TopicPartition
from kedge.controller.transactions.requests import AddPartitions, End, Initialize, VerifyPartitions
from kedge.controller.wire.data.batches import packed, pairs, transactional
from tests.coordinators.world import CLUSTER_MISHAPS, INTERNAL_PARTITIONS, World

WORKERS: Final = 3
INPUTS: Final = 40  # of each worker
GROUP: Final = "readers"
TIMEOUT_MS: Final = 20_000
PATIENCE_MS: Final = 3_000  # after that a request counts as lost
OUT: Final = tuple(TopicPartition("out", partition) for partition in range(WORKERS))
OFFSETS: Final = TopicPartition(OFFSETS_TOPIC, partition_of(GROUP, INTERNAL_PARTITIONS))
_AGAIN: Final = frozenset(
    {
        CoordinatorError.NOT_COORDINATOR,
        CoordinatorError.COORDINATOR_NOT_AVAILABLE,
        CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS,
        CoordinatorError.CONCURRENT_TRANSACTIONS,
        CoordinatorError.UNSTABLE_OFFSET_COMMIT,
        CoordinatorError.REQUEST_TIMED_OUT,
        LogError.NOT_LEADER_OR_FOLLOWER,
        LogError.REQUEST_TIMED_OUT,
        LogError.NOT_ENOUGH_REPLICAS,
        LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        LogError.UNKNOWN_TOPIC_OR_PARTITION,
        LogError.KAFKA_STORAGE_ERROR,
    }
)
_FENCED: Final = frozenset(
    {
        CoordinatorError.PRODUCER_FENCED,
        CoordinatorError.INVALID_PRODUCER_EPOCH,
        CoordinatorError.INVALID_PRODUCER_ID_MAPPING,
        LogError.INVALID_PRODUCER_EPOCH,
    }
)
Work: TypeAlias = Generator[Future[Any] | None, Any, Any]
"""What a client does: it yields what it waits for, and gets the answer, or None where that was lost."""


class Fenced(Exception):
    """Another instance has taken over."""


class Broken(Exception):
    """The transaction cannot be committed."""


def error_of(answer: Any) -> Any:
    """The first error in an answer, NONE if it has none."""
    errors = getattr(answer, "errors", None)
    found = next(iter(errors.values()), CoordinatorError.NONE) if errors else getattr(answer, "error", 0)
    unstable = getattr(answer, "unstable", None)
    return CoordinatorError.UNSTABLE_OFFSET_COMMIT if unstable else found


@attrs.define(eq=False)
class Worker:
    """An instance of a transactional id: for each input it writes a record into two partitions, and commits its place,
    in one transaction. `version`: 0 and 2 of KIP-890."""

    seed: Seed
    number: int
    version: int
    producer_id: int = -1
    producer_epoch: int = -1
    sequences: dict[TopicPartition, int] = attrs.field(factory=dict)
    added: set[TopicPartition] = attrs.field(factory=set)
    is_over: bool = False
    waits_for: Future[Any] | None = None
    asked_ms: int = 0
    work: Work = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.work = self._work()

    @property
    def transactional_id(self) -> str:
        return f"worker-{self.number}"

    @property
    def source(self) -> TopicPartition:
        return TopicPartition("in", self.number)

    def step(self) -> None:
        """Go on as far as answers are there."""
        lost = self.seed.now_ms - self.asked_ms > PATIENCE_MS
        if self.is_over or (self.waits_for is not None and not (self.waits_for.done() or lost)):
            return
        answer = self.waits_for.result() if self.waits_for is not None and self.waits_for.done() else None
        try:
            self.waits_for, self.asked_ms = self.work.send(answer), self.seed.now_ms
        except (StopIteration, Fenced):
            self.is_over = True

    # --- what it does

    def leave(self) -> Work:
        """Begin a transaction, and do nothing more."""
        yield from self._begin()
        yield from self._write(OUT[0], ["left"])

    def _begin(self) -> Work:
        asked = Initialize(self.transactional_id, TIMEOUT_MS)
        found = yield from self._until_done(lambda: self._coordinator(asked))
        self.producer_id, self.producer_epoch = found.producer_id, found.producer_epoch

    def _work(self) -> Work:
        yield from self._begin()
        place = yield from self._place()
        while place < INPUTS:
            try:
                place += yield from self._transaction(place)
            except Broken:
                with suppress(Broken):  # nothing was open
                    yield from self._end(is_commit=False)
                place = yield from self._place()

    def _place(self) -> Work:
        """Where it is, by what was committed."""
        asked = FetchOffsets(GROUP, (self.source,), requires_stable=True)
        found = yield from self._until_done(lambda: self.seed.groups.ask(self.seed.leader(OFFSETS), asked))
        assert isinstance(found, FetchedOffsets)
        committed = found.offsets[self.source]
        place = 0 if committed is None else committed.offset
        assert place >= self.seed.places[self.number], (self.number, place)
        return place

    def _transaction(self, place: int) -> Work:
        """Returns how many inputs were processed."""
        chance, self.added = self.seed.chance, set()
        count = min(chance.randint(1, 3), INPUTS - place)
        for tp in (OUT[self.number], OUT[(self.number + 1) % WORKERS]):
            yield from self._write(tp, [f"{self.number}:{n}" for n in range(place, place + count)])
        yield from self._commit_place(place + count)
        if chance.random() < 0.15:
            raise Broken
        yield from self._end(is_commit=True)
        self.seed.places[self.number] = max(self.seed.places[self.number], place + count)
        return count

    def _write(self, tp: TopicPartition, values: list[str]) -> Work:
        guard = yield from self._guarded(tp)
        sequence = self.sequences.get(tp, 0)
        plain = packed([(b"k", value.encode()) for value in values], self.seed.now_ms)
        batch = transactional(plain, self.producer_id, self.producer_epoch)
        batch = attrs.evolve(batch, base_sequence=sequence)
        yield from self._until_done(lambda: self._append(tp, batch, guard))
        self.sequences[tp] = sequence + len(values)

    def _append(self, tp: TopicPartition, batch: Batch, guard: Guard | None) -> Future[Any]:
        return self.seed.logs.append(self.seed.leader(tp), tp, batch, acks=-1, timeout_ms=2_000, guard=guard)

    def _guarded(self, tp: TopicPartition) -> Work:
        """What the leader needs before the transaction may begin in its partition; the leader asks the coordinator."""
        who = (self.transactional_id, self.producer_id, self.producer_epoch, [tp])
        if not self.version and tp not in self.added:
            yield from self._until_done(lambda: self._coordinator(AddPartitions(*who)))
            self.added.add(tp)
        found = yield from self._until_done(
            lambda: self.seed.logs.guard(self.seed.leader(tp), tp, self.producer_id, self.producer_epoch)
        )
        if found.guard is not None:
            asks = AddPartitions(*who, self.version) if self.version else VerifyPartitions(*who)
            yield from self._until_done(lambda: self._coordinator(asks))
        return found.guard

    def _commit_place(self, place: int) -> Work:
        guard = yield from self._guarded(OFFSETS)
        producer = Producer(self.producer_id, self.producer_epoch, guard)
        asked = Commit(GROUP, {self.source: Committed(place)}, producer=producer)
        yield from self._until_done(lambda: self.seed.groups.ask(self.seed.leader(OFFSETS), asked))

    def _end(self, *, is_commit: bool) -> Work:
        asked = End(self.transactional_id, self.producer_id, self.producer_epoch, is_commit, self.version)
        found = yield from self._until_done(lambda: self._coordinator(asked))
        if self.version and found.producer_id >= 0:
            self.producer_id, self.producer_epoch = found.producer_id, found.producer_epoch
            self.sequences.clear()

    # --- how it asks

    def _coordinator(self, asked: Any) -> Future[Any]:
        tp = TopicPartition(TRANSACTIONS_TOPIC, partition_of(self.transactional_id, INTERNAL_PARTITIONS))
        return self.seed.transactions.ask(self.seed.leader(tp), asked)

    def _until_done(self, ask: Any) -> Work:
        """The answer; what is lost or cannot be done now is asked again."""
        while True:
            answer = yield ask()
            error = None if answer is None else error_of(answer)
            if answer is not None and not error:
                return answer
            if error in _FENCED:
                raise Fenced(error)
            if error is not None and error not in _AGAIN:
                raise Broken(error)
            yield None  # until the next tick


@attrs.define(eq=False)
class Reader:
    """A read_committed consumer of one partition, as stock consumers read: it skips what belongs to transactions that
    the broker says were aborted."""

    seed: Seed
    tp: TopicPartition
    offset: int = 0
    ends: tuple[int, int] = (0, 0)
    waits_for: Future[dict[TopicPartition, Fetched]] | None = None
    read: list[str] = attrs.field(factory=list)

    def step(self) -> None:
        """Take what is there."""
        if self.waits_for is not None and self.waits_for.done():
            self._heard(self.waits_for.result()[self.tp])
            self.waits_for = None
        if self.waits_for is None:
            wanted = {self.tp: FetchFrom(self.offset, 10**6, is_committed=True)}
            leader = self.seed.leader(self.tp)
            self.waits_for = self.seed.logs.fetch(leader, wanted, bytes_max=10**6, bytes_min=0, wait_ms=0)

    def _heard(self, fetched: Fetched) -> None:
        if fetched.error:
            return
        high_watermark, stable = self.ends
        assert fetched.stable_offset <= fetched.high_watermark
        if fetched.high_watermark >= high_watermark:
            assert fetched.stable_offset >= stable, (self.tp, self.ends, fetched)
            self.ends = (fetched.high_watermark, fetched.stable_offset)
        aborted = sorted(fetched.aborted, key=lambda each: each.first_offset)
        skipped: set[int] = set()
        for stored in fetched.batches:
            assert stored.end_offset <= fetched.stable_offset
            while aborted and aborted[0].first_offset <= stored.base_offset:
                skipped.add(aborted.pop(0).producer_id)
            self.offset = stored.end_offset
            self.read += self._shown(stored, skipped)

    @staticmethod
    def _shown(stored: StoredBatch, skipped: set[int]) -> Iterator[str]:
        if stored.batch.marker is not None:
            skipped.discard(stored.batch.producer_id)
        elif stored.batch.producer_id not in skipped:
            yield from ((value or b"").decode() for _, value in pairs(stored))


class Seed(World):
    """Workers, those that were thought dead and go on, and readers. `places`: what each worker's transactions got
    acknowledged."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, "transactions", {"in": WORKERS, "out": WORKERS})
        self.places = dict.fromkeys(range(WORKERS), 0)
        self.readers = [Reader(self, tp) for tp in OUT]
        self.workers = [self._worker(number) for number in range(WORKERS)]
        self.zombies: list[Worker] = []

    def _worker(self, number: int) -> Worker:
        return Worker(self, number, self.chance.choice((0, 2)))

    def step(self) -> None:
        """A tick: all do what is due."""
        self.tick()
        for worker in (*self.workers, *self.zombies):
            worker.step()
        for reader in self.readers:
            reader.step()
        self.drain()
        self.workers = [
            self._worker(worker.number) if worker.is_over and self.places[worker.number] < INPUTS else worker
            for worker in self.workers
        ]

    @property
    def counts(self) -> tuple[int, int]:
        """Inputs whose transactions were acknowledged, and workers."""
        return sum(self.places.values()), len(self.places)

    def any_mishap(self) -> None:
        """One of many, by chance."""
        kind = self.chance.choice((*CLUSTER_MISHAPS, "die", "stray"))
        number = self.chance.randrange(WORKERS)
        if kind in {"die", "stray"}:
            if kind == "stray":
                self.zombies.append(self.workers[number])
            self.workers[number] = self._worker(number)
        else:
            moved = self.chance.choice([*OUT, OFFSETS, TopicPartition(TRANSACTIONS_TOPIC, self.chance.randrange(2))])
            self.mishap(kind, moved)

    def run(self, mishaps: int) -> None:
        """So many, a few ticks between two; then all is healed, and all inputs are processed."""
        for _ in range(mishaps):
            for _ in range(self.chance.randint(1, 60)):
                self.step()
            self.any_mishap()
        self.rig.mishaps.heal()
        end_ms = self.now_ms + 400_000
        while not self.is_done:
            assert self.now_ms < end_ms, (self.places, [reader.offset for reader in self.readers])
            self.step()
        self._leave()
        self.check()

    def _leave(self) -> None:
        """A worker leaves in the middle of a transaction, which then must end."""
        leaver = self._worker(0)
        leaver.work = leaver.leave()
        self.workers.append(leaver)
        while not leaver.is_over:
            self.step()
        end_ms = self.now_ms + 2 * TIMEOUT_MS
        (high_watermark, stable), reader = (1, 0), self.readers[0]
        while high_watermark > stable:
            assert self.now_ms < end_ms, "a transaction stays open"
            self.step()
            high_watermark, stable = reader.ends

    @property
    def is_done(self) -> bool:
        """Whether every input is processed, and the readers have all of it."""
        has_all = sum(len(reader.read) for reader in self.readers) >= 2 * WORKERS * INPUTS
        return has_all and all(worker.is_over for worker in self.workers)

    def check(self) -> None:
        """Each input is in its two partitions once, in order."""
        for place, reader in enumerate(self.readers):
            for number in (place, (place - 1) % WORKERS):
                mine = [value for value in reader.read if value.startswith(f"{number}:")]
                assert mine == [f"{number}:{n}" for n in range(INPUTS)], (place, number, mine)
