"""A small HTTP server on a thread: a table of paths, each with what makes its page. Read-only: GET and HEAD.

It requires no authentication. So that no other web page in a browser can read it, it refuses requests under host names
that are not its own (DNS rebinding)."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

from ..printing import one_line
from .options import CannotServe, Place

Page: TypeAlias = Callable[[], tuple[str, bytes]]
"""Returns content type and body. An exception is answered with 503 and one line."""

REQUEST_S: Final = 30.0  # a request that takes longer is cut off, however often a byte arrives
THREADS_MAX: Final = 50  # one for each connection; see `_Server`
FREED_S: Final = 0.5  # within so long the thread of a connection that was cut off ends
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}


def metrics_page(sources: Callable[[], Iterable[Any]]) -> Page:
    """The page of these metrics for Prometheus. CannotServe where the package for it is missing."""
    try:
        from ...metrics.prometheus import exposition  # noqa: PLC0415 - needed only with --metrics
    except ImportError as error:
        raise CannotServe(f"--metrics: {one_line(error)}") from error
    return lambda: exposition(*sources())


class Pages:
    """`with Pages(place, {"/": page}) as pages:` listens until it is closed. `names`: further host names under which
    browsers may call it; addresses, the place's own host and the machine's name are always accepted. `headers`: of
    every answer. `request_s`: how long a request and its answer may take. OSError where it cannot listen there."""

    def __init__(
        self,
        place: Place,
        pages: Mapping[str, Page],
        names: Iterable[str] = (),
        headers: Mapping[str, str] = HEADERS,
        request_s: float = REQUEST_S,
    ) -> None:
        machine = socket.gethostname()
        ours = {"localhost", place.host, machine, machine.partition(".")[0], *names}
        self._server = _Server(place, pages, frozenset(name.lower() for name in ours), headers, request_s)
        self._thread = threading.Thread(target=self._server.serve_forever, name="kedge-pages", daemon=True)
        self._thread.start()
        self.place = Place(place.host, self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    """A connection beyond `THREADS_MAX` takes the place of one that waits for its client: the oldest of the address
    that has the most of these. If all of them are in work, the new one is closed."""

    daemon_threads = True
    request_queue_size = THREADS_MAX  # with the default of 5, many at once connect again after 1, 3 and 7 s

    def __init__(
        self,
        place: Place,
        pages: Mapping[str, Page],
        names: Container[str],
        headers: Mapping[str, str],
        request_s: float,
    ) -> None:
        self.pages, self.names, self.headers = pages, names, headers
        self._free = threading.BoundedSemaphore(THREADS_MAX)
        self._request_s = request_s
        self._ends_s: dict[socket.socket, float] = {}
        self._waiting: dict[socket.socket, str] = {}  # for the client to send, or to read: address, oldest first
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        super().__init__((place.host, place.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not (self._free.acquire(blocking=False) or (self._cut_off_one() and self._free.acquire(timeout=FREED_S))):
            self.shutdown_request(request)
            return
        self._ends_s[request] = time.monotonic() + self._request_s
        self._waiting[request] = client_address[0]
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._done(request)  # no thread was started for it
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._done(request)

    def _done(self, request: socket.socket) -> None:
        del self._ends_s[request]
        self._waiting.pop(request, None)
        self._free.release()

    @contextmanager
    def working(self, request: socket.socket) -> Iterator[None]:
        """In this block a page is made, so the connection does not wait for its client."""
        address = self._waiting.pop(request, "")
        try:
            yield
        finally:
            self._waiting[request] = address

    def _cut_off_one(self) -> bool:
        """End a connection that waits for its client, and so its thread; returns whether there is one."""
        waiting = list(self._waiting.items())
        if not waiting:
            return False
        most = Counter(address for _, address in waiting).most_common(1)[0][0]
        _cut_off(next(request for request, address in waiting if address == most))
        return True

    def service_actions(self) -> None:
        """Twice a second: cut off requests whose time is over, which ends their threads."""
        for request, end_s in list(self._ends_s.items()):
            if time.monotonic() > end_s:
                _cut_off(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that disconnects in the middle is no error."""


def _cut_off(request: socket.socket) -> None:
    with suppress(OSError):  # it has just been closed
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "kedge", ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self.server.pages.get(urlsplit(self.path).path)
        status = HTTPStatus.OK
        if not self._is_for_us():
            status, kind = HTTPStatus.MISDIRECTED_REQUEST, "text/plain; charset=utf-8"
            body = b"this host name is not served here; use the address, or start it with --advertise NAME\n"
        elif page is None:
            status, kind, body = HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"there is no such page\n"
        else:
            try:
                with self.server.working(self.connection):
                    kind, body = page()
            except Exception as error:  # noqa: BLE001 - whatever a page raises
                status, kind = HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8"
                body = f"{one_line(error)}\n".encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _is_for_us(self) -> bool:
        """Whether it was called by an address or an own name. A client that sends no Host is no browser."""
        try:
            host = urlsplit(f"//{self.headers.get('Host', 'localhost')}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return host.removesuffix(".") in self.server.names
        return True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        """Requests are not logged."""
