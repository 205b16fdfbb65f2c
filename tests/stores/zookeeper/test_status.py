"""What is said of a ZooKeeper server by what it answers to `srvr`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kedge.stores.zookeeper.status import states
from kedge.stores.zookeeper.url import Address

SRVR = b"""Zookeeper version: 3.9.4-7246445ec281f3dbf53dc54e970c914f39713903, built on 2025-08-19 19:53 UTC
Latency min/avg/max: 0/0.0/0
Mode: follower
Node count: 5
"""
OFF = b"srvr is not executed because it is not in the whitelist.\n"
OUT = b"This ZooKeeper instance is not currently serving requests\n"


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that answers so to anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(4)
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "answer,version,role,problem",
    [
        (SRVR, "3.9.4", "follower", None),
        (OFF, None, None, None),
        (b"", None, None, None),
        (b"\xff" * 20_000, None, None, None),
        (OUT, None, None, "serves no requests: it is not part of a quorum"),
    ],
    ids=["on", "switched off", "nothing", "garbage", "no quorum"],
)
def test_what_a_server_says_is_taken_and_nothing_is_guessed(
    answer: bytes, version: str | None, role: str | None, problem: str | None
) -> None:
    """A word that is switched off is no fault; being out of the quorum is one."""
    with answering(answer) as host:
        (state,) = states(Address((host,)), 5.0)
    assert (state.address, state.version, state.role, state.problem) == (host, version, role, problem)


def test_each_host_is_asked_within_the_time() -> None:
    """One that does not listen is a problem of its own; when the time is over the rest is not asked."""
    with answering(SRVR) as host:
        first, second = states(Address(("127.0.0.1:1", host)), 5.0)
    assert (first.problem, second.version) == ("does not answer: ConnectionRefusedError", "3.9.4")
    (late,) = states(Address(("127.0.0.1:1",)), 0.0)
    assert late.problem == "not queried: no time was left"
