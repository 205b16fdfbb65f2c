"""The subscription of a client of a memory server."""

from __future__ import annotations

from ..base import Changed, Depth, Resync, StoreEvent
from ..hints import Hints, HintStream
from .server import MemoryServer
from .stream import Link


class MemorySubscription(HintStream):
    """A stream of a memory store; its lock is the server's. A disconnected client gets no hints: when it reconnects, a
    Resync stands for those that it missed. An overflow keeps at most as many session events as half its bound."""

    def __init__(self, server: MemoryServer, link: Link) -> None:
        most = server.queue_events_max
        super().__init__(server.lock, Hints(most, -(-most // 2)))
        self._server = server
        self._link = link

    def push(self, event: StoreEvent) -> None:
        """Queue an event, unless the same hint is queued or the client is disconnected."""
        if self._link.connected or not isinstance(event, Changed):
            super().push(event)

    def end(self) -> None:
        """The store was closed."""
        super().end()
        self._unwatch_all()

    def _work(self) -> float:
        """End the sessions that have timed out; a poll that waits does so in time."""
        self._server.tick()
        return self._server.next_expiry_s()

    def _watch(self, prefix: str, depth: Depth) -> None:
        with self._lock:
            self._server.watches.add(prefix, depth, self)
            self.push(Resync(prefix, "initial"))

    def _unwatch(self, prefix: str) -> None:
        with self._lock:
            self._server.watches.remove(prefix, self)

    def _unwatch_all(self) -> None:
        with self._lock:
            for prefix in self._prefixes:
                self._unwatch(prefix)
            if self in self._link.streams:
                self._link.streams.remove(self)
