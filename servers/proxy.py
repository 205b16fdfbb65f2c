"""A TCP proxy between a client and its server, which can cut connections or discard the server's answers.

Rules
* TCP_NODELAY on both sides: without it a proxy adds 40 ms to small requests, and a suite takes ten times as long.
* Discarded answers are lost: `speak` cuts connections on which an answer was discarded, since no byte of a stream may
  be missing.
* Each connection has two threads that copy. None of them is left after `close`.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final

_CHUNK_BYTES: Final = 65536
_CONNECT_S: Final = 5.0
_END_S: Final = 10.0


class Proxy:
    """Listens on a loopback `port` of its own, `address`, and forwards to `target`: "HOST:PORT" or (host, port)."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        if isinstance(target, str):
            host, _, port = target.rpartition(":")
            target = (host, int(port))
        self._target = target
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._tainted: set[tuple[socket.socket, socket.socket]] = set()
        self._refusing = False
        self._swallowing = False
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: Final[int] = self._listener.getsockname()[1]
        self.address: Final = f"127.0.0.1:{self.port}"
        self._accepting = self._spawn(self._accept)

    def cut(self) -> None:
        """End all connections and refuse new ones, until `mend`."""
        with self._lock:
            self._refusing = True
            pairs = tuple(self._pairs)
        for pair in pairs:
            _end(pair)

    def mend(self) -> None:
        with self._lock:
            self._refusing = False

    def swallow(self) -> None:
        """Forward requests and discard the server's answers, until `speak`."""
        with self._lock:
            self._swallowing = True

    def speak(self) -> None:
        """Forward answers again; connections on which one was discarded end."""
        with self._lock:
            self._swallowing = False
            tainted, self._tainted = self._tainted, set()
        for pair in tainted:
            _end(pair)

    def close(self) -> None:
        """End everything. Idempotent."""
        with self._lock:
            self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self._accepting.join(_END_S)  # from now on no thread is started
        with self._lock:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join(_END_S)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        with self._lock:
            refusing = self._refusing or self._closed
        try:
            server = None if refusing else socket.create_connection(self._target, timeout=_CONNECT_S)
        except OSError:
            server = None
        if server is None:
            client.close()
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
            refusing = self._refusing
        if refusing:  # it was cut while the connection came up
            _end(pair)
        self._spawn(lambda: self._pump(pair, client, server, answers=False))
        self._spawn(lambda: self._pump(pair, server, client, answers=True))

    def _pump(
        self, pair: tuple[socket.socket, socket.socket], source: socket.socket, sink: socket.socket, *, answers: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if not (answers and self._lost(pair)):
                    sink.sendall(data)
        _end(pair)
        with self._lock:
            self._pairs.discard(pair)
            self._tainted.discard(pair)

    def _lost(self, pair: tuple[socket.socket, socket.socket]) -> bool:
        with self._lock:
            if self._swallowing:
                self._tainted.add(pair)
            return self._swallowing or pair in self._tainted

    def _spawn(self, run: Callable[[], None]) -> threading.Thread:
        def through() -> None:
            run()
            with self._lock:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=through, daemon=True, name=f"kedge-proxy-{self.port}")
        with self._lock:
            self._threads.add(thread)
        thread.start()
        return thread


def _end(pair: tuple[socket.socket, socket.socket]) -> None:
    for end in pair:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
