"""The watches of a client, over whichever connection there is.

Rules
* Each prefix of a stream is one watch of etcd: on the key itself, or on the range below it for names and values. etcd
  cannot watch one level only, so events from deeper levels are skipped here.
* The Resync "initial" is queued when etcd has confirmed the watch, not before: so no change is missed between the watch
  and the first read.
* Each watch remembers the next revision. On a new connection it continues there, so nothing is missed and no Resync is
  needed. If etcd has compacted that revision: Resync "compacted". If etcd never had it, because its data were restored
  from an older state: Resync "reconnected".
* A watch starts at the revision before that one, whose events are known: an etcd compacted at the revision of a
  deletion does not report the deletion to a watch that starts there (etcd issue 18089).
* A refused watch is tried once over a new connection, since the token of the old one may have expired. If it is refused
  again, the reader gets a Resync, and its read is refused too.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import attrs

from ..base import Changed, Closed, Depth, Resync, SessionChanged, SessionState
from ..checks import below
from ..hints import Hints, HintStream
from .connection import Connection
from .keys import Keys
from .rpc import etcdrpc

_QUEUE_EVENTS_MAX: Final = 10_000


class EtcdSubscription(HintStream):
    """A stream of an etcd store, filled by the threads of the session."""

    def __init__(self, watches: Watches) -> None:
        super().__init__(threading.RLock(), Hints(_QUEUE_EVENTS_MAX, _QUEUE_EVENTS_MAX // 2))
        self._watches: Final = watches

    def _watch(self, prefix: str, depth: Depth) -> None:
        self._watches.add(self, prefix, depth)

    def _unwatch(self, prefix: str) -> None:
        self._watches.remove(self, prefix)

    def _unwatch_all(self) -> None:
        self._watches.forget(self)


@attrs.define(eq=False)
class _Watch:
    number: int
    stream: EtcdSubscription
    prefix: str
    depths: set[Depth]
    reasons: list[str]  # a Resync for each, once the watch is confirmed
    revision: int = 0  # where to continue; 0: from now
    stands: bool = False
    refused: bool = False

    @property
    def ranged(self) -> bool:
        return Depth.SELF not in self.depths


class Watches:
    """The streams of one client, and their watches. Lock order: the session's lock, this one, a stream's."""

    def __init__(self, keys: Keys) -> None:
        self._keys: Final = keys
        self._lock: Final = threading.RLock()
        self._link: Connection | None = None
        self._streams: list[EtcdSubscription] = []
        self._watches: dict[int, _Watch] = {}
        self._last_number = 0
        self._closed = False
        self.revision = 0  # the highest revision of a hint: a read after a hint must not be older

    # For streams

    def open(self) -> EtcdSubscription:
        """A new stream without watches. Raises Closed."""
        stream = EtcdSubscription(self)
        with self._lock:
            if self._closed:
                raise Closed("the store was closed")
            self._streams.append(stream)
        return stream

    def add(self, stream: EtcdSubscription, prefix: str, depth: Depth) -> None:
        """Watch; the Resync "initial" follows once etcd has confirmed."""
        with self._lock:
            watch = self._found(stream, prefix, ranged=depth is not Depth.SELF)
            if watch is None:
                self._start(_Watch(0, stream, prefix, {depth}, ["initial"]))
                return
            watch.depths.add(depth)
            watch.reasons.append("initial")
            if watch.stands:
                self._stands(watch)

    def remove(self, stream: EtcdSubscription, prefix: str) -> None:
        """Stop watching `prefix` for this stream, at all depths."""
        with self._lock:
            for watch in [watch for watch in self._watches.values() if watch.stream is stream]:
                if watch.prefix == prefix:
                    self._stop(watch)

    def forget(self, stream: EtcdSubscription) -> None:
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)
            for watch in [watch for watch in self._watches.values() if watch.stream is stream]:
                self._stop(watch)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            streams, self._streams, self._link = self._streams, [], None
            self._watches.clear()
        for stream in streams:
            stream.end()

    # For the session

    def attach(self, link: Connection) -> None:
        with self._lock:
            self._link = link
            for watch in self._watches.values():
                watch.stands = False
                self._ask(watch)

    def detach(self) -> None:
        with self._lock:
            self._link = None

    def tell(self, state: SessionState, session_id: int) -> None:
        """Queue a session event in every stream."""
        with self._lock:
            for stream in self._streams:
                stream.push(SessionChanged(state, session_id))

    def resync(self, reason: str) -> None:
        """Queue a Resync for every prefix of every stream."""
        with self._lock:
            for stream in self._streams:
                stream.resync(reason)

    def take(self, link: Connection, answer: Any) -> None:
        """Process an answer of the Watch stream of `link`."""
        with self._lock:
            watch = self._watches.get(answer.watch_id) if link is self._link else None
            if watch is None:
                return  # for a watch that was removed
            if answer.canceled:
                self._cancelled(watch, answer)
            elif answer.created:
                self._created(watch, answer.header.revision)
            else:
                self._hint(watch, answer)

    # Inside, with the lock held

    def _found(self, stream: EtcdSubscription, prefix: str, *, ranged: bool) -> _Watch | None:
        of_stream = (watch for watch in self._watches.values() if watch.stream is stream and watch.prefix == prefix)
        return next((watch for watch in of_stream if watch.ranged is ranged), None)

    def _start(self, watch: _Watch) -> None:
        self._last_number += 1  # never reused, so that a late answer matches no other watch
        watch.number = self._last_number
        self._watches[watch.number] = watch
        self._ask(watch)

    def _stop(self, watch: _Watch) -> None:
        del self._watches[watch.number]
        if self._link is not None:
            cancel = etcdrpc.WatchCancelRequest(watch_id=watch.number)
            self._link.ask(etcdrpc.WatchRequest(cancel_request=cancel))

    def _ask(self, watch: _Watch) -> None:
        if self._link is None:
            return
        first, end = self._keys.below(watch.prefix) if watch.ranged else (self._keys.of(watch.prefix), b"")
        create = etcdrpc.WatchCreateRequest(
            key=first,
            range_end=end,
            start_revision=watch.revision and watch.revision - 1,
            progress_notify=True,
            watch_id=watch.number,
        )
        self._link.ask(etcdrpc.WatchRequest(create_request=create))

    def _again(self, watch: _Watch, reason: str) -> None:
        """Watch from now on, and queue a Resync with `reason` once that is confirmed."""
        self._stop(watch)
        watch.revision, watch.stands = 0, False
        watch.reasons.append(reason)
        self._start(watch)

    def _created(self, watch: _Watch, revision: int) -> None:
        if watch.revision > revision + 1:
            self._again(watch, "reconnected")
            return
        watch.refused = False
        watch.revision = watch.revision or revision + 1
        self._stands(watch)

    def _stands(self, watch: _Watch) -> None:
        watch.stands = True
        reasons, watch.reasons = watch.reasons, []
        for reason in reasons:
            watch.stream.push(Resync(watch.prefix, reason))

    def _cancelled(self, watch: _Watch, answer: Any) -> None:
        if answer.compact_revision:
            self._again(watch, "compacted")
        elif not watch.refused:
            watch.refused = True
            assert self._link is not None  # the answer came over it
            self._link.close()
        else:
            watch.reasons.append("reconnected")
            self._stands(watch)
            watch.stands = False

    def _hint(self, watch: _Watch, answer: Any) -> None:
        if not answer.events:  # etcd reports its progress
            watch.revision = max(watch.revision, answer.header.revision + 1)
            return
        events = [event for event in answer.events if event.kv.mod_revision >= watch.revision]
        if not events:
            return
        cut = len(self._keys.of(below(watch.prefix))) if watch.ranged else 0
        last = events[-1].kv.mod_revision
        watch.revision = last + 1
        self.revision = max(self.revision, last)  # before the hints, since a reader may read at once
        for event in events:
            self._look(watch, event, cut)

    def _look(self, watch: _Watch, event: Any, cut: int) -> None:
        """Queue a hint for an event if it concerns what is watched."""
        kv = event.kv
        raw = kv.key
        if cut:
            deeper = raw.find(b"/", cut)
            came_or_went = event.type == etcdrpc.Event.DELETE or kv.create_revision == kv.mod_revision
            wanted = Depth.CHILDREN in watch.depths and came_or_went
            if not wanted and not (Depth.VALUES in watch.depths and deeper < 0):
                return
            raw = raw[:deeper] if deeper >= 0 else raw
        key = self._keys.key(raw)
        if key is not None:
            watch.stream.push(Changed(key))
