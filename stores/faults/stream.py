"""A stream of hints that the plan may drop or double."""

from __future__ import annotations

import time
from collections import deque

from ..base import Changed, Depth, Resync, StoreEvent, Subscription
from .plan import DoubleEvent, DropEvent, Script

_SLICE_S = 0.02  # how late a waiting poll may notice a forced Resync


class FaultSubscription(Subscription):
    """A stream whose hints the plan may drop or double (rules named "event"). Session events are not affected: a lost
    one would test nothing about the reader."""

    def __init__(self, inner: Subscription, script: Script, prefix: str) -> None:
        self._inner = inner
        self._script = script
        self._prefixes: dict[str, None] = {prefix: None}
        self._extra: deque[StoreEvent] = deque()
        self.closed = False

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:
        self._inner.add(prefix, depth, cursor)
        self._prefixes[prefix] = None

    def remove(self, prefix: str) -> None:
        self._inner.remove(prefix)
        self._prefixes.pop(prefix, None)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event that is not dropped. A forced Resync wakes a waiting poll within 20 ms."""
        if timeout_s <= 0:
            return self._step(0.0)
        deadline_s = time.monotonic() + timeout_s
        left_s = timeout_s
        while left_s > 0 and not self.closed:
            event = self._step(min(left_s, _SLICE_S))
            if event is not None:
                return event
            left_s = deadline_s - time.monotonic()
        return None

    def close(self) -> None:
        self.closed = True
        self._inner.close()

    def force_resync(self) -> None:
        """Queue a Resync "injected" for every prefix."""
        self._extra.extend(Resync(prefix, "injected") for prefix in list(self._prefixes))

    def _step(self, timeout_s: float) -> StoreEvent | None:
        """The next event. None also if one was dropped while waiting."""
        while not self._extra:
            event = self._inner.poll(timeout_s)
            if not isinstance(event, Changed | Resync):
                return event
            faults = self._script.begin("event", (event.key if isinstance(event, Changed) else event.prefix,))[1]
            if any(isinstance(fault, DropEvent) for fault in faults):
                continue
            if any(isinstance(fault, DoubleEvent) for fault in faults):
                self._extra.append(event)
            return event
        return self._extra.popleft()
