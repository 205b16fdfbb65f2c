"""The connection of one client: its session, its requests, and the streams that get its session events.

Rules
* kazoo's threads only set fields and enqueue; they never call ZooKeeper.
* A request is sent only while the client is connected. Otherwise Unavailable is raised at once, and nothing is sent.
* A new connection may have a new session without any notice from kazoo: session ids are compared.
* kazoo ends its loop for good on an answer that it cannot parse, and it ends if a client that was accepted before is
  refused later. It is then started again, with a new session, each time after a longer pause.
* Nothing here retries: kazoo reconnects by itself, and requests are sent once.
* A server that answers nothing for most of the session time is replaced by another. kazoo sends a ping only when it has
  sent nothing for a while, so a busy client would stay with a server whose cable was pulled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState

from ..base import (
    Closed,
    Session,
    SessionChanged,
    SessionExpired,
    SessionState,
    StoreError,
    Unauthorized,
    Unavailable,
)
from .answers import Answer, Forwarded
from .causes import Causes
from .errors import translate
from .patience import Revival, Silence
from .seams import ACLS, LOG, Handler, fit_attempts, fit_connects, fit_logins, make_client, wake
from .url import Address

_CLOSE_S: Final = 1.0  # how long to wait for the server when the session is closed


class Stream(Protocol):
    """Receives the session events of the link. Called on kazoo's thread: enqueue and return."""

    def told(self, *events: SessionChanged) -> None: ...

    def connected(self, reason: str) -> None: ...

    def end(self) -> None: ...


