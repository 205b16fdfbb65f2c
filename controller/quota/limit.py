"""One limit: a window that looks back, as Kafka has it, and a pace that says how much may go now.

A host with large fetches asks `is_exceeded()` before each of them, as Kafka's brokers do: what goes in the window is
then the limit and one fetch at most. But a window that is empty holds 10 s worth of bytes, so they go at once, and
again 11 s later: over some 11 s it is twice the limit. A host that can fetch as little as it is told asks `allowance()`
instead: over any time it is what the limit gives for that time, PACE_MS more, and what the last fetch took beyond its
allowance. PACE_MS is within 5 % of the window, and long enough for a host that asks some times a second.

A change of the limit holds at once. For the window what went before counts as it is (a limit that is lowered may be
exceeded for up to 11 s, as in Kafka); the pace goes on at the new limit, and waits for what went ahead of it no longer
than before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller.model.throttle_configs import UNLIMITED, is_rate
from controller.quota.window import RateWindow

PACE_MS: Final = 250


class ReplicationQuota:
    """At most `limit` bytes a second, UNLIMITED for as many as there are. `clock_ms`: a monotonic clock."""

    def __init__(self, clock_ms: Callable[[], int], limit: int = UNLIMITED) -> None:
        self._clock_ms = clock_ms
        self._window = RateWindow()
        self._limit = UNLIMITED
        self._credit = 0.0  # bytes that the pace has to give; less than nothing: bytes that went ahead of it
        self._credited_ms = clock_ms()
        self.limit = limit

    @property
    def limit(self) -> int:
        """Bytes a second."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if not is_rate(limit):
            raise ValueError(f"a limit is 1 to 2^63-1 bytes a second, not {limit!r}")
        self._accrue()
        self._credit = 0.0 if UNLIMITED in {self._limit, limit} else self._at(limit)
        self._limit = limit

    def _at(self, limit: int) -> float:
        """The credit under another limit. What went ahead of the pace is waited for as long as under the former limit;
        but not for more bytes than went, or a record that took an hour of a byte a second would take it still when the
        limit is raised."""
        scaled = self._credit / self._limit * limit
        return scaled if self._credit >= 0 else max(scaled, self._credit)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit != UNLIMITED

    def record(self, count: int) -> None:
        """`count` bytes went. ValueError for a negative number."""
        self._window.record(count, self._clock_ms())
        if self.is_limited:
            self._accrue()
            self._credit -= count

    def rate(self) -> float:
        """Bytes a second over the window."""
        return self._window.rate(self._clock_ms())

    def is_exceeded(self) -> bool:
        """Whether the rate is above the limit: nothing more is to be fetched just now."""
        return self.is_limited and self.rate() > self._limit

    def delay_ms(self) -> int:
        """In how many milliseconds it is not exceeded any more if nothing goes meanwhile; 0: it is not."""
        return self._window.ms_until(self._limit, self._clock_ms()) if self.is_limited else 0

    def delay(self) -> float:
        """As `delay_ms`, in seconds."""
        return self.delay_ms() / 1000

    def allowance(self) -> int:
        """How many bytes may go now at an even pace; 0: wait. UNLIMITED without a limit. Where it is above 0 a fetch
        may take one record that is larger, since it would never go otherwise: what it took too much is waited for."""
        if not self.is_limited:
            return UNLIMITED
        self._accrue()
        return max(0, int(self._credit))

    def _accrue(self) -> None:
        now_ms = max(self._clock_ms(), self._credited_ms)
        if self.is_limited:
            earned = self._credit + self._limit * (now_ms - self._credited_ms) / 1000
            self._credit = min(earned, max(1.0, self._limit * PACE_MS / 1000))
        self._credited_ms = now_ms
