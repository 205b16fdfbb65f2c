"""The handling of one event by a coordinator: the time, and the answers and appends that result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from .errors import CoordinatorError
from .records import Producer, Record

Ticket = Any
"""A value that the caller passes with a request, and gets back with the answer."""
W = TypeVar("W", bound="Waiting")


class Waiting(Protocol):
    """A change that waits for an append."""

    def done(self, turn: Any, error: CoordinatorError) -> None:
        """The records are committed, or the append failed with `error`."""


@attrs.frozen
class Answered:
    """An answer that is an error alone; to every request if the whole of it is refused."""

    error: CoordinatorError


@attrs.frozen
class Append:
    """Records to append; `number` counts up. `producer`: they are part of its transaction."""

    number: int
    records: Sequence[Any]
    producer: Producer | None = None


@attrs.frozen
class Output:
    """The result of an event: answers to send now, appends in their order, and of transactions the markers to write."""

    replies: tuple[tuple[Ticket, Any], ...] = ()
    appends: tuple[Append, ...] = ()
    markings: tuple[Any, ...] = ()


@attrs.define(eq=False)
class Turn(Generic[W]):
    """`replies`: tickets and their answers, to send now. `appends`: records to append in this order, each with the
    change that waits for it."""

    now_ms: int
    next_number: Callable[[], int]
    replies: list[tuple[Ticket, Any]] = attrs.field(factory=list, init=False)
    appends: list[tuple[Append, W]] = attrs.field(factory=list, init=False)

    def reply(self, ticket: Ticket, answer: Any) -> None:
        self.replies.append((ticket, answer))

    def append(self, records: Sequence[Record], waiting: W, producer: Producer | None = None) -> int:
        """Append records; returns the number of the append."""
        number = self.next_number()
        self.appends.append((Append(number, records, producer), waiting))
        return number