class Link:
    """A started client. `epoch` counts connections: answers of older ones are ignored."""

    def __init__(self, address: Address) -> None:
        self.address: Final = address
        self.acl: Final = ACLS[address.acl]
        self.session_timeout_s = address.session_timeout_s
        self.epoch = 0
        self.closed = False
        self.opened = False  # set once the server has answered, which shows that the credentials are valid
        self.ephemerals: set[str] = set()  # keys that this session may hold
        self._streams: list[Stream] = []
        self._lock: Final = threading.RLock()  # entered itself: Ctrl-C while a Condition is entered leaves it taken
        self._changed: Final = threading.Condition(self._lock)
        self._session = Session(0, connected=False)
        self._lost = False
        self._silence: Final = Silence()
        self._unauthorized = False
        self._refusal = "the user or the password"
        self._revival: Final = Revival()
        self._causes: Final = Causes(address.hosts)
        self._abandoned = False
        self._handler: Final = Handler(max(0.1, address.connect_timeout_s / len(address.hosts)), address.tls)
        self.client: Final[KazooClient] = make_client(address, self._handler)
        fit_connects(self.client, address, self._granted)
        fit_logins(self.client, self._refused)
        fit_attempts(self.client, self._causes, self._tried)
        self.client.add_listener(self._on_state)
        self._begin()

    @property
    def session(self) -> Session:
        with self._lock:
            found = self._session
            return found if found.connected else Session(found.session_id, connected=False, why=str(self._causes))

    @property
    def credentials(self) -> tuple[int, bytes]:
        """Id and password of the session, with which any client could end it."""
        return self.client._session_id or 0, self.client._session_passwd  # noqa: SLF001 - public only while connected

    # Requests

    def demand_contact(self, *, write: bool = False) -> Session:
        """The present session. Raises Closed, Unauthorized, Unavailable and, for writes, SessionExpired."""
        with self._lock:
            if self.closed:
                raise Closed("the store was closed")
            if self._unauthorized:
                raise self._not_let_in()
            if not self._session.connected:
                if write and self._lost:
                    raise SessionExpired(f"{self.address}: the session ended, and the next one has not begun")
                raise Unavailable(f"{self.address}: not connected{self._why()}")
            return self._session

    def await_contact(self, deadline_s: float) -> bool:
        """Wait until the client is connected, or the deadline; return whether it is."""
        with self._lock:
            self._changed.wait_for(lambda: self._settled, max(deadline_s - time.monotonic(), 0.0))
            return self._session.connected

    def send(self, request: Any) -> Answer:
        """Send a request; returns the object for its answer. Never waits."""
        answer = Answer()
        self._call(request, answer)
        return answer

    def send_to(self, request: Any, then: Callable[[Any, Exception | None], None]) -> None:
        """Send a request, and call `then` with the answer or the error on the thread that calls watchers, so that both
        are delivered in the order in which the server sent them."""
        self._call(request, Forwarded(self._handler, then))

    def _call(self, request: Any, answer: Answer | Forwarded) -> None:
        try:
            self.client._call(request, answer)  # noqa: SLF001 - kazoo's only way to send a custom request
        except BaseException:  # Ctrl-C, after which kazoo may have the request, and not know of it
            wake(self.client)
            raise

    def wait(self, answer: Answer, deadline_s: float) -> Any:
        """The value of an answer. Raises kazoo's errors."""
        began_s = time.monotonic()
        received = answer.take(max(deadline_s - began_s, 0.0))
        if received is None:
            if self._silence.goes_on(began_s, time.monotonic(), self.session_timeout_s):
                self._handler.cut()
            raise KazooTimeoutError
        self._silence.broken()
        value, error = received
        if error is not None:
            raise error
        return value

    def failed(self, error: BaseException, *, sent: bool, key: str | None = None) -> StoreError:
        """The contract's error for kazoo's `error`, given what this link knows: closed, or refused for good."""
        if self.closed and not sent:
            return Closed("the store was closed")
        if isinstance(error, AuthFailedError) or (self._unauthorized and not sent):
            return self._not_let_in(key)
        return translate(error, sent=sent, key=key)

    def stale(self) -> StoreError:
        """The error for a write that was not sent, because its session had ended before."""
        return SessionExpired(f"{self.address}: the session had ended before the request was sent")

    # Streams

    def attach(self, stream: Stream) -> None:
        with self._lock:
            if self.closed:
                raise Closed("the store was closed")
            self._streams.append(stream)

    def detach(self, stream: Stream) -> None:
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)

    # Life

    def close(self, *, say_so: bool = True) -> None:
        """End the client. `say_so` False: the server is not informed, so the session lives until it times out."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            self._session = Session(self._session.session_id, connected=False)
            streams = tuple(self._streams)
            self._changed.notify_all()
        for stream in streams:
            stream.end()
        if not say_so:
            self._abandoned = True
            self.client._stopped.set()  # noqa: SLF001 - else kazoo closes the session, connecting again if necessary
            self._handler.cut()
        self._stop()

    def _begin(self) -> None:
        began_s, timeout_s = time.monotonic(), self.address.connect_timeout_s
        self.client.start_async()
        with self._lock:
            self._changed.wait_for(lambda: self._settled or self._causes.is_sure(time.monotonic()), timeout_s)
            if self._session.connected:
                return
        waited_s, why = time.monotonic() - began_s, self._why()
        self.closed = True
        self._stop()
        if self._unauthorized:
            raise self._not_let_in()
        raise Unavailable(f"{self.address}: no ZooKeeper answered in {waited_s:.3g} s{why}")

    def _not_let_in(self, key: str | None = None) -> Unauthorized:
        return Unauthorized(f"{self.address}: the server refused the credentials: {self._refusal}", key=key)

    def _why(self) -> str:
        said = str(self._causes)
        return f": {said}" if said else ""

    @property
    def _settled(self) -> bool:
        return self._session.connected or self._unauthorized or self.closed

    def _stop(self) -> None:
        """End the session. Waits only briefly for the server, then cuts the connection."""
        stopping = threading.Thread(target=self._stop_client, name="kedge-zookeeper-close", daemon=True)
        stopping.start()
        stopping.join(_CLOSE_S)
        if stopping.is_alive():
            self._handler.cut()
            stopping.join(_CLOSE_S)

    def _stop_client(self) -> None:
        try:
            if self._abandoned:
                self.client._safe_close()  # noqa: SLF001 - the part of `stop` that does not close the session
            self.client.stop()
            self.client.close()
        except Exception:  # noqa: BLE001 - closing must not fail in any state of kazoo; the session then times out
            LOG.warning("%s: the connection was not closed cleanly", self.address, exc_info=True)

    def _revive(self) -> None:
        pause_s = self._revival.pause_s(time.monotonic())
        LOG.error("%s: kazoo gave up the connection; it is started again in %.1f s", self.address, pause_s)
        with self._lock:
            if self._changed.wait_for(lambda: self.closed, pause_s):
                return
        try:
            self.client.start_async()
        except Exception:  # noqa: BLE001 - a thread of its own has no caller to raise to
            LOG.exception("%s: kazoo could not be started again", self.address)

    # On kazoo's connection thread

    def _granted(self, timeout_s: float) -> None:
        self.session_timeout_s = timeout_s

    def _refused(self, what: str) -> None:
        self._refusal = what

    def _tried(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def _on_state(self, state: str) -> None:
        with self._lock:
            if self.closed:
                return
            events, reason = self._follow(state)
            streams = tuple(self._streams)
            self._changed.notify_all()
        for stream in streams:
            stream.told(*events)
            if reason is not None:
                stream.connected(reason)

    def _follow(self, state: str) -> tuple[tuple[SessionChanged, ...], str | None]:
        """The session events, and why all watches are to be set again, if they are."""
        old = self._session
        if state == KazooState.CONNECTED:
            return self._arrived(old, self.client._session_id)  # noqa: SLF001 - public only a moment later
        self._session = Session(old.session_id, connected=False)
        if state == KazooState.SUSPENDED:
            return (SessionChanged(SessionState.SUSPENDED, old.session_id),) if old.connected else (), None
        refused = self.client.client_state == KeeperState.AUTH_FAILED
        self._unauthorized = refused
        # A connection lost during SASL looks like a refusal; a client that was accepted before is tried again.
        if self.client.client_state == KeeperState.CLOSED or (refused and self.opened):
            threading.Thread(target=self._revive, name="kedge-zookeeper-revive", daemon=True).start()
        if self._lost or old.session_id == 0:
            return (), None
        self._lost = True
        return (SessionChanged(SessionState.LOST, old.session_id),), None

    def _arrived(self, old: Session, session_id: int) -> tuple[tuple[SessionChanged, ...], str | None]:
        self._session = Session(session_id, connected=True)
        self.epoch += 1
        self._silence.broken()
        self._causes.clear()
        self._unauthorized = False
        lost, self._lost = self._lost, False
        if old.session_id == 0:
            return (), None
        if old.session_id == session_id:
            return (SessionChanged(SessionState.RESUMED, session_id),), "reconnected"
        self.ephemerals.clear()
        gone = () if lost else (SessionChanged(SessionState.LOST, old.session_id),)
        return (*gone, SessionChanged(SessionState.STARTED, session_id)), "session"
