"""The queue of one stream of a store, as every backend has it.

Rules
* A hint that is queued already is not queued again: it says "look", and the look comes after it was taken.
* It is bounded: an overflow throws the hints away and says Resync for every prefix. The last session events stay, since
  nothing else would tell of them.
* Not thread-safe: it belongs to whoever holds the lock of its stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from stores.base import Changed, Resync, SessionChanged, StoreEvent


class Hints:
    """Events to be taken in their order, `events_max` at the most; `sessions_max`: session events that survive an
    overflow."""

    def __init__(self, events_max: int, sessions_max: int) -> None:
        self._events_max = events_max
        self._sessions_max = sessions_max
        self._queue: deque[StoreEvent] = deque()
        self._hinted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __iter__(self) -> Iterator[StoreEvent]:
        """What is queued, in its order; nothing is taken."""
        return iter(self._queue)

    def push(self, event: StoreEvent, prefixes: Iterable[str]) -> None:
        """Queue an event, unless it is a hint that is queued. `prefixes`: what the stream watches."""
        if isinstance(event, Changed):
            if event.key in self._hinted:
                return
            self._hinted.add(event.key)
        self._queue.append(event)
        if len(self._queue) > self._events_max:
            self._overflow(prefixes)

    def take(self) -> StoreEvent:
        """The next event; there is one."""
        event = self._queue.popleft()
        if isinstance(event, Changed):
            self._hinted.discard(event.key)
        return event

    def _overflow(self, prefixes: Iterable[str]) -> None:
        self._hinted.clear()
        self._queue = deque(
            [
                *last_sessions(self._queue, self._sessions_max),
                *(Resync(prefix, "overflow") for prefix in dict.fromkeys(prefixes)),
            ]
        )


def last_sessions(events: Iterable[object], most: int) -> list[SessionChanged]:
    """The last session events among `events`."""
    return [event for event in events if isinstance(event, SessionChanged)][-most:]
