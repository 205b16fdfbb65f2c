"""The root of all events, and the decision that a rule returns."""

from __future__ import annotations

import enum
from typing import ClassVar, Final

import attrs

from ..errors import ApiError
from ..records import Record


@attrs.define
class Event:
    """Root of all events. `now_ms`: Unix milliseconds, by the runtime's clock. `ignores_deadline`: it
    continues something that has begun, and is decided however late it is.
    """

    ignores_deadline: ClassVar[bool] = False

    now_ms: int

    def dropped(self) -> Event | None:
        """The event that follows if this one was refused."""
        return None


@attrs.define
class KeyRead(Event):
    """Root of the events that hold what was read from a key. Until our next commit this is news, so these events are
    decided before all others."""


@attrs.define
class Group:
    """The parts of a large event, and `then`, which is decided once each part was decided or refused, also if some had
    to wait for a key. An event that appears again, in this group or another of the same Decision, is the same event: it
    is decided once, and all groups with it wait for it."""

    events: tuple[Event, ...]
    then: Event | Group


@attrs.define
class Decision:
    """What a rule returns: records, in order; the reply (a value or an ApiError); and the events that follow, each of
    which gets a Decision of its own later."""

    records: tuple[Record, ...] = ()
    reply: object = None
    expand: tuple[Event | Group, ...] = ()


class _Later(enum.Enum):
    LATER = "later"


LATER: Final = _Later.LATER
"""The reply of a Decision whose caller is answered at the end of its last Group."""


def refuse(error: ApiError) -> Decision:
    """A decision that changes nothing and answers with `error`."""
    return Decision(reply=error)
