"""Which records of a group are to be written, and the answers that wait for that.

Rules
* An event changes the group in memory, marks what it changed, and leaves its answer here.
* One append of a group is under way at a time. When it is done, all that was marked meanwhile is written together, each
  record as the group is then. So the log never has a later state of one member beside an earlier one of another.
* An answer is given when all that was marked before it is committed.
* If an append fails, all answers that wait are errors and its marks remain. They are written with the next event, since
  clients send their requests again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ...coordinators import CoordinatorError
from ..group import Group
from ..records import GroupRecord, Record
from ..replies import State, refused
from ..turn import Turn
from .values import ConsumerRecord, Kind
from .writes import Answer, Mark

_ERRORS: Final = {
    CoordinatorError.REQUEST_TIMED_OUT: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
    CoordinatorError.INVALID_COMMIT_OFFSET_SIZE: CoordinatorError.UNKNOWN_SERVER_ERROR,
}


@attrs.frozen(eq=False)
class _Written:
    """Waits until records are written."""

    group: Group
    marks: Mapping[Mark, None]
    answers: tuple[Answer, ...]

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Give the answers."""
        writes = self.group.writes
        writes.under_way = {}
        for answer in self.answers:
            _give(turn, answer, error)
        if error:
            writes.rests = True
            if self.group.state is not State.DEAD:  # else its deletion writes them
                writes.marked = {**self.marks, **writes.marked}
            refuse(turn, self.group, error)


def _give(turn: Turn, answer: Answer, error: CoordinatorError) -> None:
    turn.reply(answer.ticket, refused(answer.asked, _ERRORS.get(error, error)) if error else answer.reply)


def refuse(turn: Turn, group: Group, error: CoordinatorError) -> None:
    """The answers that wait get this error."""
    for answer in group.writes.waiting:
        _give(turn, answer, error)
    group.writes.waiting = []


def write(turn: Turn, group: Group) -> None:
    """Write what is marked, unless an append is under way. Answers that need not wait are given."""
    writes = group.writes
    if writes.under_way or writes.rests:
        writes.rests = False
        return
    if group.state is State.COMPLETING:
        writes.marked.pop((Kind.CLASSIC, ""), None)  # the assignments of its leader may be on their way
    marks, answers = writes.marked, tuple(writes.waiting)
    writes.marked, writes.waiting = {}, []
    if marks:
        writes.under_way = marks
        records = sorted((_record(group, *mark) for mark in marks), key=_place)
        turn.append(records, _Written(group, marks, answers))
    else:
        for answer in answers:
            turn.reply(answer.ticket, answer.reply)


def _place(record: Record) -> tuple[bool, int]:
    """In the order that Kafka's brokers need when they load the log: what is deleted first, the group last of that."""
    kind = record.kind if isinstance(record, ConsumerRecord) else Kind.CLASSIC
    return (False, -kind) if record.is_deleted else (True, kind)


def _record(group: Group, kind: Kind, name: str) -> Record:
    if kind is Kind.CLASSIC:
        return GroupRecord(group.group_id, None) if group.consumer or not group.generation else group.record()
    value = None if group.consumer is None else group.consumer.value(kind, name)
    return ConsumerRecord(group.group_id, kind, name, value)
