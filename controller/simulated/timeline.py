"""The events of a run, line by line, for people; and their hash, by which two runs are compared exactly."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Final

from .clock import VirtualClock

LINES_MAX: Final = 200_000  # older ones are dropped; the hash covers all


class Timeline:
    """Lines `<ms>  <who>  <what>`, in the order of the events."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._lines: deque[tuple[int, str, str]] = deque(maxlen=LINES_MAX)
        self._hash = hashlib.sha256()
        self.is_mute = False  # then nothing is recorded

    def now_s(self) -> float:
        """Seconds since it began."""
        return self._clock.elapsed_ms / 1000

    def say(self, who: str, what: str) -> None:
        """Record an event, at the present time."""
        if self.is_mute:
            return
        at_ms = self._clock.elapsed_ms
        self._lines.append((at_ms, who, what))
        self._hash.update(f"{at_ms} {who} {what}\n".encode())

    def lines(self, last: int | None = None) -> list[str]:
        """The last `last` lines, or all."""
        shown = list(self._lines)[-last:] if last is not None else list(self._lines)
        return [f"{at_ms:>8} ms  {who:<14} {what}" for at_ms, who, what in shown]

    @property
    def trace(self) -> str:
        """A hash of all events so far. The same seed gives the same hash."""
        return self._hash.hexdigest()
