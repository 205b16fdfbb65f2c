"""Servers that are no store: one that accepts and says nothing, one that speaks HTTP, one that does not listen."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from servers import free_port


@contextmanager
def silent() -> Iterator[int]:
    """It accepts, by the backlog of the system, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


class _Web(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing on stderr either. A client may hang up long after its test, when it is collected, and whose output is
        captured then would have the trace of it amid what is compared."""


@contextmanager
def web() -> Iterator[int]:
    """It answers every request as a web server does."""
    server = _Web(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def nobody() -> Iterator[int]:
    """Nothing listens there."""
    yield free_port()
