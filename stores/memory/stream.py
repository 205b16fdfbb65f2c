"""The streams of hints of a memory server, and who watches what.

Rules
* A stream is a queue of hints (`stores.hints`); an overflow leaves as many session events as half of what it holds.
* A client that is cut off gets no hints. What it missed is told by a Resync when it comes back.
* Everything here is guarded by the server's lock, which is also the lock that `poll` waits on.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

import attrs

from stores.base import Changed, Closed, Depth, Resync, SessionChanged, SessionState, StoreEvent, Subscription
from stores.checks import check_prefix, parent
from stores.hints import Hints
from stores.memory.table import Touched

if TYPE_CHECKING:
    from stores.memory.server import MemoryServer


@attrs.define(eq=False)
class Link:
    """The connection of one client: its session as the client knows it, and its streams. While it is cut, the server
    may have ended the session without the client knowing."""

    session_id: int
    connected: bool = True
    closed: bool = False
    cut_at_s: float = 0.0  # when it was cut, by the server's clock
    streams: list[MemorySubscription] = attrs.Factory(list)

    def tell(self, *states: SessionState, session_id: int | None = None) -> None:
        """Queue session events on every stream, about this session unless another is named."""
        told = self.session_id if session_id is None else session_id
        for stream in self.streams:
            for state in states:
                stream.push(SessionChanged(state, told))

    def resync(self, reason: str) -> None:
        """Tell every stream to look again at all that it watches."""
        for stream in self.streams:
            stream.resync(reason)


@attrs.define(eq=False)
class Watches:
    """Which streams watch which prefix, one index per depth, so that a write costs two lookups."""

    by_depth: dict[Depth, dict[str, list[MemorySubscription]]] = attrs.Factory(lambda: {depth: {} for depth in Depth})

    def add(self, prefix: str, depth: Depth, stream: MemorySubscription) -> None:
        """Enter a watch; entering it twice is once."""
        streams = self.by_depth[depth].setdefault(prefix, [])
        if stream not in streams:
            streams.append(stream)

    def remove(self, prefix: str, stream: MemorySubscription) -> None:
        """Take out the watches of `stream` on `prefix`, whatever their depth."""
        for index in self.by_depth.values():
            streams = index.get(prefix, [])
            if stream in streams:
                streams.remove(stream)
                if not streams:
                    del index[prefix]

    def hint(self, touched: Touched) -> None:
        """Queue a hint on every stream that watches something of `touched`."""
        own, values, names = (self.by_depth[depth] for depth in (Depth.SELF, Depth.VALUES, Depth.CHILDREN))
        if own or values:
            for key in touched.keys:  # most are watched by nobody
                above = key[: key.rfind("/")] or "/"
                if key in own or above in values:
                    for stream in (*own.get(key, ()), *values.get(above, ())):
                        stream.push(Changed(key))
        if names:
            for key in touched.names:
                for stream in names.get(parent(key), ()):
                    stream.push(Changed(key))


class MemorySubscription(Subscription):
    """A stream of a memory store. `poll(0)` never waits; a `poll` that waits is woken by the commit itself."""

    def __init__(self, server: MemoryServer, link: Link) -> None:
        self._server = server
        self._link = link
        self._awake = threading.Condition(server.lock)
        most = server.queue_events_max
        self._queue: Final = Hints(most, -(-most // 2))
        self._prefixes: dict[str, None] = {}  # in the order of `add`
        self._closed = False

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:  # noqa: ARG002 - see below
        """Watch `prefix` too. The cursor is not needed here: the Resync that comes first makes the caller look."""
        check_prefix(prefix)
        with self._server.lock:
            self._demand_open()
            self._prefixes[prefix] = None
            self._server.watches.add(prefix, depth, self)
            self.push(Resync(prefix, "initial"))

    def remove(self, prefix: str) -> None:
        """Watch `prefix` no more."""
        with self._server.lock:
            self._prefixes.pop(prefix, None)
            self._server.watches.remove(prefix, self)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event. Also lets the server end the sessions whose time is over."""
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
        """Queue an event, unless it is a hint that is queued or the client is cut off."""
        if isinstance(event, Changed) and not self._link.connected:
            return
        self._queue.push(event, self._prefixes)
        self._awake.notify_all()

    def resync(self, reason: str) -> None:
        """Queue a Resync for every prefix that is watched."""
        for prefix in self._prefixes:
            self.push(Resync(prefix, reason))

    def wake(self) -> None:
        """Let a `poll` under way look again at the state of things."""
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
