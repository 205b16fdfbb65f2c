"""The subscription of a client of a memory server.

Rules
* A stream is a queue of hints (`kedge.stores.hints`). An overflow keeps at most as many session events as half its
  bound.
* A disconnected client gets no hints. When it reconnects, a Resync stands for those that it missed.
* `poll` waits on the server's lock.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from ..base import Changed, Closed, Depth, Resync, StoreEvent, Subscription
from ..checks import check_prefix
from ..hints import Hints
from .server import MemoryServer
from .stream import Link


class MemorySubscription(Subscription):
    """A stream of a memory store. `poll(0)` never waits; a commit wakes a waiting `poll` directly."""

    def __init__(self, server: MemoryServer, link: Link) -> None:
        self._server = server
        self._link = link
        self._awake = threading.Condition(server.lock)
        most = server.queue_events_max
        self._queue: Final = Hints(most, -(-most // 2))
        self._prefixes: dict[str, None] = {}  # in the order of `add`
        self._closed = False

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:  # noqa: ARG002 - see below
        """Watch `prefix` too. The cursor is not needed: the first Resync makes the caller read."""
        check_prefix(prefix)
        with self._server.lock:
            self._demand_open()
            self._prefixes[prefix] = None
            self._server.watches.add(prefix, depth, self)
            self.push(Resync(prefix, "initial"))

    def remove(self, prefix: str) -> None:
        """Stop watching `prefix`."""
        with self._server.lock:
            self._prefixes.pop(prefix, None)
            self._server.watches.remove(prefix, self)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event. Also makes the server end sessions that have timed out."""
        with self._server.lock:
            self._server.tick()
            if not self._queue and not self._closed and timeout_s > 0:
                self._wait(time.monotonic() + timeout_s)
            if self._closed:
                if self._link.closed:
                    raise Closed("the store was closed")
                return None
            return self._queue.take() if self._queue else None

    def close(self) -> None:
        """End the stream."""
        with self._server.lock:
            self._closed = True
            for prefix in list(self._prefixes):
                self.remove(prefix)
            if self in self._link.streams:
                self._link.streams.remove(self)
            self.wake()

    # Called by the server, with its lock held

    def push(self, event: StoreEvent) -> None:
        """Queue an event, unless the same hint is queued or the client is disconnected."""
        if isinstance(event, Changed) and not self._link.connected:
            return
        self._queue.push(event, self._prefixes)
        self._awake.notify_all()

    def resync(self, reason: str) -> None:
        """Queue a Resync for every watched prefix."""
        for prefix in self._prefixes:
            self.push(Resync(prefix, reason))

    def wake(self) -> None:
        """Make a waiting `poll` check the state again."""
        self._awake.notify_all()

    def _wait(self, deadline_s: float) -> None:
        while not self._queue and not self._closed:
            left_s = min(deadline_s - time.monotonic(), self._server.next_expiry_s())
            if left_s <= 0 and deadline_s <= time.monotonic():
                return
            self._awake.wait(max(left_s, 0.001))
            self._server.tick()

    def _demand_open(self) -> None:
        if self._closed or self._link.closed:
            raise Closed("the subscription was closed")
