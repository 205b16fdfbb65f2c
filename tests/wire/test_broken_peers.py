"""The connection to the gateway of the active controller breaks, or says what is no answer, while that one leads."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from kedge.controller.wire.calls import Address
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RawClient
from tests.wire.test_forwarding import METADATA, Pair, alter, retention

NO_ANSWERS = {
    "an end": b"",
    "another's answer": b"\0\0\0\x06\x7f\xff\xff\xff\0\0",
    "no answer": b"\0\0\0\x01\0",
    "less than nothing": b"\xff\xff\xff\xff",
}
_LISTENS, _BREAKS = "127.0.0.2", "127.0.0.3"
"""Where the gateways listen, and where others find them."""
ANOTHER_PROTOCOL = b"HTTP/1.1 400 Bad Request\r\n\r\n"


class Breaking:
    """Stands before a gateway, and passes on what comes and goes; but `times` connections get `instead` in the place of
    the first answer, and are ended. `ended`: how many of all were ended by the other side, or by this."""

    def __init__(self, behind: Any, times: int, instead: bytes) -> None:
        self.connections = self.ended = 0
        self.left = times
        breaking = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                breaking.connections += 1
                with contextlib.suppress(OSError), socket.create_connection((behind.host, behind.port)) as to:
                    breaking._pass_on(self.request, to)
                breaking.ended += 1

        self._server = socketserver.ThreadingTCPServer((_BREAKS, behind.port), Handler)
        self._server.daemon_threads = True
        self._instead = instead
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def _pass_on(self, client: socket.socket, gateway: socket.socket) -> None:
        while frame := _frame(client):
            gateway.sendall(frame)
            answer = _frame(gateway)
            if self.left:
                self.left -= 1
                client.sendall(self._instead)
                if self._instead:
                    client.settimeout(DEADLINE_S)
                    client.recv(1)  # until the other side has had enough of it
                return
            client.sendall(answer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _frame(connection: socket.socket) -> bytes:
    """With its size; empty at the end."""
    head = connection.recv(4, socket.MSG_WAITALL)
    size = int.from_bytes(head)
    return head + connection.recv(size, socket.MSG_WAITALL) if head else b""


@contextmanager
def broken(times: int, instead: bytes = b"", **options: Any) -> Iterator[tuple[Pair, Breaking, RawClient]]:
    """A client of the stand-by's gateway, which finds the active one's behind what breaks: at the published address."""
    with (
        Pair(host=_LISTENS, advertised=_BREAKS, **options) as pair,
        Breaking(Address(_LISTENS, pair.active.address.port), times, instead) as breaking,
        RawClient(Address(_LISTENS, pair.standby.address.port)) as client,
    ):
        yield pair, breaking, client


@pytest.mark.slow
@pytest.mark.parametrize("instead", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_only_reads_is_asked_once_more_on_a_new_connection(instead: bytes) -> None:
    with broken(1, instead) as (pair, breaking, client):
        assert [topic.name for topic in client.ask(*METADATA, topics=None).topics] == ["orders"]
        assert breaking.connections == 2
        assert pair.standby.gateway.counts["forward_lost"] == pair.standby.gateway.counts["garbage"] == 0


@pytest.mark.slow
def test_what_breaks_connection_after_connection_ends_that_of_its_client() -> None:
    with broken(2) as (pair, breaking, client):
        with pytest.raises(AssertionError, match="hung up"):
            client.ask(*METADATA, topics=None)
        assert breaking.connections == 2
        until(lambda: pair.standby.gateway.counts["forward_lost"] == 1)


def test_what_may_have_been_done_is_not_asked_again() -> None:
    """Here it was: the client finds that when it asks again."""
    with broken(1) as (pair, breaking, client):
        with pytest.raises(AssertionError, match="hung up"):
            alter(client, 7)
        until(lambda: pair.standby.gateway.counts["forward_lost"] == 1)
        assert retention(pair.active.controller) == "7"
        assert breaking.connections == 1


@pytest.mark.slow
@pytest.mark.parametrize("instead", [*NO_ANSWERS.values(), ANOTHER_PROTOCOL], ids=[*NO_ANSWERS, "another protocol"])
def test_login_with_an_invalid_answer_is_tried_again_and_leaves_no_connection(instead: bytes) -> None:
    secret = {"secret": "of gateways"}
    with broken(1, instead, peers=secret) as (pair, breaking, client):
        assert alter(client, 7) == 0  # nothing was asked before, and so it may be
        assert breaking.connections == 2
        until(lambda: breaking.ended == 1)
        counts = pair.standby.gateway.counts
        assert counts["forward_lost"] == counts["garbage"] == counts["failed"] == 0
