"""Adaptations of kazoo: how it connects, how it is woken, what it may log.

Rules
* A connection attempt is bounded by the connect timeout, not the session's. The socket is kept, so that `close` can end
  a connection to a server that does not answer.
* kazoo is woken by one byte per request through a socket pair, whose buffer holds some 270: more requests in flight
  would block the caller beyond its deadline. An eventfd, where the system has one, only counts.
* kazoo waits three times for each answer, each time with a new epoll: five system calls, where a poll takes one.
* A server without SASL answers a login by nothing, and kazoo would repeat it thousands of times a second. After a few
  rounds this counts as a refusal.
* Why an attempt to connect failed is examined where it fails (see causes.py).
* kazoo logs requests at DEBUG, including those with passwords, and the session's password; these lines are dropped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import SASL, Connect
from kazoo.retry import KazooRetry
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from ..base import Invalid
from ..extras import missing
from ..reading import require_private
from .causes import Causes, NotZooKeeper, cause_of, not_resolved
from .url import Address, Tls

ACLS: Final = {
    "open": OPEN_ACL_UNSAFE,
    "creator": CREATOR_ALL_ACL,
    "creator-read": CREATOR_ALL_ACL + READ_ACL_UNSAFE,
}
_RETRY_S: Final = 0.05  # the first pause between attempts to connect, doubling
_RETRY_MAX_S: Final = 1.0
_ANSWER_S_MIN: Final = 1.0
_SASL_ROUNDS_MAX: Final = 4  # DIGEST-MD5 takes two or three
_ANSWER_BYTES: Final = range(20, 200)  # plausible lengths of the answer to a request for a session; it is 36 or 37
_LENGTH: Final = struct.Struct("!i")


class _Counter:
    """One end of an eventfd instead of a socket: `send` adds one, `recv` takes one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def send(self, data: bytes) -> int:
        os.eventfd_write(self._descriptor, len(data))
        return len(data)

    def recv(self, _: int) -> bytes:
        os.eventfd_read(self._descriptor)
        return b"\0"

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threads, with connections that have a timeout and can be cut."""

    def __init__(self, connect_timeout_s: float, tls: Tls | None) -> None:
        super().__init__()
        self._connect_timeout_s = connect_timeout_s
        self._tls = None if tls is None else _context(tls)
        self._socket: socket.socket | None = None

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float | None = None, **_: Any
    ) -> socket.socket:
        """A connection, with TLS if configured. kazoo's own method leaks the socket when a certificate is refused."""
        bound_s = self._connect_timeout_s if timeout is None else min(timeout, self._connect_timeout_s)
        self._socket = connection = socket.create_connection(address, bound_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            try:
                self._socket = self._tls.wrap_socket(connection, server_hostname=hostname)
            except BaseException:
                connection.close()
                raise
        return self._socket

    def select(
        self,
        reads: Sequence[Any],
        writes: Sequence[Any],
        _errors: Sequence[Any],
        timeout: float | None = None,
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """The readable of `reads` and the writable of `writes`, as `select.select`, for any number of files."""
        poll = select.poll()
        for file in reads:
            poll.register(file, select.POLLIN)
        for file in writes:
            poll.register(file, select.POLLOUT)
        found = {descriptor for descriptor, _ in poll.poll(None if timeout is None else timeout * 1000)}
        return [one for one in reads if one.fileno() in found], [one for one in writes if one.fileno() in found], []

    def create_socket_pair(self) -> Any:
        if not hasattr(os, "eventfd"):
            return super().create_socket_pair()
        descriptor = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC)
        return _Counter(descriptor), _Counter(os.dup(descriptor))

    def spawn(self, func: Callable[..., object], *args: Any, **options: Any) -> Any:
        """As in kazoo, but an exception ends the thread without a second report, since kazoo has logged it."""

        def run() -> None:
            with contextlib.suppress(Exception):
                func(*args, **options)

        return super().spawn(run)

    def cut(self) -> None:
        """End the present connection, whatever it waits for."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it had ended already
                self._socket.shutdown(socket.SHUT_RDWR)


class _NoSecrets(logging.Filter):
    """Drops kazoo's level below DEBUG, and shows requests and answers by their kind and path alone: they have passwords
    and the values of keys, which may be credentials."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.DEBUG:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(map(_discreet, record.args))
        return True


def _discreet(argument: object) -> object:
    if argument is None or isinstance(argument, str | int | float | BaseException):
        return argument
    path = getattr(argument, "path", None)
    return type(argument).__name__ if path is None else f"{type(argument).__name__}({path})"


LOG: Final = logging.getLogger("kedge.stores.zookeeper.kazoo")
LOG.addFilter(_NoSecrets())
LOG.addHandler(logging.NullHandler())  # without a configured handler, Python would print warnings to stderr


def _context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        context.check_hostname = tls.verify_hostname
        if tls.cert is not None and tls.key is not None:
            require_private(tls.key)
            context.load_cert_chain(tls.cert, tls.key)
    except (OSError, ValueError) as error:
        raise Invalid(f"the TLS files of the url cannot be used: {error}") from error
    return context


def make_client(address: Address, handler: Handler) -> KazooClient:
    """A kazoo client that is not started. It does not know the chroot: paths include it."""
    auth = address.auth
    options: dict[str, Any] = {}
    if auth is not None and auth.scheme == "sasl":
        if find_spec("puresasl") is None:  # kazoo would try to connect again and again
            raise Invalid(missing("zookeeper", "puresasl"))
        options["sasl_options"] = {"mechanism": "DIGEST-MD5", "username": auth.user, "password": auth.password}
    elif auth is not None:
        options["auth_data"] = {("digest", f"{auth.user}:{auth.password}")}
    if address.tls is not None:
        options["use_ssl"] = True
    return KazooClient(
        hosts=",".join(address.hosts),
        timeout=address.session_timeout_s,
        handler=handler,
        connection_retry=KazooRetry(
            max_tries=-1, delay=_RETRY_S, max_jitter=0.4, max_delay=_RETRY_MAX_S, sleep_func=handler.sleep_func
        ),
        logger=LOG,
        **options,
    )


def wake(client: KazooClient) -> None:
    """Make kazoo look for a request. Once too often does no harm; once too few, and each request waits for the next."""
    end = client._connection._write_sock  # noqa: SLF001 - kazoo has no public way
    if end is not None:
        with contextlib.suppress(OSError):  # the connection was closed
            end.send(b"\0")


def fit_attempts(client: KazooClient, causes: Causes, tried: Callable[[], None]) -> None:
    """Make `causes` record why attempts to connect fail, and call `tried` after each failure."""
    connection = client._connection  # noqa: SLF001 - kazoo has no public hook
    connect, expand = connection._connect, connection._expand_client_hosts  # noqa: SLF001

    def fitted(host: str, address: str, port: int) -> Any:
        causes.begun(host, port, address)
        try:
            return connect(host, address, port)
        except AuthFailedError:
            raise  # it was connected: the server refused the credentials
        except Exception as error:
            causes.failed(host, port, address, cause_of(error))
            tried()
            raise

    def expanded() -> Any:
        found = expand()
        for host, port in client.hosts:
            cause = None if any(name == host for name, _, _ in found) else not_resolved(host, port)
            if cause is not None:
                causes.failed(host, port, "", cause)
        tried()
        return found

    connection._connect, connection._expand_client_hosts = fitted, expanded  # noqa: SLF001


def fit_logins(client: KazooClient, refused: Callable[[str], None]) -> None:
    """Make an endless SASL login end as a refused one, and call `refused` with what was refused."""
    connection = client._connection  # noqa: SLF001 - kazoo has no public hook
    log_in, submit = connection._authenticate_with_sasl, connection._submit  # noqa: SLF001
    rounds = 0

    def logged_in(host: str, timeout_s: float) -> None:
        nonlocal rounds
        rounds = 0
        try:
            log_in(host, timeout_s)
        except AuthFailedError:
            endless = rounds > _SASL_ROUNDS_MAX
            refused("the server has no SASL login (DIGEST-MD5)" if endless else "the user or the password of sasl")
            raise

    def submitted(request: Any, timeout_s: float, xid: int | None = None) -> None:
        nonlocal rounds
        if isinstance(request, SASL):
            rounds += 1
            if rounds > _SASL_ROUNDS_MAX:
                raise AuthFailedError("too many rounds of SASL")
        submit(request, timeout_s, xid)

    connection._authenticate_with_sasl, connection._submit = logged_in, submitted  # noqa: SLF001


def fit_connects(client: KazooClient, address: Address, tell: Callable[[float], None]) -> None:
    """Bound each request for a session, and call `tell` with the session timeout that the server grants. An answer that
    cannot come from a ZooKeeper is NotZooKeeper at once: as a length, its first bytes mostly mean gigabytes.

    kazoo waits for the answer as long as the session may live. A server that is just starting may lose the request, and
    the session would end meanwhile. Also, kazoo keeps the requested timeout: a server that grants less would end the
    session before the client considers it ended.
    """
    connection = client._connection  # noqa: SLF001 - kazoo has no public hook for either
    invoke, read = connection._invoke, connection._read  # noqa: SLF001
    bound_s = max(_ANSWER_S_MIN, address.session_timeout_s / 4)

    def fitted(timeout_s: float, request: Any, xid: int | None = None) -> Any:
        if not isinstance(request, Connect):
            return invoke(timeout_s, request, xid)
        connection._read = _first_checked(connection, read)  # noqa: SLF001
        try:
            answer = invoke(min(timeout_s, bound_s), request, xid)
        finally:
            connection._read = read  # noqa: SLF001
        if answer[0].time_out > 0:
            tell(answer[0].time_out / 1000.0)
        return answer

    connection._invoke = fitted  # noqa: SLF001


def _first_checked(connection: Any, read: Callable[[int, float], bytes]) -> Callable[[int, float], bytes]:
    """`read` with a check of the length with which an answer begins."""

    def checked(length: int, timeout_s: float) -> bytes:
        connection._read = read  # noqa: SLF001 - only the first read is a length
        data = read(length, timeout_s)
        if _LENGTH.unpack(data)[0] not in _ANSWER_BYTES:
            raise NotZooKeeper("the answer does not come from a ZooKeeper")
        return data

    return checked
