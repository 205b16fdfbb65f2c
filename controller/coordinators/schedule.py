"""What is due when, by keys that clients invent: a heap of times, with few entries that have no effect any more."""

from __future__ import annotations

import heapq
from typing import Final

_STALE_MAX: Final = 100
"""How many entries may be without effect, beside one for each key."""


class Schedule:
    """A key is due once, at the earliest time that was set for it."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._due_ms: dict[str, int] = {}

    def set(self, key: str, due_ms: int | None) -> None:
        """The key is due then, unless it is due earlier. None: nothing changes."""
        present_ms = self._due_ms.get(key)
        if due_ms is None or (present_ms is not None and present_ms <= due_ms):
            return
        self._due_ms[key] = due_ms
        heapq.heappush(self._heap, (due_ms, key))
        if len(self._heap) > 2 * len(self._due_ms) + _STALE_MAX:
            self._heap = [(ms, each) for each, ms in self._due_ms.items()]
            heapq.heapify(self._heap)

    def drop(self, key: str) -> None:
        """The key is never due."""
        self._due_ms.pop(key, None)

    def due(self, now_ms: int) -> list[str]:
        """The keys that are due, each once. Those that are set to be due again by now come with the next call."""
        found = []
        while self._heap and self._heap[0][0] <= now_ms:
            ms, key = heapq.heappop(self._heap)
            if self._due_ms.get(key) == ms:
                del self._due_ms[key]
                found.append(key)
        return found

    @property
    def next_ms(self) -> int | None:
        """When to look next, None if nothing is due ever."""
        return self._heap[0][0] if self._heap else None
