"""Jobs: events that wait to be decided, and the groups that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from ..model.events import Event, Group
from ..model.view import ClusterView
from .replies import Reply

Answer: TypeAlias = Callable[[ClusterView, Any], object]
"""Makes the caller's result from the state and the event, once the Decision is committed."""


@attrs.define(eq=False)
class Parts:
    """The parts of a group. `left`: how many are neither decided nor refused; a part that is decided again after a
    conflict counts again."""

    left: int = 0


@attrs.define(eq=False)
class Job:
    """An event to decide. `deadline_ms`: the latest time to commit a request (None: no limit); `due_ms`: when a delayed
    job is due; both in `elapsed_ms`. `cause`, `request`: for the journal. `delay_ms`: the next delay if it touches a
    key that others keep writing; doubles. `since_s`: when it came, if that is measured. `part_of`: the groups that it
    is a part of;
    `after`: the group that it ends."""

    event: Event
    reply: Reply[Any] | None = None
    deadline_ms: int | None = None
    cause: str | None = None
    request: str | None = None
    answer: Answer | None = None
    due_ms: int = 0
    delay_ms: int = 100
    since_s: float | None = None
    part_of: tuple[Parts, ...] = ()
    after: Parts | None = None

    def is_too_early(self) -> bool:
        """Whether the group that it ends has parts left."""
        return self.after is not None and self.after.left > 0

    def mark_decided(self, count: int = 1) -> None:
        """It was decided or refused. -1: its decision was undone."""
        for parts in self.part_of:
            parts.left -= count


def jobs_of(expand: Iterable[Event | Group], cause: str | None, request: str | None = None) -> list[Job]:
    """A job for each event that follows from a Decision, in their order."""
    made: dict[int, Job] = {}  # by the identity of its event, which several groups may name
    for one in expand:
        after: Parts | None = None
        rest = one
        while isinstance(rest, Group):
            parts = Parts(len(rest.events))
            for event in rest.events:
                job = made.get(id(event))
                if job is None:
                    job = made[id(event)] = Job(event, cause=cause, request=request, after=after)
                job.part_of += (parts,)
            rest, after = rest.then, parts
        made[id(rest)] = Job(rest, cause=cause, request=request, after=after)
    return list(made.values())
