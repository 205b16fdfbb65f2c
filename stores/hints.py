"""The queue of one stream, shared by all backends.

Rules
* A hint that is queued is not queued again: its reader reads after taking it, so it sees both changes.
* The queue is bounded. An overflow discards the hints and queues a Resync for every prefix. The last session events
  stay, since nothing else reports them.
* Not thread-safe: callers hold the lock of the stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from .base import Changed, Resync, SessionChanged, StoreEvent


class Hints:
    """A queue of at most `events_max` events. `sessions_max`: how many session events survive an overflow."""

    def __init__(self, events_max: int, sessions_max: int) -> None:
        self._events_max = events_max
        self._sessions_max = sessions_max
        self._queue: deque[StoreEvent] = deque()
        self._hinted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __iter__(self) -> Iterator[StoreEvent]:
        """The queued events in order, without taking them."""
        return iter(self._queue)

    def push(self, event: StoreEvent, prefixes: Iterable[str]) -> None:
        """Queue an event, unless the same hint is queued. `prefixes`: what the stream watches."""
        if isinstance(event, Changed):
            if event.key in self._hinted:
                return
            self._hinted.add(event.key)
        self._queue.append(event)
        if len(self._queue) > self._events_max:
            self._overflow(prefixes)

    def take(self) -> StoreEvent:
        """Take the next event. The queue must not be empty."""
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
    """The last `most` session events of `events`."""
    return [event for event in events if isinstance(event, SessionChanged)][-most:]
