"""A transactional id in memory, and a change of it that waits for the log. The coordinator changes it."""

from __future__ import annotations

from typing import Final

import attrs

from ..coordinators import CoordinatorError, turn
from ..coordinators.held import by_ids
from ..coordinators.turn import Ticket
from ..model.values import TopicPartition
from .records import NO_EPOCH, State, Stored
from .replies import Answer

_ID_BYTES: Final = 1500
PARTITION_BYTES: Final = 400
"""The memory of a partition of a transaction, as an estimate: also while its marker is written."""


@attrs.frozen
class Marking:
    """A marker to write: the transaction of this producer ends in the partition."""

    transactional_id: str
    tp: TopicPartition
    producer_id: int
    producer_epoch: int
    is_commit: bool


@attrs.define(eq=False)
class Transaction:
    """A transactional id. `now`: its state in the log; `changing`: another one is being written. `unmarked`: the
    partitions that need a marker; `marking`: those where one is being written. `retry_ms`: what failed is not tried
    again before. `counted_bytes`: the memory that counts as its own; `principal`: whose request created it, empty if
    unknown."""

    transactional_id: str
    now: Stored
    changing: Changing | None = None
    unmarked: set[TopicPartition] = attrs.field(factory=set)
    marking: set[TopicPartition] = attrs.field(factory=set)
    retry_ms: int | None = None
    counted_bytes: int = 0
    principal: str = ""

    @property
    def is_new(self) -> bool:
        """Whether nothing of it is in the log."""
        return self.now.producer_epoch == NO_EPOCH

    @property
    def is_marked(self) -> bool:
        """Whether no marker is missing."""
        return not (self.unmarked or self.marking)

    @property
    def next(self) -> Stored | None:
        """The state that is being written; None without one, or where the transactional id is being deleted."""
        return None if self.changing is None else self.changing.then

    @property
    def held_bytes(self) -> int:
        """The memory that it takes, as an estimate."""
        of_next = 0 if self.next is None else len(self.next.partitions)
        return held_bytes(self.transactional_id, max(len(self.now.partitions), of_next))

    @property
    def next_ms(self) -> int | None:
        """When there is something to do."""
        if self.changing is not None:
            return None
        if self.now.state is State.ONGOING:
            return max(self.now.start_ms + self.now.timeout_ms, self.retry_ms or 0)
        return self.retry_ms


def held_bytes(transactional_id: str, partitions: int) -> int:
    """The memory that a transactional id takes with so many partitions."""
    return _ID_BYTES + by_ids(transactional_id) + PARTITION_BYTES * partitions


@attrs.define(eq=False)
class Changing:
    """Waits until a state is written; None: until the transactional id is deleted. `answer`: what the ticket gets then;
    if the append fails, an answer of the same kind with the error."""

    transaction: Transaction
    then: Stored | None
    ticket: Ticket = None
    answer: Answer | None = None

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """The next state is valid, or the former one stays."""
        if not error and self.then is not None:
            self.transaction.now = self.then
        self.transaction.changing = None
        if self.answer is not None:
            turn.reply(self.ticket, type(self.answer)(_of_append(error)) if error else self.answer)


@attrs.define(eq=False)
class Turn(turn.Turn[Changing]):
    """`markings`: markers to write."""

    markings: list[Marking] = attrs.field(factory=list, init=False)


def _of_append(error: CoordinatorError) -> CoordinatorError:
    """The error of an append, as producers may get it."""
    is_late = error is CoordinatorError.REQUEST_TIMED_OUT
    return CoordinatorError.COORDINATOR_NOT_AVAILABLE if is_late else error
