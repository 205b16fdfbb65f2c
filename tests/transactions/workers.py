"""Clients that process inputs in transactions: they read, write and commit their place; answers may be late or lost."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from kedge.controller.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, CoordinatorError, partition_of
from kedge.controller.coordinators.records import Producer
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import FetchedOffsets
from kedge.controller.groups.requests import Commit, FetchOffsets
from kedge.controller.model.logs import Batch, Guard, LogError
from kedge.controller.model.values import TopicPartition
from kedge.controller.transactions.requests import AddPartitions, End, Initialize, VerifyPartitions
from kedge.controller.wire.data.batches import packed, transactional
from tests.coordinators.world import INTERNAL_PARTITIONS, World

INPUTS: Final = 40  # of each partition
TIMEOUT_MS: Final = 20_000
SESSION_MS: Final = 6_000
PATIENCE_MS: Final = 3_000  # after that a request counts as lost
OUT: Final = tuple(TopicPartition("out", partition) for partition in range(3))
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
    """The transaction cannot be committed, because of this error."""

    def __init__(self, error: Any = CoordinatorError.NONE) -> None:
        super().__init__(error)
        self.error = error


def error_of(answer: Any) -> Any:
    """The first error in an answer, NONE if it has none."""
    errors = getattr(answer, "errors", None)
    found = next(iter(errors.values()), CoordinatorError.NONE) if errors else getattr(answer, "error", 0)
    unstable = getattr(answer, "unstable", None)
    return CoordinatorError.UNSTABLE_OFFSET_COMMIT if unstable else found


def value(source: TopicPartition, number: int) -> str:
    """What becomes of this input."""
    return f"{source.topic}-{source.partition}:{number}"


def outs(source: TopicPartition) -> tuple[TopicPartition, TopicPartition]:
    """The two partitions in which each input of this one is to be."""
    return OUT[source.partition % len(OUT)], OUT[(source.partition + 1) % len(OUT)]


@attrs.define(eq=False)
class Client:
    """An instance of a transactional id. `version`: 0 and 2 of KIP-890. `places`: how much of each partition is
    committed, as far as any client knows. `stalls_until_ms`: it does nothing before. `HESITATES`: how probably
    it stalls before it commits."""

    GROUP: ClassVar[str]
    HESITATES: ClassVar[float]
    world: World
    number: int
    version: int
    places: dict[TopicPartition, int]
    producer_id: int = -1
    producer_epoch: int = -1
    sequences: dict[TopicPartition, int] = attrs.field(factory=dict)
    added: set[TopicPartition] = attrs.field(factory=set)
    is_over: bool = False
    stalls_until_ms: int = 0
    waits_for: Future[Any] | None = None
    asked_ms: int = 0
    work: Work = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.work = self._work()

    @property
    def transactional_id(self) -> str:
        return f"{self.GROUP}-{self.number}"

    @property
    def offsets(self) -> TopicPartition:
        """The partition with the offsets of the group."""
        return TopicPartition(OFFSETS_TOPIC, partition_of(self.GROUP, INTERNAL_PARTITIONS))

    def step(self) -> None:
        """Go on as far as answers are there."""
        lost = self.world.now_ms - self.asked_ms > PATIENCE_MS
        waits = self.waits_for is not None and not (self.waits_for.done() or lost)
        if self.is_over or waits or self.world.now_ms < self.stalls_until_ms:
            return
        answer = self.waits_for.result() if self.waits_for is not None and self.waits_for.done() else None
        try:
            self.waits_for, self.asked_ms = self.work.send(answer), self.world.now_ms
        except (StopIteration, Fenced):
            self.is_over = True

    @property
    def sources(self) -> tuple[TopicPartition, ...]:
        """The partitions with its inputs."""
        raise NotImplementedError

    @property
    def is_done(self) -> bool:
        """Whether all inputs are processed."""
        return all(self.places[tp] == INPUTS for tp in self.sources)

    def _work(self) -> Work:
        raise NotImplementedError

    # --- what it does

    def leave(self) -> Work:
        """Begin a transaction, and do nothing more."""
        yield from self._begin()
        yield from self._write(OUT[0], ["left"])

    def _begin(self) -> Work:
        asked = Initialize(self.transactional_id, TIMEOUT_MS)
        found = yield from self._until_done(lambda: self._coordinator(asked))
        self.producer_id, self.producer_epoch = found.producer_id, found.producer_epoch

    def _committed(self, *sources: TopicPartition) -> Work:
        """The places that were committed."""
        asked, known = FetchOffsets(self.GROUP, sources, requires_stable=True), dict(self.places)
        found = yield from self._until_done(lambda: self._group(asked))
        assert isinstance(found, FetchedOffsets)
        places = {tp: 0 if committed is None else committed.offset for tp, committed in found.offsets.items()}
        assert all(place >= known[tp] for tp, place in places.items()), (self.number, places, known)
        for tp, place in places.items():  # also if who committed them had no answer
            self.places[tp] = max(self.places[tp], place)
        return places

    def _transaction(self, places: Mapping[TopicPartition, int], **member: Any) -> Work:
        """Process some inputs of each partition; returns the places then. `member`: who commits them."""
        chance, self.added = self.world.chance, set()
        ends = {tp: min(place + chance.randint(1, 3), INPUTS) for tp, place in places.items()}
        for source, end in ends.items():
            for tp in outs(source):
                yield from self._write(tp, [value(source, number) for number in range(places[source], end)])
        yield from self._hesitate()
        guard = yield from self._guarded(self.offsets)
        producer = Producer(self.producer_id, self.producer_epoch, guard)
        asked = Commit(self.GROUP, {tp: Committed(end) for tp, end in ends.items()}, producer=producer, **member)
        yield from self._until_done(lambda: self._group(asked))
        yield from self._hesitate()
        if chance.random() < 0.15:
            raise Broken
        yield from self._end(is_commit=True)
        self.places.update({tp: max(self.places[tp], end) for tp, end in ends.items()})
        return ends

    def _hesitate(self) -> Work:
        """Sometimes for longer than the session of a member, and shorter than the timeout of a transaction."""
        if self.world.chance.random() < self.HESITATES:
            self.stalls_until_ms = self.world.now_ms + self.world.chance.randint(SESSION_MS, TIMEOUT_MS - SESSION_MS)
            yield None

    def _give_up(self) -> Work:
        with suppress(Broken):  # nothing was open
            yield from self._end(is_commit=False)

    def _end(self, *, is_commit: bool) -> Work:
        asked = End(self.transactional_id, self.producer_id, self.producer_epoch, is_commit, self.version)
        found = yield from self._until_done(lambda: self._coordinator(asked))
        if self.version and found.producer_id >= 0:
            self.producer_id, self.producer_epoch = found.producer_id, found.producer_epoch
            self.sequences.clear()

    # --- what it writes

    def _write(self, tp: TopicPartition, values: list[str]) -> Work:
        if not values:
            return
        guard = yield from self._guarded(tp)
        sequence = self.sequences.get(tp, 0)
        plain = packed([(b"k", each.encode()) for each in values], self.world.now_ms)
        batch = transactional(plain, self.producer_id, self.producer_epoch)
        batch = attrs.evolve(batch, base_sequence=sequence)
        yield from self._until_done(lambda: self._append(tp, batch, guard))
        self.sequences[tp] = sequence + len(values)

    def _append(self, tp: TopicPartition, batch: Batch, guard: Guard | None) -> Future[Any]:
        return self.world.logs.append(self.world.leader(tp), tp, batch, acks=-1, timeout_ms=2_000, guard=guard)

    def _guarded(self, tp: TopicPartition) -> Work:
        """What the leader needs before the transaction may begin in its partition; the leader asks the coordinator."""
        who = (self.transactional_id, self.producer_id, self.producer_epoch, [tp])
        if not self.version and tp not in self.added:
            yield from self._until_done(lambda: self._coordinator(AddPartitions(*who)))
            self.added.add(tp)
        found = yield from self._until_done(
            lambda: self.world.logs.guard(self.world.leader(tp), tp, self.producer_id, self.producer_epoch)
        )
        if found.guard is not None:
            asks = AddPartitions(*who, self.version) if self.version else VerifyPartitions(*who)
            yield from self._until_done(lambda: self._coordinator(asks))
        return found.guard

    # --- how it asks

    def _coordinator(self, asked: Any) -> Future[Any]:
        tp = TopicPartition(TRANSACTIONS_TOPIC, partition_of(self.transactional_id, INTERNAL_PARTITIONS))
        return self.world.transactions.ask(self.world.leader(tp), asked)

    def _group(self, asked: Any) -> Future[Any]:
        return self.world.groups.ask(self.world.leader(self.offsets), asked)

    def _until_done(self, ask: Any) -> Work:
        """The answer; what is lost or cannot be done now is asked again."""
        if self.version:  # in Kafka, too, one without epochs of its own takes what was meant for the one before
            self.world.late.sent(ask)
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


class Worker(Client):
    """It has its own partition."""

    GROUP: ClassVar[str] = "workers"
    HESITATES: ClassVar[float] = 0

    @property
    def sources(self) -> tuple[TopicPartition, ...]:
        return (TopicPartition("in", self.number),)

    def _work(self) -> Work:
        (source,) = self.sources
        yield from self._begin()
        places = yield from self._committed(source)
        while places[source] < INPUTS:
            try:
                places = yield from self._transaction(places)
            except Broken:
                yield from self._give_up()
                places = yield from self._committed(source)
