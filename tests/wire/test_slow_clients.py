"""Who sends byte after byte, so that a connection is never idle, or never says who it is."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kedge.controller.wire import Limits, Users, allow_all
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RawClient, Served

pytestmark = pytest.mark.slow  # a second each, which is the least that a limit can be


@contextmanager
def dripping(client: RawClient, sends: Callable[[], bytes]) -> Iterator[None]:
    """The client sends, several times a second, until it cannot any more; that it comes to that."""
    over = threading.Event()

    def drip() -> None:
        try:
            while not over.wait(0.1):
                client.send(sends())
        except OSError:
            over.set()

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
        assert over.wait(DEADLINE_S)
    finally:
        over.set()
        thread.join(DEADLINE_S)


@pytest.mark.parametrize("size", [100, 50_000_000])
def test_a_frame_that_drips_ends_its_connection_and_gives_its_room_back(size: int) -> None:
    """A second client has room for its frame meanwhile, however large the first one is to be."""
    limits = Limits(frame_s=1, queued_bytes=50_000_000)
    with Served(limits=limits) as served, RawClient(served.address) as slow, RawClient(served.address) as other:
        slow.send(struct.pack(">i", size))
        with dripping(slow, lambda: b"\0"):
            topics = [{"name": "x" * 200, "topic_id": None} for _ in range(200)]  # a frame that needs room
            assert other.ask("Metadata", 12, topics=topics).topics
            until(lambda: served.gateway.counts["slow_frame"] == 1)
        assert other.ask("ApiVersions", 0).api_keys


def test_a_login_that_does_not_end_is_hung_up_on_though_every_frame_of_it_comes_in_time() -> None:
    users = Users({"alice": "wonder"})
    with Served(users=users, authorizer=allow_all, limits=Limits(login_s=1)) as served:
        with RawClient(served.address) as silent, RawClient(served.address) as chatty:
            versions = struct.pack(">ihhih", 10, 18, 0, 7, -1)
            with dripping(chatty, lambda: versions):
                until(lambda: served.gateway.counts["slow_login"] == 2)
            assert silent.receive() is None
        assert served.gateway.counts["idle"] == 0


def test_who_has_logged_in_stays_for_longer_than_a_login_may_take() -> None:
    """No login is required here, so it is known at once; with a password, when that was right."""
    with Served(limits=Limits(login_s=1)) as known, RawClient(known.address) as first:
        users = Users({"alice": "wonder"})
        with (
            Served(users=users, authorizer=allow_all, limits=Limits(login_s=1)) as asked,
            RawClient(asked.address) as second,
            RawClient(asked.address) as silent,
        ):
            second.send(_frame(struct.pack(">hhih", 17, 0, 1, -1) + struct.pack(">h", 5) + b"PLAIN"))
            assert second.receive() is not None
            second.send(_frame(b"\0alice\0wonder"))
            assert second.receive() == b""
            assert silent.receive() is None  # its time is over, and so would be that of the others
            for client in (first, second):
                assert client.ask("Metadata", 12, topics=[]).brokers
            assert asked.gateway.counts["slow_login"] == 1


def _frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body
