"""The session of a client: one lease, kept alive over whichever endpoint answers.

Rules
* A thread renews the lease three times per lease time. If the connection breaks, or a renewal is not answered within a
  third of the lease time, it tries the endpoints in turn until one knows the lease. So a client that is cut off notices
  (Suspended) before the server can have ended its session.
* A renewal that returns no time to live means that the lease is gone: Lost, a new lease, Started.
* A connection is used only once it has answered, and calls wait for such a connection. A call that got none was
  therefore certainly not sent.
* Events are reported under the lock, in the order in which they happened.
"""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import Any, Final

from ..base import Closed, Invalid, Session, SessionState, Unauthorized
from .connection import Connection
from .errors import code_and_text, not_connected, translate, why_not
from .rpc import etcdrpc, grpc
from .url import EtcdUrl
from .wait import Deadline
from .watches import Watches

_BACKOFF_S: Final = (0.02, 1.0)  # first and longest, doubling
_ATTEMPT_S_MIN: Final = 0.5
_GOODBYE_S: Final = 1.0
_JOIN_S: Final = 2.0
_CLOSE_S: Final = _GOODBYE_S + _JOIN_S


class EtcdSession:
    """A lease, and the connection over which it is kept alive. Raises Unavailable if no endpoint answers within the
    url's connect_timeout, Unauthorized, Invalid."""

    def __init__(self, url: EtcdUrl, watches: Watches) -> None:
        self._url: Final = url
        self._watches: Final = watches
        self._lock: Final = threading.RLock()  # entered itself: Ctrl-C while a Condition is entered leaves it taken
        self._changed: Final = threading.Condition(self._lock)
        self._link: Connection | None = None
        self._dialing: Connection | None = None
        self._dials = random.randrange(len(url.endpoints))  # noqa: S311 - spreads clients over the endpoints
        self._failure: Exception | None = None  # why there is no connection
        self._lease_id = 0
        self._lease_s = 0
        self._lease_lost = False
        self._beat_now = False
        self._is_interrupted = False  # the connection was given up for Ctrl-C, and the next one is not there yet
        self._closed = False
        self._open(Deadline(url.connect_timeout))
        self._thread: Final = threading.Thread(target=self._keep, name="kedge-etcd-session", daemon=True)
        self._thread.start()

    @property
    def session(self) -> Session:
        """The id of the lease, and whether the server can be reached."""
        with self._lock:
            connected = self._link is not None and not self._closed
            return Session(self._lease_id, connected, "" if connected else why_not(self._failure, self._url.place))

    @property
    def lease_s(self) -> int:
        """The lease time that the server granted, which may exceed the requested one."""
        return self._lease_s

    @property
    def closed(self) -> bool:
        return self._closed

    def connection(self, deadline: Deadline, doing: str) -> Connection:
        """A connection that has answered. Raises Unavailable or Unauthorized at the deadline, Closed."""
        with self._lock:
            self._changed.wait_for(lambda: self._closed or self._link is not None, deadline.left_s)
            if self._closed:
                raise Closed("the store was closed")
            if self._link is None or deadline.over:
                raise not_connected(self._failure, doing, self._url.place)
            return self._link

    def look_now(self) -> None:
        """Check the lease at once: a call was refused because it is gone."""
        with self._lock:
            self._beat_now = True
            self._changed.notify_all()

    def close(self, *, give_back: bool = True) -> None:
        """End all threads, and with `give_back` the lease, if the server can be reached. Idempotent. A thread does it,
        for which _CLOSE_S are waited: Ctrl-C may have left a lock taken that gRPC has once in the process."""
        with self._lock:
            if give_back and self._is_interrupted:
                self._changed.wait_for(lambda: self._link is not None, _GOODBYE_S)
            if self._closed:
                return
            self._closed = True
            link, dialing, self._link = self._link, self._dialing, None
            self._changed.notify_all()
        given_back = link if give_back else None
        ending = threading.Thread(
            target=self._end, args=(given_back, link, dialing), name="kedge-etcd-end", daemon=True
        )
        ending.start()
        ending.join(_CLOSE_S)
        self._thread.join(_JOIN_S)

    def _end(self, over: Connection | None, *all_of_them: Connection | None) -> None:
        """Revoke the lease over a connection, if one is given, and close them all."""
        if over is not None:
            with suppress(grpc.RpcError, ValueError):  # the lease ends by itself
                over.call(over.lease.LeaseRevoke, etcdrpc.LeaseRevokeRequest(ID=self._lease_id), Deadline(_GOODBYE_S))
        for connection in all_of_them:
            if connection is not None:
                connection.close()
                connection.join(_JOIN_S)

    # Connecting

    def _open(self, deadline: Deadline) -> None:
        attempt_s = max(_ATTEMPT_S_MIN, deadline.left_s / len(self._url.endpoints))
        backoff_s = _BACKOFF_S[0]
        while not self._connected(min(attempt_s, deadline.left_s)):
            failure = self._failure
            assert failure is not None
            hopeless = isinstance(failure, Invalid) or isinstance(translate(failure, "connecting"), Unauthorized)
            if hopeless or deadline.left_s < backoff_s:
                self._closed = True
                raise not_connected(failure, "connecting", self._url.place) from failure
            backoff_s = self._pause(backoff_s)

    def _connected(self, timeout_s: float) -> bool:
        """Try the next endpoint; return whether there is a connection now. If not, `_failure` says why."""
        endpoint = self._url.endpoints[self._dials % len(self._url.endpoints)]
        self._dials += 1
        try:
            link = Connection(self._url, endpoint, self._drop)
        except Invalid as error:
            self._failure = error
            return False
        with self._lock:
            self._dialing = None if self._closed else link
        try:
            if self._closed:
                return False
            deadline = Deadline(timeout_s)
            link.log_in(deadline)
            granted = self._lease_over(link, deadline)
            return self._adopt(link, granted)
        except Exception as error:  # noqa: BLE001 - after any error the thread tries again
            if self._failure is None or code_and_text(error)[0] != "DEADLINE_EXCEEDED":
                self._failure = error  # a timeout explains less than an earlier error
            return False
        except (KeyboardInterrupt, SystemExit):
            link.is_interrupted = True
            raise
        finally:
            if self._link is not link:
                link.close()
            self._dialing = None

    def _lease_over(self, link: Connection, deadline: Deadline) -> Any:
        """None if the lease is alive; otherwise the answer that granted a new one."""
        if self._lease_id and not self._lease_lost:
            if link.beat(self._lease_id, deadline.left_s):
                return None
            self._lose()
        return link.call(link.lease.LeaseGrant, etcdrpc.LeaseGrantRequest(TTL=self._url.session_timeout), deadline)

    def _adopt(self, link: Connection, granted: Any) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._link, self._failure, self._is_interrupted = link, None, False
            link.listen(lambda answer: self._watches.take(link, answer))
            self._watches.attach(link)
            if granted is None:
                self._watches.tell(SessionState.RESUMED, self._lease_id)
            else:
                self._begin(granted)
            self._changed.notify_all()
            return True

    def _begin(self, granted: Any) -> None:
        """Take over a new lease. The lock is held."""
        first = not self._lease_id
        self._lease_id, self._lease_s, self._lease_lost = int(granted.ID), int(granted.TTL), False
        if not first:
            self._watches.tell(SessionState.STARTED, self._lease_id)
            self._watches.resync("session")

    def _lose(self) -> None:
        with self._lock:
            self._lease_lost = True
            self._watches.tell(SessionState.LOST, self._lease_id)

    def _drop(self, link: Connection) -> None:
        """Drop a connection that failed. Called by the thread that reads it, or by the session's thread."""
        with self._lock:
            if self._link is link:
                self._link, self._is_interrupted = None, link.is_interrupted
                self._watches.detach()
                self._watches.tell(SessionState.SUSPENDED, self._lease_id)
                self._changed.notify_all()
        link.close()

    # The thread

    def _keep(self) -> None:
        backoff_s = _BACKOFF_S[0]
        while not self._closed:
            link = self._link
            if link is not None:
                backoff_s = _BACKOFF_S[0]
                self._beat(link)
            elif not self._connected(max(_ATTEMPT_S_MIN, min(self._url.connect_timeout, self._lease_s / 4))):
                backoff_s = self._pause(backoff_s)

    def _beat(self, link: Connection) -> None:
        """Wait until a renewal is due, unless the connection ends before, and renew the lease."""
        beat_s = self._lease_s / 3
        with self._lock:
            self._changed.wait_for(lambda: self._closed or self._beat_now or self._link is not link, beat_s)
            self._beat_now = False
            if self._closed or self._link is not link:
                return
        try:
            granted = self._lease_over(link, Deadline(beat_s))
        except Exception as error:  # noqa: BLE001 - as in _connected
            self._failure = error
            self._drop(link)
            return
        if granted is not None:
            with self._lock:
                self._begin(granted)

    def _pause(self, backoff_s: float) -> float:
        """Wait, unless the store is closed meanwhile; return the next waiting time."""
        with self._lock:
            self._changed.wait_for(lambda: self._closed, backoff_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        return min(2 * backoff_s, _BACKOFF_S[1])
