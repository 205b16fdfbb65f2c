"""The stream of one subscription: hints of several prefixes and the events of the session, in one order.

Rules
* kazoo's threads put jobs into the inbox; `poll` runs them and returns the events. See `kedge.stores.zookeeper.watch`.
* After a reconnect all watches are set again, and then each prefix gets a Resync.
* A watch that cannot be set while connected is tried again a little later, not in a loop.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from ..base import Depth, SessionChanged
from ..hints import Hints, HintStream, last_sessions
from .link import Link
from .watch import Watch

EVENTS_MAX: Final = 10_000
_SESSION_EVENTS_MAX: Final = 100  # kept for a reader that does not poll
_RETRY_S: Final = 0.2

Job: TypeAlias = Callable[[], None] | SessionChanged


class ZooKeeperSubscription(HintStream):
    """A stream of a ZooKeeper store. `poll` from one thread at a time; it also sets watches again that fired, so a
    stream that is not polled stays silent, but loses nothing."""

    def __init__(self, link: Link) -> None:
        super().__init__(threading.RLock(), Hints(EVENTS_MAX, _SESSION_EVENTS_MAX))
        self._link = link
        self._inbox: deque[Job] = deque()
        self._watches: list[Watch] = []
        self._retry_at_s: float | None = None
        link.attach(self)

    def _watch(self, prefix: str, depth: Depth) -> None:
        with self._lock:
            watch = Watch(self._link, prefix, depth, self, self.push)
            self._watches.append(watch)
            self.put(lambda: self._arm(watch))

    def _unwatch(self, prefix: str) -> None:
        with self._lock:
            for watch in self._watches:
                if watch.prefix == prefix:
                    watch.remove()
            self._watches = [watch for watch in self._watches if watch.prefix != prefix]

    def _unwatch_all(self) -> None:
        with self._lock:
            for watch in self._watches:
                watch.remove()
            self._inbox.clear()
        self._link.detach(self)

    # From kazoo's threads

    def put(self, job: Job) -> None:
        """Make the next poll run `job`, or queue a session event."""
        with self._lock:
            if self._closed:
                return
            self._inbox.append(job)
            if len(self._inbox) > EVENTS_MAX:  # nothing polls: setting all watches again replaces the queued jobs
                sessions = last_sessions(self._inbox, _SESSION_EVENTS_MAX)
                self._inbox = deque([*sessions, lambda: self._arm_all("overflow")])
            self._awake.notify_all()

    def told(self, *events: SessionChanged) -> None:
        """Queue session events."""
        for event in events:
            self.put(event)

    def connected(self, reason: str) -> None:
        """Set all watches again."""
        self.put(lambda: self._arm_all(reason))

    # On the polling thread, with the lock held

    def _work(self) -> float | None:
        while self._inbox:
            job = self._inbox.popleft()
            if isinstance(job, SessionChanged):
                self.push(job)
            else:
                job()
        for watch in self._watches:
            watch.go_on()
        failed = any(watch.failed for watch in self._watches)
        if not failed or not self._link.session.connected:
            self._retry_at_s = None  # the next connection sets all watches
        elif self._retry_at_s is None:
            self._retry_at_s = time.monotonic() + _RETRY_S
        elif time.monotonic() >= self._retry_at_s:
            self._retry_at_s = None
            for watch in [watch for watch in self._watches if watch.failed]:
                watch.arm("reconnected")
        return None if self._retry_at_s is None else _RETRY_S

    def _arm(self, watch: Watch) -> None:
        if watch in self._watches and self._link.session.connected:  # otherwise the next connection sets it
            watch.arm("initial")

    def _arm_all(self, reason: str) -> None:
        for watch in self._watches:
            watch.arm(reason)
