"""A proxy that reads ZooKeeper's frames, and can answer a kind of request itself, as an old server would."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Final

MULTI_READ: Final = 22
GET_DATA: Final = 4
SASL: Final = 102
UNIMPLEMENTED: Final = -6
AUTH_FAILED: Final = -115


class FrameProxy:
    """Passes on to the loopback port `target`. `judge(opcode)`: the error code to answer with instead of passing the
    request on, or None. After an answer of its own it drops the connection, as ZooKeeper does when it does not know an
    opcode."""

    def __init__(self, target: int, judge: Callable[[int], int | None]) -> None:
        self.judge = judge
        self.judged = 0
        self._target = target
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: Final = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def drop(self) -> None:
        """End the connections that are there."""
        _end(*self._sockets)

    def close(self) -> None:
        for end in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [client, server]
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            server.sendall(_frame(client))  # the connect request has no opcode
            while frame := _frame(client):
                xid, opcode = struct.unpack_from("!ii", frame, 4)
                code = self.judge(opcode)
                if code is None:
                    server.sendall(frame)
                    continue
                self.judged += 1
                client.sendall(struct.pack("!iiqi", 16, xid, 0, code))
                break
        _end(client, server)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        _end(client, server)


def _frame(source: socket.socket) -> bytes:
    head = _exactly(source, 4)
    return head + _exactly(source, struct.unpack("!i", head)[0]) if head else b""


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            return b""
        data += more
    return data


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
