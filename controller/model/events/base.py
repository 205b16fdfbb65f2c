"""The root of all events, and what a rule answers."""

from __future__ import annotations

import enum
from typing import ClassVar, Final

from controller.model.errors import ApiError
from controller.model.frozen import frozen
from controller.model.records import Record


@frozen
class Event:
    """Root of all events. `now_ms`: Unix milliseconds, by the runtime's clock. `takes_turns`: it may have to wait until
    another large event has ended (`rules.throttling.turns`). `is_kept`: others wait for it, so that it is tried again
    where it was refused, or its rule failed. `is_begun`: it is a step of what was begun, and done however late it is.
    """

    takes_turns: ClassVar[bool] = False
    is_kept: ClassVar[bool] = False
    is_begun: ClassVar[bool] = False

    now_ms: int

    def dropped(self) -> Event | None:
        """What follows where it was refused, or its rule failed."""
        return None


@frozen
class KeyRead(Event):
    """Root of what tells what a key holds: news until our next commit, so it is decided before all that waits."""


@frozen
class Group:
    """The parts of a large event, and `then`, which is decided after each of them was decided or refused, also where
    some have to wait for a key. An event that was named before, in this group or in another one of the same Decision,
    is the same event: it is decided once, and all that name it wait for it."""

    events: tuple[Event, ...]
    then: Event | Group


@frozen
class Decision:
    """What a rule answers: the records, in order; the reply (a value, or an ApiError); the events that follow, which
    are decided later, each in a Decision of its own."""

    records: tuple[Record, ...] = ()
    reply: object = None
    expand: tuple[Event | Group, ...] = ()


class _Later(enum.Enum):
    LATER = "later"


LATER: Final = _Later.LATER
"""As the reply of a Decision: whoever asked is answered by the end of its last Group."""


def refuse(error: ApiError) -> Decision:
    """Nothing changes, the caller gets `error`."""
    return Decision(reply=error)
