"""The state of one partition of an internal topic as a state machine: loading, appends, and what is due when.

Rules
* Each event is passed with the time. The result (`Output`) is answers to tickets, and records to append in their order.
  The host appends them as the leader of the partition, reports the result of each with `appended`, and calls `tick` at
  `next_ms`.
* It begins empty. `load` takes the records of the log, and `loaded` follows the last of them.
* When the host no longer leads the partition, it calls `unload`: all waiting requests get NOT_COORDINATOR.
* An answer that depends on a record is given when the record is committed. If the append fails, its changes are undone.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import attrs

from .errors import CoordinatorError
from .records import Newest, R
from .schedule import Schedule
from .turn import Output, Ticket, Turn, Waiting

T = TypeVar("T", bound=Turn[Any])


@attrs.define(eq=False)
class Machine(abc.ABC, Generic[R, T]):
    """`is_loaded`: the log was read. `is_over`: it was unloaded."""

    is_loaded: bool = attrs.field(default=False, init=False)
    is_over: bool = attrs.field(default=False, init=False)
    _waiting: dict[int, Waiting] = attrs.field(factory=dict, init=False)
    _numbers: int = attrs.field(default=0, init=False)
    _read: Newest[R] = attrs.field(factory=Newest, init=False)
    _schedule: Schedule = attrs.field(factory=Schedule, init=False)
    _check_ms: int | None = attrs.field(default=None, init=False)

    # --- loading, and the end

    def load(self, records: Iterable[R]) -> None:
        """Take records of the log, in its order. The last record of each key counts."""
        self._read.add(records)

    def loaded(self, now_ms: int) -> Output:
        """The log is complete. Sessions and timeouts begin now."""
        self.is_loaded = True
        turn, records = self._turn(now_ms), self._read.records
        self._read = Newest()
        self._check_ms = now_ms + self._check_every_ms
        self._restore(turn, records)
        return self._output(turn)

    def unload(self, now_ms: int) -> Output:
        """End the coordinator. All waiting requests get NOT_COORDINATOR."""
        self.is_over = True
        turn = self._turn(now_ms)
        for waiting in self._waiting.values():
            waiting.done(turn, CoordinatorError.NOT_COORDINATOR)
        self._end(turn)
        self._waiting.clear()
        self._schedule, self._check_ms = Schedule(), None
        return Output(tuple(turn.replies))

    # --- events

    @abc.abstractmethod
    def ask(self, asked: Any, ticket: Ticket, now_ms: int) -> Output:
        """Take a request. Its answer is among the replies of this event or of a later one, under its ticket."""

    def appended(self, number: int, error: CoordinatorError, now_ms: int) -> Output:
        """The append with this number is committed, or has failed with `error`."""
        turn = self._turn(now_ms)
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            waiting.done(turn, error)
            self._after(turn, waiting, error)
        return self._output(turn)

    def tick(self, now_ms: int) -> Output:
        """Handle what is due: sessions and transactions that timed out, and what expired."""
        turn = self._turn(now_ms)
        if self._check_ms is not None and self._check_ms <= now_ms:
            self._check_ms = now_ms + self._check_every_ms
            self._expire(turn)
        for key in self._schedule.due(now_ms):
            self._due(turn, key)
        return self._output(turn)

    @property
    def next_ms(self) -> int | None:
        """When `tick` is due, None if never."""
        due_ms = [ms for ms in (self._check_ms, self._schedule.next_ms) if ms is not None]
        return min(due_ms, default=None)

    @abc.abstractmethod
    def listed(self) -> list[Any]:
        """All that the coordinator has, for lists."""

    # --- what differs

    @property
    @abc.abstractmethod
    def _check_every_ms(self) -> int:
        """How often to look for what expired."""

    @abc.abstractmethod
    def _turn(self, now_ms: int) -> T:
        """A new turn."""

    @abc.abstractmethod
    def _restore(self, turn: T, records: Sequence[R]) -> None:
        """Take the state from the records, one of each key."""

    @abc.abstractmethod
    def _end(self, turn: T) -> None:
        """Answer what waits for other than appends, and drop the state."""

    @abc.abstractmethod
    def _expire(self, turn: T) -> None:
        """Remove what was not used for long."""

    @abc.abstractmethod
    def _due(self, turn: T, key: str) -> None:
        """What was scheduled for the key is due."""

    @abc.abstractmethod
    def _after(self, turn: T, waiting: Any, error: CoordinatorError) -> None:
        """The change `waiting` is done, or has failed."""

    # --- inside

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _output(self, turn: T) -> Output:
        for append, waiting in turn.appends:
            self._waiting[append.number] = waiting
        return Output(tuple(turn.replies), tuple(append for append, _ in turn.appends))
