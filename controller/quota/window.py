"""The rate in bytes per second over a window of 11 samples of 1 s: Kafka's `Rate` as ReplicationQuotaManager uses it.

Rules
* A sample begins with the first bytes after the end of the former one, and is dropped 11 s after it began.
* Bytes are divided by the time since the oldest sample began. If that is less than 10 whole seconds, it counts as 10
  and the fraction of the next one. So it is 10 to 11 s, also for a new window: a burst is spread over the window, and
  counts for as long as it is in it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

SAMPLES: Final = 11
SAMPLE_MS: Final = 1_000
_WINDOW_MS: Final = SAMPLES * SAMPLE_MS
_SPREAD_MS_MIN: Final = _WINDOW_MS - SAMPLE_MS


class RateWindow:
    """The bytes of the last 11 s. Times are whole milliseconds of any monotonic clock; one that goes back counts as
    standing still."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque()  # when it began, bytes
        self._total = 0
        self._last_ms: int | None = None

    def record(self, count: int, now_ms: int) -> None:
        """Add bytes. ValueError for a negative number."""
        if count < 0:
            raise ValueError(f"count must not be negative: {count}")
        now_ms = self._forget(now_ms)
        if self._samples and now_ms - self._samples[-1][0] < SAMPLE_MS:
            began_ms, before = self._samples.pop()
            self._samples.append((began_ms, before + count))
        else:
            self._samples.append((now_ms, count))
        self._total += count

    def total(self, now_ms: int) -> int:
        """How many bytes the window holds."""
        self._forget(now_ms)
        return self._total

    def rate(self, now_ms: int) -> float:
        """Bytes per second."""
        now_ms = self._forget(now_ms)
        return self._total * 1000 / _spread_ms(now_ms - self._samples[0][0]) if self._samples else 0.0

    def ms_until(self, limit: int, now_ms: int) -> int:
        """In how many milliseconds the rate is at most `limit` if nothing more is added; 0 if it is now."""
        now_ms = self._forget(now_ms)
        at_ms, left = now_ms, self._total
        for began_ms, count in self._samples:
            part_ms = (at_ms - began_ms) % SAMPLE_MS
            short_ms = -(-left * 1000 // limit) - _SPREAD_MS_MIN - part_ms
            if short_ms <= 0:
                break
            if short_ms + part_ms < SAMPLE_MS:
                at_ms += short_ms
                break
            at_ms, left = max(at_ms, began_ms + _WINDOW_MS), left - count
        return at_ms - now_ms

    def _forget(self, now_ms: int) -> int:
        """Drop old samples; return the time, which does not go back."""
        now_ms = now_ms if self._last_ms is None else max(now_ms, self._last_ms)
        self._last_ms = now_ms
        while self._samples and now_ms - self._samples[0][0] >= _WINDOW_MS:
            self._total -= self._samples.popleft()[1]
        return now_ms


def _spread_ms(since_ms: int) -> int:
    """The time by which bytes are divided if the oldest sample of the window began `since_ms` ago."""
    return max(since_ms, _SPREAD_MS_MIN + since_ms % SAMPLE_MS)
