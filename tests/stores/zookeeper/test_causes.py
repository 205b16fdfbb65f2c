"""What an operator reads who opened a url at which no ZooKeeper answers, and how long that takes."""

from __future__ import annotations

import ssl
import time

import pytest
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError

from kedge.stores import Unavailable, open_store
from kedge.stores.zookeeper.causes import SURE_S, Cause, Causes, NotZooKeeper, cause_of
from servers import free_port
from tests.stores.kit import foreign, raised_by

PATIENT_S = 25.0  # far above what it should take
PASSES, STAYS = Cause("refused"), Cause("unknown", passes=False)


def refusal(url: str) -> str:
    error = raised_by(lambda: open_store(url))
    assert isinstance(error, Unavailable)
    return str(error)


@pytest.mark.slow
def test_a_refused_port_is_named_and_waited_for() -> None:
    """The server may be just starting: so the connect timeout is taken."""
    port, began_s = free_port(), time.monotonic()
    said = refusal(f"zookeeper://127.0.0.1:{port}/x?connect_timeout=0.7")
    assert said.startswith(f"zookeeper://127.0.0.1:{port}/x: no ZooKeeper answered in ")
    assert said.endswith(f" s: 127.0.0.1:{port}: connection refused")
    assert time.monotonic() - began_s >= 0.7


@pytest.mark.slow
def test_unknown_name_ends_the_wait() -> None:
    """Not at once, as a name may be published a moment late."""
    began_s = time.monotonic()
    said = refusal(f"zookeeper://No-Such-Host.invalid/x?connect_timeout={PATIENT_S}")
    assert "no-such-host.invalid:2181: unknown host name" in said
    assert SURE_S <= time.monotonic() - began_s < PATIENT_S


@pytest.mark.slow
def test_something_else_that_answers_ends_the_wait() -> None:
    """The first four bytes of a web server, as a length, would be gigabytes that never come."""
    began_s = time.monotonic()
    with foreign(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        said = refusal(f"zookeeper://{address}/x?connect_timeout={PATIENT_S}")
    assert f"{address}: another service answered" in said
    assert time.monotonic() - began_s < PATIENT_S


@pytest.mark.full
def test_one_host_that_may_come_is_waited_for() -> None:
    """Each host is named with its cause."""
    began_s, port = time.monotonic(), free_port()
    said = refusal(f"zookeeper://no-such-host.invalid:2181,127.0.0.1:{port}/x?connect_timeout={SURE_S + 1}")
    assert f"127.0.0.1:{port}: connection refused; no-such-host.invalid:2181: unknown host name" in said
    assert time.monotonic() - began_s >= SURE_S + 1


@pytest.mark.parametrize(
    "error,said,passes",
    [
        (ConnectionRefusedError(111, "Connection refused"), "connection refused", True),
        (TimeoutError("timed out"), "no answer", True),
        (ConnectionResetError(104, "Connection reset by peer"), "closed the connection", True),
        (OSError(113, "No route to host"), "no route to host", True),
        (ssl.SSLEOFError(8, "EOF"), "TLS: closed the connection", True),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "TLS: the certificate is not trusted", False),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong"), "TLS: ", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_the_system_s_own_error_is_said_though_kazoo_hides_it(error: OSError, said: str, passes: bool) -> None:
    dropped = ConnectionDropped("socket connection error")
    dropped.__context__ = error
    cause = cause_of(dropped)
    assert (cause.said.startswith(said), cause.passes) == (True, passes)


def test_what_kazoo_raises_of_its_own_is_said() -> None:
    assert cause_of(KazooTimeoutError()).said == "no answer"
    assert cause_of(ConnectionDropped("socket connection broken")).passes
    assert not cause_of(NotZooKeeper()).passes


def sure(causes: Causes) -> bool:
    return causes.is_sure(time.monotonic() + SURE_S)


def test_all_hosts_must_be_hopeless_for_a_while() -> None:
    """One that may pass, or was not tried yet, is enough to go on; and contact clears all."""
    causes = Causes(["a:1", "[::1]:2"])
    causes.failed("a", 1, "10.0.0.1", STAYS)
    assert not sure(causes)
    causes.failed("::1", 2, "::1", STAYS)
    assert (sure(causes), causes.is_sure(time.monotonic())) == (True, False)
    causes.failed("a", 1, "10.0.0.2", PASSES)
    assert not sure(causes)
    assert str(causes) == "[::1]:2: unknown; a:1: unknown, refused"
    causes.clear()
    assert (str(causes), sure(causes)) == ("", False)


def test_a_name_that_is_known_again_is_not_said_to_be_unknown() -> None:
    causes = Causes(["a:1"])
    causes.failed("a", 1, "", STAYS)
    causes.failed("a", 1, "10.0.0.1", PASSES)
    assert str(causes) == "a:1: refused"
