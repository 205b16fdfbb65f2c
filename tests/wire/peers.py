"""A broker of another make, as far as a controller sees it: it speaks the versions that it is given, writes down
what it was asked, and answers as the test says."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata.api_versions import ApiVersionsRequest, ApiVersionsResponse

from kedge.controller.wire import Users
from kedge.controller.wire.calls import Address
from kedge.controller.wire.messages import MESSAGES
from kedge.controller.wire.protocol import SIZE, build
from kedge.controller.wire.security.sasl import MECHANISMS, Login, LoginFailed

_LOGINS: Final = {17: (0, 1), 36: (0, 2)}
_NAMES: Final = {
    kind.API_KEY: name[:-7] for name, kind in MESSAGES.items() if name.endswith("Request") and hasattr(kind, "API_KEY")
}
Answer = Callable[[Any], Mapping[str, Any] | bytes | None]
"""The fields of the answer to a request; bytes as they are; None: it hangs up."""


class Listening:
    """In `with`, each connection is handled in a thread. `connections`, `ended`: how many began, and how many ended."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.connections = self.ended = 0
        listening = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                listening.connections += 1
                with contextlib.suppress(OSError):
                    listening.handle(self.request)
                listening.ended += 1

        self._server = socketserver.ThreadingTCPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.address = Address(host, self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def handle(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def frame_from(connection: socket.socket) -> bytes:
    """The next frame, with its size; empty at the end."""
    head = connection.recv(SIZE.size, socket.MSG_WAITALL)
    return head + connection.recv(SIZE.unpack(head)[0], socket.MSG_WAITALL) if head else b""


class Peer(Listening):
    """`with Peer({4: (0, 2)}) as peer:` speaks LeaderAndIsr 0 to 2 and nothing else, and answers that all went well,
    unless `answer` says otherwise. `asked`: the requests, decoded, in their order. `tls`: it speaks TLS. `users`: it
    closes a connection that asks for more than the versions before it logged in as one of these."""

    def __init__(
        self,
        versions: Mapping[int, tuple[int, int]],
        answer: Answer = lambda _: {},
        tls: ssl.SSLContext | None = None,
        users: Users | None = None,
    ) -> None:
        super().__init__()
        self._versions, self.answer = {**versions, **(_LOGINS if users is not None else {})}, answer
        self.asked: list[Any] = []
        self.api_versions_max = 4
        self._tls, self._users = tls, users

    def handle(self, connection: socket.socket) -> None:
        login = None if self._users is None else Login(self._users)
        # The handshake is here, so that a client that breaks it off affects no other.
        encrypted = connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True)
        with encrypted as opened, opened.makefile("rb") as reading:
            while size := reading.read(SIZE.size):
                answered = self._answered(reading.read(SIZE.unpack(size)[0]), login)
                if answered is None:
                    return
                opened.sendall(answered)

    def _answered(self, frame: bytes, login: Login | None) -> bytes | None:
        header = RequestHeader.decode(io.BytesIO(frame), flexible=False)
        key, version = header.request_api_key, header.request_api_version
        if key == ApiVersionsRequest.API_KEY:
            rows = [
                {"api_key": k, "min_version": low, "max_version": high} for k, (low, high) in self._versions.items()
            ]
            error, version = (0, version) if version <= self.api_versions_max else (35, 0)
            return _framed(ApiVersionsResponse, version, header.correlation_id, {"error_code": error, "api_keys": rows})
        if login is not None and key in _LOGINS:
            return _logged_in(login, key, version, frame)
        if login is not None and login.principal is None:
            return None
        request = MESSAGES[f"{_NAMES[key]}Request"].decode(frame, version=version, header=True)
        self.asked.append(request)
        answer = self.answer(request)
        if answer is None or isinstance(answer, bytes):
            return answer
        return _framed(MESSAGES[f"{_NAMES[key]}Response"], version, header.correlation_id, answer)


def _logged_in(login: Login, key: int, version: int, frame: bytes) -> bytes:
    api = "SaslHandshake" if key == 17 else "SaslAuthenticate"
    request = MESSAGES[f"{api}Request"].decode(frame, version=version, header=True)
    try:
        if key == 17:
            login.handshake(request.mechanism, version)
            fields: dict[str, Any] = {"error_code": 0, "mechanisms": MECHANISMS}
        else:
            fields = {"error_code": 0, "auth_bytes": asyncio.run(login.step(bytes(request.auth_bytes)))}
    except LoginFailed as failed:
        fields = {"error_code": failed.code}
        fields |= {"mechanisms": MECHANISMS} if key == 17 else {"error_message": failed.message}
    return _framed(MESSAGES[f"{api}Response"], version, request.header.correlation_id, fields)


def _framed(kind: Any, version: int, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
    response = build(kind, version, fields)
    response.with_header(correlation_id)
    return bytes(response.encode(header=True, framed=True))
