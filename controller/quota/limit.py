"""One limit: a window over the past, as in Kafka, and a pace that says how much may be sent now.

A host with large fetches calls `is_exceeded()` before each of them, as Kafka's brokers do: a window then holds at most
the limit and one fetch. But an empty window has room for 10 s worth of bytes, so they are sent at once, and again 11 s
later: twice the limit over some 11 s. A host that can limit the size of a fetch calls `allowance()` instead: over any
time, it sends the bytes of the limit for that time, of PACE_MS more, and the excess of the last fetch over its
allowance. PACE_MS is within 5 % of the window, and long enough for a host that calls a few times per second.

A changed limit applies at once. The window keeps the bytes sent before (after a reduction the limit may be exceeded for
up to 11 s, as in Kafka). The pace continues at the new limit, and waits for bytes that were sent ahead of it no longer
than before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..model.throttle_configs import UNLIMITED, is_rate
from .window import RateWindow

PACE_MS: Final = 250


class ReplicationQuota:
    """At most `limit` bytes per second; UNLIMITED means no limit. `clock_ms`: a monotonic clock."""

    def __init__(self, clock_ms: Callable[[], int], limit: int = UNLIMITED) -> None:
        self._clock_ms = clock_ms
        self._window = RateWindow()
        self._limit = UNLIMITED
        self._credit = 0.0  # bytes that may be sent by the pace; negative: bytes that were sent ahead of it
        self._credited_ms = clock_ms()
        self.limit = limit

    @property
    def limit(self) -> int:
        """Bytes per second."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        """Bytes per second."""
        if not is_rate(limit):
            raise ValueError(f"limit must be 1 to 2^63-1 bytes per second, not {limit!r}")
        self._accrue()
        self._credit = 0.0 if UNLIMITED in {self._limit, limit} else self._at(limit)
        self._limit = limit

    def _at(self, limit: int) -> float:
        """The credit under another limit. Bytes ahead of the pace take as long as under the former limit, but do not
        count for more than were sent: otherwise a record that took an hour at one byte per second would still take an
        hour after the limit is raised."""
        scaled = self._credit / self._limit * limit
        return scaled if self._credit >= 0 else max(scaled, self._credit)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit != UNLIMITED

    def record(self, count: int) -> None:
        """Count bytes that were sent. ValueError for a negative number."""
        self._window.record(count, self._clock_ms())
        if self.is_limited:
            self._accrue()
            self._credit -= count

    def rate(self) -> float:
        """Bytes per second over the window."""
        return self._window.rate(self._clock_ms())

    def is_exceeded(self) -> bool:
        """Whether the rate is above the limit: fetch nothing now."""
        return self.is_limited and self.rate() > self._limit

    def delay_ms(self) -> int:
        """In how many milliseconds it is no longer exceeded if nothing is sent meanwhile; 0: it is not exceeded."""
        return self._window.ms_until(self._limit, self._clock_ms()) if self.is_limited else 0

    def delay(self) -> float:
        """As `delay_ms`, in seconds."""
        return self.delay_ms() / 1000

    def allowance(self) -> int:
        """How many bytes may be sent now at an even pace; 0: wait. UNLIMITED without a limit. If it is above 0, a fetch
        may take one larger record, which could otherwise never be sent; the excess is waited for afterwards."""
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
