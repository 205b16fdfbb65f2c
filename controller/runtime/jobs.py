"""Jobs: events that wait to be decided, and what they are part of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from controller.model.events import Event, Group
from controller.model.view import ClusterView
from controller.runtime.replies import Reply

Answer: TypeAlias = Callable[[ClusterView, Any], object]
"""Makes the result for the caller out of the state and the event, once its Decision is committed."""


@attrs.define(eq=False)
class Parts:
    """The parts of a group. `left`: how many of them are not decided yet, nor refused; one that is decided anew, since
    its commit met a conflict, is counted again."""

    left: int = 0


@attrs.define(eq=False)
class Job:
    """An event to decide. `deadline_ms`: until when a request may be committed (None: no end), and `due_ms`, in
    `elapsed_ms`. `cause`, `request`: for the journal. `delay_ms`: how long it waits when it touches a key that others
    keep writing; doubles. `since_s`: when it came, where that is measured. `part_of`: the groups that it is a part of,
    `after`: the one that it ends."""

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
        """Whether parts of the group that it ends are left."""
        return self.after is not None and self.after.left > 0

    def settled(self, count: int = 1) -> None:
        """It was decided, or refused; -1: it is not decided any more."""
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
