"""The coordinator of the transactional ids in one partition of `__transaction_state`, as a state machine.

Rules (those of `kedge.controller.coordinators.machine`, and Kafka's)
* One change of a transactional id is in progress at a time; requests meanwhile get CONCURRENT_TRANSACTIONS.
* When the end of a transaction is in the log it is decided: End is answered, and the host writes a marker into each
  partition (`Marking`) and reports the result with `marked`. A marker that could not be written is tried again. When
  all are written the transaction is complete. A coordinator that loads a decided transaction goes on with it.
* A transaction that runs for longer than its timeout is aborted, and so is one whose producer begins again. Its epoch
  rises, so that its former producer writes no more.
* A transactional id without a transaction expires when nothing has changed for `expiration_ms`.
* Every request gets COORDINATOR_LOAD_IN_PROGRESS until the log was read. Initialize and AddPartitions get
  COORDINATOR_NOT_AVAILABLE where transactional ids would hold more memory than they may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ..coordinators import CoordinatorError, Machine, Output
from ..coordinators.held import Held
from ..coordinators.turn import Answered, Ticket
from . import changes
from .records import NO_ID, State, Stored, TransactionRecord
from .replies import Answer, Described, Identified, Listed, Reply
from .requests import (
    AddPartitions,
    Describe,
    End,
    Initialize,
    TransactionRequest,
    TransactionSettings,
    VerifyPartitions,
)
from .transaction import PARTITION_BYTES, Changing, Marking, Transaction, Turn, held_bytes

_BUSY: Final = CoordinatorError.CONCURRENT_TRANSACTIONS


@attrs.define(eq=False)
class Coordinator(Machine[TransactionRecord, Turn]):
    """`fresh_id`: makes an id that no other producer has. `held`: what the transactional ids of all coordinators hold
    that share `TransactionSettings.held_bytes_max`."""

    settings: TransactionSettings
    fresh_id: Callable[[], int]
    held: Held = attrs.field(factory=Held)
    transactions: dict[str, Transaction] = attrs.field(factory=dict)

    # --- events

    def ask(self, asked: TransactionRequest, ticket: Ticket, now_ms: int) -> Output:
        """Take a request. Its answer is among the replies of this event or of a later one, under its ticket."""
        turn = self._turn(now_ms)
        error = self._refusal(asked)
        if error is not None:
            turn.reply(ticket, refused(asked, error))
        elif isinstance(asked, Initialize):
            self._initialize(turn, asked, ticket)
        else:
            transaction = self.transactions.get(asked.transactional_id)
            if transaction is None or transaction.is_new:
                turn.reply(ticket, refused(asked, _unknown(asked)))
            else:
                _HANDLERS[type(asked)](self, turn, transaction, asked, ticket)
        return self._output(turn)

    def marked(self, marking: Marking, error: CoordinatorError, now_ms: int) -> Output:
        """The marker is in the log of its partition (NONE), or could not be written. A partition that does not exist
        any more needs none: the host reports NONE."""
        turn = self._turn(now_ms)
        transaction = self.transactions.get(marking.transactional_id)
        if transaction is not None and _is_of(marking, transaction.now) and marking.tp in transaction.marking:
            transaction.marking.remove(marking.tp)
            if error:
                transaction.unmarked.add(marking.tp)
                self._retry(turn, transaction)
            elif transaction.is_marked:
                self._go_on(turn, transaction)
        return self._output(turn)

    def listed(self) -> list[Listed]:
        """Every transactional id that has a producer."""
        known = [t for t in self.transactions.values() if not t.is_new]
        return [Listed(t.transactional_id, t.now.producer_id, t.now.state, t.now.start_ms) for t in known]

    # --- what a machine does

    @property
    def _check_every_ms(self) -> int:
        return self.settings.expiration_check_ms

    def _turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self._next_number)

    def _output(self, turn: Turn) -> Output:
        return attrs.evolve(super()._output(turn), markings=tuple(turn.markings))

    def _restore(self, turn: Turn, records: Sequence[TransactionRecord]) -> None:
        for record in records:
            if record.stored is not None:
                transaction = Transaction(record.transactional_id, record.stored)
                self.transactions[record.transactional_id] = transaction
                self._begin_end(turn, transaction)

    def _end(self, turn: Turn) -> None:  # noqa: ARG002 - nothing waits but for appends
        for transaction in self.transactions.values():
            self.held.count(transaction, 0)
        self.transactions.clear()

    def _expire(self, turn: Turn) -> None:
        before_ms = turn.now_ms - self.settings.expiration_ms
        for transaction in list(self.transactions.values()):
            now = transaction.now
            if not (now.is_open or transaction.changing) and now.update_ms <= before_ms:
                self._change(turn, transaction, None)

    def _due(self, turn: Turn, key: str) -> None:
        transaction = self.transactions.get(key)
        if transaction is None or transaction.changing:
            return
        if transaction.now.state is State.ONGOING and (transaction.next_ms or 0) <= turn.now_ms:
            self._abort(turn, transaction)
        elif (transaction.retry_ms or 0) <= turn.now_ms:
            transaction.retry_ms = None
            if transaction.now.is_prepared:
                self._go_on(turn, transaction)
        self._settle(transaction)

    def _after(self, turn: Turn, waiting: Changing, error: CoordinatorError) -> None:
        transaction = waiting.transaction
        if (waiting.then is None and not error) or transaction.is_new:
            self.held.count(transaction, 0)
            self.transactions.pop(transaction.transactional_id, None)
        elif error:
            self._retry(turn, transaction)
        else:
            transaction.retry_ms = None
            self._begin_end(turn, transaction)

    # --- what producers and brokers ask for

    def _refusal(self, asked: TransactionRequest) -> CoordinatorError | None:
        if not asked.transactional_id:
            return CoordinatorError.INVALID_REQUEST
        if isinstance(asked, Initialize) and not 0 < asked.timeout_ms <= self.settings.timeout_max_ms:
            return CoordinatorError.INVALID_TRANSACTION_TIMEOUT
        if self.is_over:
            return CoordinatorError.NOT_COORDINATOR
        if not self.is_loaded:
            return CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS
        return None if self._has_room(asked) else CoordinatorError.COORDINATOR_NOT_AVAILABLE

    def _has_room(self, asked: TransactionRequest) -> bool:
        transaction = self.transactions.get(asked.transactional_id)
        grown, present, principal = 0, 0, ""
        if transaction is not None:
            present, principal = transaction.counted_bytes, transaction.principal
            if isinstance(asked, AddPartitions):
                grown = PARTITION_BYTES * len(asked.partitions - transaction.now.partitions)
        elif isinstance(asked, Initialize):
            grown, principal = held_bytes(asked.transactional_id, 0), asked.principal
        return self.held.has_room(self.settings.held_bytes_max, principal, present, grown)

    def _initialize(self, turn: Turn, asked: Initialize, ticket: Ticket) -> None:
        transaction = self.transactions.get(asked.transactional_id)
        if transaction is None:
            begins = Stored(producer_id=self.fresh_id(), timeout_ms=asked.timeout_ms)
            transaction = Transaction(asked.transactional_id, begins, principal=asked.principal)
            self.transactions[asked.transactional_id] = transaction
        now = transaction.now
        if transaction.changing or now.is_prepared:
            turn.reply(ticket, Identified(_BUSY))
        elif not changes.may_initialize(now, asked):
            turn.reply(ticket, Identified(CoordinatorError.PRODUCER_FENCED))
        elif now.state is State.ONGOING:
            self._abort(turn, transaction, ticket, Identified(_BUSY))
        else:
            then = changes.initialized(now, asked, self.fresh_id, turn.now_ms)
            if isinstance(then, CoordinatorError):
                turn.reply(ticket, Identified(then))
            else:
                done = Identified(CoordinatorError.NONE, then.producer_id, then.producer_epoch)
                self._change(turn, transaction, then, ticket, done)

    def _add(self, turn: Turn, transaction: Transaction, asked: AddPartitions, ticket: Ticket) -> None:
        now = transaction.now
        error = _fence(now, asked.producer_id, asked.producer_epoch)
        if error or transaction.changing or now.is_prepared:
            turn.reply(ticket, Answered(error or _BUSY))
        elif now.state is State.ONGOING and asked.partitions <= now.partitions:
            turn.reply(ticket, Answered(CoordinatorError.NONE))
        else:
            then = changes.added(now, asked.partitions, asked.version, turn.now_ms)
            self._change(turn, transaction, then, ticket, Answered(CoordinatorError.NONE))

    def _verify(self, turn: Turn, transaction: Transaction, asked: VerifyPartitions, ticket: Ticket) -> None:
        now, ends = transaction.now, transaction.next is not None and transaction.next.is_prepared
        error = _fence(now, asked.producer_id, asked.producer_epoch)
        if not error and (ends or now.is_prepared):
            error = _BUSY
        if not error and not (now.state is State.ONGOING and asked.partitions <= now.partitions):
            error = CoordinatorError.TRANSACTION_ABORTABLE
        turn.reply(ticket, Answered(error))

    def _finish(self, turn: Turn, transaction: Transaction, asked: End, ticket: Ticket) -> None:
        now = transaction.now
        is_busy = transaction.changing is not None or now.is_prepared
        error = changes.end_error(now, asked, is_busy=is_busy)
        is_newer = asked.version >= changes.NEW_EPOCHS
        if error is not None:
            is_done = is_newer and not error
            turn.reply(ticket, Identified(error, now.producer_id, now.producer_epoch) if is_done else Identified(error))
            return
        next_id = self.fresh_id() if is_newer and now.is_exhausted else NO_ID
        then = changes.prepared(now, asked.version, turn.now_ms, next_id, is_commit=asked.is_commit)
        done = Identified(CoordinatorError.NONE)
        if is_newer:
            named = (then.producer_id, then.producer_epoch) if next_id == NO_ID else (next_id, 0)
            done = Identified(CoordinatorError.NONE, *named)
        self._change(turn, transaction, then, ticket, done)

    def _describe(self, turn: Turn, transaction: Transaction, _: Describe, ticket: Ticket) -> None:
        turn.reply(ticket, Described(transaction.now))

    # --- changes

    def _abort(self, turn: Turn, transaction: Transaction, ticket: Ticket = None, answer: Answer | None = None) -> None:
        """The open transaction ends, and its producer writes no more."""
        now = transaction.now
        then = changes.prepared(changes.fenced(now), now.version, turn.now_ms, is_commit=False)
        self._change(turn, transaction, then, ticket, answer)

    def _change(
        self,
        turn: Turn,
        transaction: Transaction,
        then: Stored | None,
        ticket: Ticket = None,
        answer: Answer | None = None,
    ) -> None:
        """Write the next state; None: the transactional id is deleted. `answer`: see `Changing`."""
        transaction.changing = Changing(transaction, then, ticket, answer)
        turn.append([TransactionRecord(transaction.transactional_id, then)], transaction.changing)
        self._settle(transaction)

    # --- the end of a transaction that is decided

    def _begin_end(self, turn: Turn, transaction: Transaction) -> None:
        """If the end was decided just now, write the markers."""
        transaction.unmarked, transaction.marking = set(), set()  # which gives back the memory of former ones
        if transaction.now.is_prepared:
            transaction.unmarked |= transaction.now.partitions
            self._go_on(turn, transaction)
        self._settle(transaction)

    def _go_on(self, turn: Turn, transaction: Transaction) -> None:
        """Write the markers that are missing; without any the transaction is complete."""
        now = transaction.now
        if transaction.is_marked:
            self._change(turn, transaction, changes.completed(now, turn.now_ms))
            return
        begun, transaction.unmarked = transaction.unmarked, set()
        transaction.marking |= begun
        named = (now.producer_id, now.producer_epoch, now.state is State.PREPARE_COMMIT)
        turn.markings += [Marking(transaction.transactional_id, tp, *named) for tp in sorted(begun)]

    def _retry(self, turn: Turn, transaction: Transaction) -> None:
        """Try again later what failed."""
        transaction.retry_ms = turn.now_ms + self.settings.retry_ms
        self._settle(transaction)

    def _settle(self, transaction: Transaction) -> None:
        """Count what it holds, and schedule what is next."""
        self.held.count(transaction, transaction.held_bytes)
        self._schedule.set(transaction.transactional_id, transaction.next_ms)


_HANDLERS: Final[dict[type, Callable[..., None]]] = {
    AddPartitions: Coordinator._add,  # noqa: SLF001 - its own
    VerifyPartitions: Coordinator._verify,  # noqa: SLF001
    End: Coordinator._finish,  # noqa: SLF001
    Describe: Coordinator._describe,  # noqa: SLF001
}


def _fence(now: Stored, producer_id: int, producer_epoch: int) -> CoordinatorError:
    if producer_id != now.producer_id:
        return CoordinatorError.INVALID_PRODUCER_ID_MAPPING
    is_present = producer_epoch == now.producer_epoch
    return CoordinatorError.NONE if is_present else CoordinatorError.PRODUCER_FENCED


def _is_of(marking: Marking, now: Stored) -> bool:
    is_commit = now.state is State.PREPARE_COMMIT
    expected = (now.producer_id, now.producer_epoch, is_commit)
    return now.is_prepared and (marking.producer_id, marking.producer_epoch, marking.is_commit) == expected


def _unknown(asked: TransactionRequest) -> CoordinatorError:
    """The error of a request whose transactional id does not exist."""
    if isinstance(asked, Describe):
        return CoordinatorError.TRANSACTIONAL_ID_NOT_FOUND
    return CoordinatorError.INVALID_PRODUCER_ID_MAPPING


def refused(asked: TransactionRequest, error: CoordinatorError) -> Reply:
    """The answer that refuses a request."""
    return Identified(error) if isinstance(asked, Initialize | End) else Answered(error)
