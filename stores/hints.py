"""The stream of hints that all backends share.

Rules
* A hint that is queued is not queued again: its reader reads after taking it, so it sees both changes.
* The queue is bounded. An overflow discards the hints and queues a Resync for every prefix. The last session events
  stay, since nothing else reports them.
* A stream has a lock, its own or that of its backend. It is entered itself and not through the Condition: Ctrl-C while
  a Condition is entered leaves the lock taken.
"""

from __future__ import annotations

import abc
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from .base import Changed, Closed, Depth, Resync, SessionChanged, StoreEvent, Subscription
from .checks import check_prefix


class Hints:
    """A queue of at most `events_max` events. `sessions_max`: how many session events survive an overflow. Callers hold
    the lock of the stream."""

    def __init__(self, events_max: int, sessions_max: int) -> None:
        self._events_max = events_max
        self._sessions_max = sessions_max
        self._queue: deque[StoreEvent] = deque()
        self._hinted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def push(self, event: StoreEvent, prefixes: Iterable[str]) -> None:
        """Queue an event, unless the same hint is queued. `prefixes`: what the stream watches."""
        if isinstance(event, Changed):
            if event.key in self._hinted:
                return
            self._hinted.add(event.key)
        self._queue.append(event)
        if len(self._queue) > self._events_max:
            resyncs = [Resync(prefix, "overflow") for prefix in dict.fromkeys(prefixes)]
            self._hinted.clear()
            self._queue = deque([*last_sessions(self._queue, self._sessions_max), *resyncs])

    def take(self) -> StoreEvent:
        """Take the next event. The queue must not be empty."""
        event = self._queue.popleft()
        if isinstance(event, Changed):
            self._hinted.discard(event.key)
        return event


def last_sessions(events: Iterable[object], most: int) -> list[SessionChanged]:
    """The last `most` session events of `events`."""
    return [event for event in events if isinstance(event, SessionChanged)][-most:]


class HintStream(Subscription):
    """A stream that its backend fills by `push`. A cursor is not needed: the first Resync, which makes the reader read,
    is queued when the watch has begun.

    A backend says how it begins and ends watches (`_watch`, `_unwatch`, `_unwatch_all`); both may be called with or
    without the lock. `end` is for the store that is closed.
    """

    def __init__(self, lock: Any, queue: Hints) -> None:
        self._lock: Final = lock
        self._awake: Final = threading.Condition(lock)
        self._queue: Final = queue
        self._prefixes: dict[str, None] = {}  # in the order of `add`
        self._closed = False
        self._store_closed = False

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:  # noqa: ARG002 - see the class
        """Watch `prefix` too."""
        check_prefix(prefix)
        with self._lock:
            if self._closed or self._store_closed:
                raise Closed("the subscription was closed")
            self._prefixes[prefix] = None
        self._watch(prefix, depth)

    def remove(self, prefix: str) -> None:
        """Stop watching `prefix`, at all depths."""
        with self._lock:
            self._prefixes.pop(prefix, None)
        self._unwatch(prefix)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event; the thread that queues it wakes the caller."""
        deadline_s = time.monotonic() + timeout_s
        with self._lock:
            while True:
                if self._closed:
                    return None
                if self._store_closed:
                    raise Closed("the store was closed")
                wait_s = self._work()
                if self._queue:
                    return self._queue.take()
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return None
                self._awake.wait(left_s if wait_s is None else max(min(left_s, wait_s), 0.001))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._awake.notify_all()
        self._unwatch_all()

    # For the backend

    def push(self, event: StoreEvent) -> None:
        """Queue an event, unless the same hint is queued already."""
        with self._lock:
            self._queue.push(event, self._prefixes)
            self._awake.notify_all()

    def resync(self, reason: str) -> None:
        with self._lock:
            for prefix in self._prefixes:
                self.push(Resync(prefix, reason))

    def wake(self) -> None:
        """Make a waiting `poll` look again."""
        with self._lock:
            self._awake.notify_all()

    def end(self) -> None:
        """The store was closed: polls raise Closed."""
        with self._lock:
            self._store_closed = True
            self._awake.notify_all()

    def _work(self) -> float | None:
        """What is to be done before the queue is looked at, with the lock held; in how many seconds again."""
        return None

    @abc.abstractmethod
    def _watch(self, prefix: str, depth: Depth) -> None: ...

    @abc.abstractmethod
    def _unwatch(self, prefix: str) -> None: ...

    @abc.abstractmethod
    def _unwatch_all(self) -> None: ...
