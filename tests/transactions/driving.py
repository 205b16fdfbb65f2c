"""A coordinator as its tests drive it: what producers ask, what they hear, and a log and markers that tests let succeed
or fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from kedge.controller.coordinators import Append, CoordinatorError, Output
from kedge.controller.model.values import TopicPartition
from kedge.controller.transactions import Coordinator
from kedge.controller.transactions.records import EPOCH_MAX, NO_EPOCH, NO_ID, State, Stored, TransactionRecord
from kedge.controller.transactions.replies import Identified
from kedge.controller.transactions.requests import (
    AddPartitions,
    Describe,
    End,
    Initialize,
    TransactionRequest,
    TransactionSettings,
    VerifyPartitions,
)
from kedge.controller.transactions.transaction import Marking

ID: Final = "payments"
"""The transactional id of most tests."""
TP: Final = TopicPartition("orders", 0)
OTHER: Final = TopicPartition("orders", 1)
TIMEOUT_MS: Final = 60_000
FIRST_ID: Final = 100
"""The first producer id that is given out; each further one is higher by 1."""
LAST_EPOCH: Final = EPOCH_MAX - 1
"""The last epoch that a producer gets."""
_TICKS_MAX: Final = 10_000


@attrs.frozen
class Producer:
    """What a producer knows of itself. `version`: of its transactions."""

    producer_id: int
    producer_epoch: int
    version: int = 2
    transactional_id: str = ID

    def with_epoch(self, grown: int) -> Producer:
        """Its epoch is higher by so much."""
        return attrs.evolve(self, producer_epoch=self.producer_epoch + grown)


def stored(state: State = State.EMPTY, *partitions: TopicPartition, **fields: Any) -> TransactionRecord:
    """A record of a transactional id with the first producer id. It has epoch 5, and had 4 before."""
    named = {"producer_id": FIRST_ID, "producer_epoch": 5, "last_epoch": 4, "timeout_ms": TIMEOUT_MS, "version": 2}
    times = {"start_ms": 1_000 if partitions else -1, "update_ms": 1_000}
    transactional_id = fields.pop("transactional_id", ID)
    values = {**named, **times, **fields}
    return TransactionRecord(transactional_id, Stored(state=state, partitions=frozenset(partitions), **values))


class Driven:
    """A coordinator, loaded. `heard`: what each ticket got. `log`: what was appended; `holds` True: appends stay
    under way until `settle`. `written`: markers that are in their partitions; `holds_markers` True: they stay under way
    until `mark`. `append_error`, `marker_error`: how those end that are not held. `tried`, `demanded`: all appends and
    markers so far."""

    def __init__(
        self, records: Sequence[TransactionRecord] = (), *, holds: bool = False, holds_markers: bool = False, **of: int
    ) -> None:
        self.now_ms = 1_000
        self.settings = TransactionSettings(**of)
        known = [record.stored for record in records if record.stored is not None]
        last_id = max((max(one.producer_id, one.next_id) for one in known), default=FIRST_ID - 1)
        self.coordinator = Coordinator(self.settings, itertools.count(last_id + 1).__next__)
        self.heard: dict[Any, Any] = {}
        self.log: list[TransactionRecord] = list(records)
        self.under_way: list[Append] = []
        self.tried: list[Append] = []
        self.holds = holds
        self.append_error = CoordinatorError.NONE
        self.marking: list[Marking] = []
        self.demanded: list[Marking] = []
        self.written: list[Marking] = []
        self.holds_markers = holds_markers
        self.marker_error = CoordinatorError.NONE
        self._tickets = itertools.count(1)
        self.coordinator.load(records)
        self._took(self.coordinator.loaded(self.now_ms))

    # --- what is asked

    def ask(self, asked: TransactionRequest, ticket: Any = "") -> Any:
        """What it heard of that, or None while it waits."""
        ticket = ticket or f"ticket {next(self._tickets)}"
        self.heard.pop(ticket, None)
        self._took(self.coordinator.ask(asked, ticket, self.now_ms))
        return self.heard.get(ticket)

    def initialize(self, was: Producer | None = None, ticket: Any = "", **fields: Any) -> Any:
        """`was`: the producer goes on after an error."""
        producer_id, producer_epoch = (was.producer_id, was.producer_epoch) if was else (NO_ID, NO_EPOCH)
        named = {"transactional_id": ID, "timeout_ms": TIMEOUT_MS, **fields}
        return self.ask(Initialize(producer_id=producer_id, producer_epoch=producer_epoch, **named), ticket)

    def producer(self, version: int = 2, **fields: Any) -> Producer:
        """A producer that has initialized."""
        answer: Identified = self.initialize(**fields)
        assert answer.error is CoordinatorError.NONE
        transactional_id = fields.get("transactional_id", ID)
        return Producer(answer.producer_id, answer.producer_epoch, version, transactional_id)

    def add(self, producer: Producer, *partitions: TopicPartition, ticket: Any = "") -> CoordinatorError | None:
        """None: it is not answered yet."""
        who = (producer.transactional_id, producer.producer_id, producer.producer_epoch)
        return _error(self.ask(AddPartitions(*who, partitions, producer.version), ticket))

    def verify(self, producer: Producer, *partitions: TopicPartition) -> CoordinatorError | None:
        """What a leader hears."""
        who = (producer.transactional_id, producer.producer_id, producer.producer_epoch)
        return _error(self.ask(VerifyPartitions(*who, partitions)))

    def end(self, producer: Producer, *, commit: bool, ticket: Any = "") -> Any:
        """The answer to End."""
        who = (producer.transactional_id, producer.producer_id, producer.producer_epoch)
        return self.ask(End(*who, commit, producer.version), ticket)

    def now(self, transactional_id: str = ID) -> Stored:
        """The state of the transactional id."""
        found: Stored = self.ask(Describe(transactional_id)).stored
        return found

    # --- the log, markers and the time

    def settle(self, error: CoordinatorError = CoordinatorError.NONE) -> None:
        """Every append that is under way is committed, or ends with that error."""
        appends, self.under_way = self.under_way, []
        for append in appends:
            self._settle(append, error)

    def mark(self, error: CoordinatorError = CoordinatorError.NONE, *partitions: TopicPartition) -> None:
        """Markers that are under way are written, or end with that error: those of the partitions, by default all."""
        markings = [marking for marking in self.marking if not partitions or marking.tp in partitions]
        self.marking = [marking for marking in self.marking if marking not in markings]
        for marking in markings:
            self.marked(marking, error)

    def marked(self, marking: Marking, error: CoordinatorError = CoordinatorError.NONE) -> None:
        """The marker is written, or ends with that error."""
        if not error:
            self.written.append(marking)
        self._took(self.coordinator.marked(marking, error, self.now_ms))

    def wait(self, ms: int) -> None:
        """So much time passes, and whatever is due in it happens when it is."""
        end_ms, ticks = self.now_ms + ms, 0
        while (due_ms := self.coordinator.next_ms) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._took(self.coordinator.tick(self.now_ms))
            ticks += 1
            assert ticks < _TICKS_MAX, "the coordinator is in a busy loop"
        self.now_ms = end_ms

    def unload(self) -> None:
        """The broker does not lead the partition any more."""
        self._took(self.coordinator.unload(self.now_ms))

    def _settle(self, append: Append, error: CoordinatorError) -> None:
        if not error:
            self.log += append.records
        self._took(self.coordinator.appended(append.number, error, self.now_ms))

    def _took(self, output: Output) -> None:
        self.heard |= dict(output.replies)
        self.tried += output.appends
        changed = [record.stored for append in output.appends for record in append.records if record.stored]
        assert all(one.update_ms == self.now_ms for one in changed)  # by which transactional ids expire
        self.under_way += output.appends
        self.marking += output.markings
        self.demanded += output.markings
        if not self.holds:
            self.settle(self.append_error)
        if not self.holds_markers:
            self.mark(self.marker_error)

    # --- transactions that are there

    def begun(self, *partitions: TopicPartition, version: int = 2, **fields: Any) -> Producer:
        """A producer with an open transaction, by default in one partition."""
        producer = self.producer(version, **fields)
        assert self.add(producer, *partitions or (TP,)) is CoordinatorError.NONE
        return producer

    def states(self) -> list[State | None]:
        """The states in the log, in its order; None: the transactional id was deleted."""
        return [record.stored.state if record.stored else None for record in self.log]


LAST: Final = Producer(FIRST_ID, LAST_EPOCH)
ROTATED: Final = Identified(CoordinatorError.NONE, FIRST_ID + 1, 0)
"""What a producer hears whose id is used up."""


def identified(producer_epoch: int, producer_id: int = FIRST_ID) -> Identified:
    """The answer that gives a producer its id and epoch."""
    return Identified(CoordinatorError.NONE, producer_id, producer_epoch)


def ends() -> list[State | None]:
    """The states of a transaction that is committed."""
    return [State.EMPTY, State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT]


def before_end(driven: Driven, *partitions: Any, **fields: Any) -> Producer:
    """A transaction is open; what it writes from now on stays under way, and so do markers."""
    producer = driven.begun(*partitions, **fields)
    driven.holds_markers = True
    return producer


def take_over(driven: Driven, **fields: Any) -> Driven:
    """The next coordinator, which has the log of this one."""
    driven.unload()
    return Driven(driven.log, **fields)


def all_requests(transactional_id: str = ID) -> dict[str, TransactionRequest]:
    """Each kind of request."""
    return {
        "initialize": Initialize(transactional_id, TIMEOUT_MS),
        "add": AddPartitions(transactional_id, FIRST_ID, 0, {TP}),
        "verify": VerifyPartitions(transactional_id, FIRST_ID, 0, {TP}),
        "end": End(transactional_id, FIRST_ID, 0, is_commit=True),
        "describe": Describe(transactional_id),
    }


def errors_of(ask: Callable[[TransactionRequest], Any], transactional_id: str = ID) -> set[CoordinatorError]:
    """The errors that all kinds of requests get."""
    return {ask(request).error for request in all_requests(transactional_id).values()}


def _error(answer: Any) -> CoordinatorError | None:
    error: CoordinatorError | None = getattr(answer, "error", None)
    return error
