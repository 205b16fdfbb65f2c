"""The small server of pages: who may read them from where, and how many at a time."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from kedge.controller.cli.serve.options import Place
from kedge.controller.cli.serve.pages import THREADS_MAX, Pages
from tests.kit.waiting import until
from tests.serve.processes import DEADLINE_S


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    with Pages(Place("127.0.0.1", 0), {"/": lambda: ("text/plain", b"here")}, ["kedge.example"]) as opened:
        yield opened


def asked(pages: Pages, host: str | None) -> tuple[int, bytes]:
    """Status and body for a browser that called it so; None: it does not say how."""
    connection = http.client.HTTPConnection(pages.place.host, pages.place.port, timeout=DEADLINE_S)
    connection.putrequest("GET", "/", skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8480", "10.1.2.3", "[::1]:8480", "localhost:8480", "LocalHost", "kedge.example:1", "localhost."]
)
def test_a_page_is_given_to_who_calls_an_address_or_a_name_of_ours(pages: Pages, host: str) -> None:
    assert asked(pages, host) == (200, b"here")


def test_a_page_is_given_to_who_names_no_host_or_this_machine(pages: Pages) -> None:
    assert asked(pages, None) == asked(pages, socket.gethostname()) == (200, b"here")


@pytest.mark.slow
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8480", "localhost.evil.example", "", "[::1", "127.0.0.1.x"]
)
def test_page_is_not_served_under_a_foreign_host_name(pages: Pages, host: str) -> None:
    """Whose page in the same browser could read it, when the name leads here from then on."""
    status, body = asked(pages, host)
    assert status == 421
    assert body.startswith(b"this host name is not served here")


@contextmanager
def silent(pages: Pages, source: str = "127.0.0.1", count: int = THREADS_MAX) -> Iterator[list[socket.socket]]:
    """Connections that send half a request."""
    with ExitStack() as stack:
        held = []
        for _ in range(count):
            where = (pages.place.host, pages.place.port)
            held.append(stack.enter_context(socket.create_connection(where, DEADLINE_S, source_address=(source, 0))))
            held[-1].sendall(b"GET / HTTP/1.0\r\n")
        yield held


def test_half_requests_keep_no_client_out(pages: Pages) -> None:
    """As many as are served at a time. The oldest gives way, and the others are served when they go on."""
    with silent(pages) as held:
        assert [asked(pages, "localhost") for _ in range(3)] == [(200, b"here")] * 3
        assert held[0].recv(1) == b""
        held[-1].sendall(b"\r\n")
        assert held[-1].recv(12) == b"HTTP/1.0 200"


def test_address_with_the_most_connections_gives_way(pages: Pages) -> None:
    with silent(pages, "127.0.0.1", 20) as ours, silent(pages, "127.0.0.66", 40) as theirs:
        assert theirs[0].recv(1) == b""
        ours[0].sendall(b"\r\n")
        assert ours[0].recv(12) == b"HTTP/1.0 200"


@pytest.mark.slow
def test_client_that_does_not_read_its_page_gives_way() -> None:
    """Pages of 10 MB, which no socket takes as a whole."""
    with Pages(Place("127.0.0.1", 0), {"/": lambda: ("text/plain", b"x" * 10_000_000)}) as pages, silent(pages) as held:
        for each in held:
            each.sendall(b"\r\n")
        for each in held:
            assert each.recv(12) == b"HTTP/1.0 200"
        status, body = asked(pages, "localhost")
        assert (status, len(body)) == (200, 10_000_000)


@pytest.mark.slow
def test_page_in_work_does_not_give_way_and_a_further_client_is_hung_up_on() -> None:
    released, entered = threading.Event(), threading.Semaphore(0)

    def page() -> tuple[str, bytes]:
        entered.release()
        assert released.wait(DEADLINE_S)
        return "text/plain", b"made"

    with Pages(Place("127.0.0.1", 0), {"/": page}) as pages, silent(pages) as held:
        for each in held:
            each.sendall(b"\r\n")
            assert entered.acquire(timeout=DEADLINE_S)
        with socket.create_connection((pages.place.host, pages.place.port), DEADLINE_S) as more:
            assert more.recv(1) == b""
        released.set()
        assert all(each.makefile("rb").read().endswith(b"made") for each in held)


@pytest.mark.slow
def test_who_takes_too_long_is_hung_up_on_however_often_a_byte_comes() -> None:
    """As many as are served at a time; those who come after them are served in the end."""
    with (
        Pages(Place("127.0.0.1", 0), {"/": lambda: ("text/plain", b"here")}, request_s=0.5) as pages,
        ExitStack() as held,
    ):
        where = (pages.place.host, pages.place.port)
        slow = [held.enter_context(socket.create_connection(where, DEADLINE_S)) for _ in range(THREADS_MAX)]

        def is_served() -> bool:
            for connection in slow:
                with suppress(OSError):
                    connection.sendall(b"G")
            with suppress(OSError, http.client.HTTPException):
                return asked(pages, "localhost") == (200, b"here")
            return False

        until(is_served)
