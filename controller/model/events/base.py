"""The root of all events, and what a rule answers."""

from __future__ import annotations

import enum
from typing import ClassVar, Final

from controller.model.errors import ApiError
from controller.model.frozen import frozen
from controller.model.records import Record


@frozen
class Event:
    """Root of all events. `now_ms`: Unix milliseconds, by the runtime's clock. `may_wait`: others may have to be
    decided before it. `is_kept`: others wait for it, so that it is tried again where it was refused, or its rule
    failed. `is_begun`: it is a step of what was begun, and done however late it is."""

    may_wait: ClassVar[bool] = False
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
class Decision:
    """What a rule answers: the records, in order; the reply (a value, or an ApiError); the events that follow, which
    are decided later, each in a Decision of its own."""

    records: tuple[Record, ...] = ()
    reply: object = None
    expand: tuple[Event, ...] = ()


class _Later(enum.Enum):
    LATER = "later"


LATER: Final = _Later.LATER
"""As the reply of a Decision: whoever asked is answered by the last event that follows from it."""


@frozen
class LastOf(Event):
    """What ends a large event: decided after all that follows from it, also what has to wait for a key."""

    may_wait: ClassVar[bool] = True

    def waits_for(self, other: Event) -> bool:
        """Whether `other`, which is not decided yet, belongs to the same large event."""
        raise NotImplementedError


def refuse(error: ApiError) -> Decision:
    """Nothing changes, the caller gets `error`."""
    return Decision(reply=error)
