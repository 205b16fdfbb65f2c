"""A small HTTP server on a thread: a table of paths, each with what makes its page. Read-only: GET and HEAD.

It asks nobody who it is, so a page of somebody else's that a browser shows must not read it: a name that leads here
today (DNS rebinding) is none of ours, and is refused."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

from controller.cli.printing import one_line
from controller.cli.serve.options import Place

Page: TypeAlias = Callable[[], tuple[str, bytes]]
"""Content type and body. What it raises is answered with 503 and one line."""

REQUEST_S: Final = 30.0  # whoever takes longer, however often a byte comes, is hung up on
THREADS_MAX: Final = 50  # one for each connection; one more is hung up on
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}


class Pages:
    """`with Pages(place, {"/": page}) as pages:` listens until it is closed. `names`: by which browsers may call it,
    besides addresses, the place's own host and the machine's. `headers`: of every answer. `request_s`: how long a
    request may take, with its answer. OSError where the place cannot be had."""

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
        """Nobody is listened to any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

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
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        super().__init__((place.host, place.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, where there may be one more."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._ends_s[request] = time.monotonic() + self._request_s
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._done(request)  # there is no thread that would
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._done(request)

    def _done(self, request: socket.socket) -> None:
        del self._ends_s[request]
        self._free.release()

    def service_actions(self) -> None:
        """Twice a second: the thread of a request whose time is over reads no more of it, and ends."""
        for request, end_s in list(self._ends_s.items()):
            if time.monotonic() > end_s:
                with suppress(OSError):  # it was closed just now
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "kedge", ""

    def do_GET(self) -> None:
        """The page of the path, or 404."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """As GET, without the body."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self.server.pages.get(urlsplit(self.path).path)
        status = HTTPStatus.OK
        if not self._is_for_us():
            status, kind = HTTPStatus.MISDIRECTED_REQUEST, "text/plain; charset=utf-8"
            body = b"there is no host of that name here; call it by its address, or start it with --advertise NAME\n"
        elif page is None:
            status, kind, body = HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"there is no such page\n"
        else:
            try:
                kind, body = page()
            except Exception as error:  # noqa: BLE001 - whatever a page could not be made of
                status, kind = HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8"
                body = f"{one_line(error)}\n".encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _is_for_us(self) -> bool:
        """Whether it was called by an address, or a name of ours. Who names no host is no browser."""
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
        """Nobody reads it."""
