"""The rate at which brokers copied over the last minutes, for the plot of the status page."""

from __future__ import annotations

from collections import deque
from typing import Final

HISTORY_MS: Final = 300_000
HISTORY_STEP_MS: Final = 2_000


class History:
    """The rate of a counter over the last `HISTORY_MS`, as a point for every `HISTORY_STEP_MS` or longer."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, float]] = deque()
        self._last: tuple[int, int] | None = None

    def read(self, now_ms: int, total: int) -> None:
        """The counter, which never falls, is at `total` now. A reading too soon after the last one is passed over."""
        if self._last is not None:
            at_ms, before = self._last
            if now_ms - at_ms < HISTORY_STEP_MS:
                return
            self._points.append((now_ms, max(0, total - before) * 1000 / (now_ms - at_ms)))
        self._last = (now_ms, total)
        while self._points and self._points[0][0] < now_ms - HISTORY_MS:
            self._points.popleft()

    def points(self, now_ms: int) -> list[tuple[int, float]]:
        """Milliseconds ago and bytes per second, oldest first."""
        return [(now_ms - at_ms, rate) for at_ms, rate in self._points]
