"""A stream of hints (`kedge.stores.hints`) with a lock of its own, filled by the threads of the session."""

from __future__ import annotations

import threading
import time
from typing import Final, Protocol

from ..base import Closed, Depth, Resync, StoreEvent, Subscription
from ..checks import check_prefix
from ..hints import Hints

QUEUE_EVENTS_MAX: Final = 10_000


class Watcher(Protocol):
    """Watches for the streams of a client, and fills them (`kedge.stores.etcd.watches`)."""

    def add(self, stream: EtcdSubscription, prefix: str, depth: Depth) -> None: ...

    def remove(self, stream: EtcdSubscription, prefix: str) -> None: ...

    def forget(self, stream: EtcdSubscription) -> None: ...


class EtcdSubscription(Subscription):
    """A stream of an etcd store. It needs no cursor: its first Resync makes the reader read, and it is queued only
    after etcd has confirmed the watch."""

    def __init__(self, watches: Watcher) -> None:
        self._watches: Final = watches
        self._lock: Final = threading.RLock()  # entered itself, as in session.py
        self._awake: Final = threading.Condition(self._lock)
        self._queue: Final = Hints(QUEUE_EVENTS_MAX, QUEUE_EVENTS_MAX // 2)
        self._prefixes: dict[str, None] = {}  # in the order of `add`
        self._closed = False
        self._store_closed = False

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:  # noqa: ARG002 - see the class
        """Watch `prefix` too."""
        check_prefix(prefix)
        with self._lock:
            if self._closed:
                raise Closed("the subscription was closed")
            self._prefixes[prefix] = None
        self._watches.add(self, prefix, depth)

    def remove(self, prefix: str) -> None:
        """Stop watching `prefix`."""
        with self._lock:
            self._prefixes.pop(prefix, None)
        self._watches.remove(self, prefix)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event; the thread that queues it wakes the caller."""
        deadline_s = time.monotonic() + timeout_s
        with self._lock:
            while not self._queue and not self._closed:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return None
                self._awake.wait(left_s)
            if self._store_closed:
                raise Closed("the store was closed")
            return None if self._closed else self._queue.take()

    def close(self) -> None:
        """End the stream."""
        self._end(store_closed=False)
        self._watches.forget(self)

    # Called by the watcher

    def push(self, event: StoreEvent) -> None:
        """Queue an event, unless the same hint is queued already."""
        with self._lock:
            self._queue.push(event, self._prefixes)
            self._awake.notify_all()

    def resync(self, reason: str) -> None:
        """Queue a Resync for every prefix."""
        with self._lock:
            for prefix in self._prefixes:
                self.push(Resync(prefix, reason))

    def end(self) -> None:
        """End the stream because the store was closed."""
        self._end(store_closed=True)

    def _end(self, *, store_closed: bool) -> None:
        with self._lock:
            if not self._closed:
                self._closed, self._store_closed = True, store_closed
            self._awake.notify_all()
