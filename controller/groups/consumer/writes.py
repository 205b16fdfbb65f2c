"""What of a group is to be written, and the answers that wait for that (`writing`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from ...coordinators.turn import Ticket
from ..replies import Reply
from ..requests import GroupRequest
from .values import Kind

Mark: TypeAlias = tuple[Kind, str]


@attrs.frozen
class Answer:
    """An answer that waits. `asked`: what it answers."""

    ticket: Ticket
    reply: Reply
    asked: GroupRequest


@attrs.define(eq=False)
class Writes:
    """`marked`: what is to be written, in order. `under_way`: what is being written. `rests`: an append failed in this
    event, so that the next event writes."""

    marked: dict[Mark, None] = attrs.field(factory=dict)
    waiting: list[Answer] = attrs.field(factory=list)
    under_way: Mapping[Mark, None] = attrs.field(factory=dict)
    rests: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether something is to be written, or is being written."""
        return bool(self.under_way or self.marked)

    def mark(self, kind: Kind, name: str = "") -> None:
        """Write the record of this kind. `name`: of which member or regular expression, "" for that of the group."""
        self.marked[kind, name] = None

    def mark_member(self, member_id: str) -> None:
        """Write all records of this member."""
        for kind in (Kind.MEMBER, Kind.TARGET, Kind.CURRENT):
            self.mark(kind, member_id)

    def taken(self) -> Mapping[Mark, None]:
        """What is not written yet, for a deletion of the group that writes all of it."""
        marks, self.marked = {**self.under_way, **self.marked}, {}
        return marks
