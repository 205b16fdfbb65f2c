"""Servers that are gone, silent, old, foreign or killed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Depth,
    OutcomeUnknown,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    StoreError,
    Unavailable,
    open_store,
)
from kedge.stores.zookeeper import ZooKeeperStore
from servers import LocalZooKeeper, Proxy
from tests.conformance.frames import GET_DATA, MULTI_READ, UNIMPLEMENTED, FrameProxy
from tests.kit.waiting import until
from tests.stores.kit import CALL_S, foreign, no_thread_but, raised_by, until_event, watched

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.full
@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4oops", b"SSH-2.0-x\r\n" * 9])
def test_a_port_that_speaks_another_protocol(says: bytes) -> None:
    """The opening ends by itself, the error says where it was tried, and no thread is left."""
    before = set(threading.enumerate())
    with foreign(says) as address:
        error = raised_by(lambda: open_store(f"zookeeper://{address}/x?connect_timeout=1"))
        assert isinstance(error, Unavailable)
        assert f"{address}/x: no ZooKeeper answered" in str(error)
    no_thread_but(before)


@pytest.mark.full
def test_session_says_why_it_is_not_connected(own_server: LocalZooKeeper) -> None:
    with contextlib.closing(open_store(f"zookeeper://{own_server.address}/x?session_timeout=4")) as store:
        assert store.session.why == ""
        own_server.kill()
        until(lambda: store.session.why == f"{own_server.address}: connection refused", "the reason")
        own_server.start()
        until(lambda: store.session.connected, "contact")
        assert store.session.why == ""


@pytest.mark.full
def test_every_call_keeps_its_deadline_before_a_silent_server(own_server: LocalZooKeeper) -> None:
    store = open_store(f"zookeeper://{own_server.address}/x?session_timeout=30")
    store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
    own_server.pause()
    calls: list[Callable[[], object]] = [
        lambda: store.get("/a", sync=True, timeout_s=1.0),
        lambda: store.get_many(["/a"] * 3000, timeout_s=1.0),
        lambda: store.get_columns(["/a"] * 3000, timeout_s=1.0),
        lambda: store.children("/", timeout_s=1.0),
        lambda: store.snapshot("/", timeout_s=1.0),
        lambda: store.commit([Put("/a", b"v" * 900_000, PRESENT)], timeout_s=1.0),
        lambda: store.commit([Put("/a/b/c", b"", ABSENT)], timeout_s=1.0),
        lambda: store.commit([Put("/e", b"", PRESENT, ephemeral=True)], timeout_s=1.0),
    ]
    for number, call in enumerate(calls):
        assert isinstance(raised_by(call), (OutcomeUnknown, Unavailable)), number
    own_server.resume()
    store.close()


@pytest.mark.full
def test_a_busy_client_leaves_a_server_that_answers_nothing(server: LocalZooKeeper, chroot: str) -> None:
    """Its requests go out all the time, none is answered, and the connection stays: it is suspended all the same, and
    back when answers come."""
    with contextlib.closing(Proxy(server.address)) as proxy:
        store = open_store(f"zookeeper://{proxy.address}{chroot}?session_timeout=6")
        store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
        proxy.swallow()

        def suspended() -> bool:
            with pytest.raises((OutcomeUnknown, Unavailable)):
                store.commit([Put("/a", b"again", PRESENT)], timeout_s=0.3)
            return not store.session.connected

        until(suspended, "suspended")
        proxy.speak()
        until(lambda: store.session.connected, "back")
        store.close()


def test_closing_before_a_silent_server_does_not_wait_for_it(own_server: LocalZooKeeper) -> None:
    before = set(threading.enumerate())
    store = open_store(f"zookeeper://{own_server.address}/x?session_timeout=30")
    stream = store.subscribe("/", Depth.VALUES)
    until_event(stream, lambda event: isinstance(event, Resync))
    own_server.pause()
    assert raised_by(store.close) is None
    no_thread_but(before)


def test_watches_survive_a_restart_as_a_resync(own_server: LocalZooKeeper) -> None:
    """The stream says Suspended, Resumed, Resync, and goes on to hint; the session is the same."""
    store = open_store(f"zookeeper://{own_server.address}/x?session_timeout=20")
    stream = watched(store)
    session_id = store.session.session_id
    own_server.restart()
    events = until_event(stream, lambda event: event == Resync("/w", "reconnected"))
    states = [event.state for event in events if isinstance(event, SessionChanged)]
    assert (states[0], states[-1]) == (SessionState.SUSPENDED, SessionState.RESUMED)
    assert store.session.session_id == session_id
    store.commit([Put("/w/a", b"", ABSENT)], timeout_s=CALL_S)
    until_event(stream, lambda event: getattr(event, "key", None) == "/w/a")
    store.close()


def test_a_server_without_multi_read_is_read_by_gets(server: LocalZooKeeper, chroot: str) -> None:
    """Asked once, when the store is opened: it answers unimplemented and drops the connection; after that it is not
    asked again, and watches stand."""
    proxy = FrameProxy(server.port, lambda opcode: UNIMPLEMENTED if opcode == MULTI_READ else None)
    store = open_store(f"zookeeper://{proxy.address}{chroot}")
    stream = watched(store)
    keys = [f"/w/{index:04}" for index in range(700)]
    store.commit([Put(key, key.encode(), ABSENT) for key in keys], timeout_s=CALL_S)
    assert store.get_columns([*keys, "/none"], timeout_s=CALL_S).values == [*(key.encode() for key in keys), None]
    assert [entry and entry.key for entry in store.get_many(["/none", *keys], timeout_s=CALL_S)] == [None, *keys]
    assert [entry.key for entry in store.snapshot("/", timeout_s=CALL_S).entries] == keys
    until_event(stream, lambda event: getattr(event, "key", None) == keys[-1])
    assert proxy.judged == 1
    store.close()
    proxy.close()


def test_a_server_that_loses_multi_read_later(server: LocalZooKeeper, chroot: str) -> None:
    """A rolling downgrade: the call that finds out fails as Unavailable, the next one goes by gets."""
    proxy = FrameProxy(server.port, lambda _: None)
    store = open_store(f"zookeeper://{proxy.address}{chroot}")
    store.commit([Put("/a", b"1", ABSENT)], timeout_s=CALL_S)
    proxy.judge = lambda opcode: UNIMPLEMENTED if opcode == MULTI_READ else None
    with pytest.raises(Unavailable, match="multiRead"):
        store.get_columns(["/a"], timeout_s=CALL_S)

    def read() -> bool:
        with contextlib.suppress(OutcomeUnknown, Unavailable):  # until the connection is back
            return store.get_columns(["/a"], timeout_s=CALL_S).values == [b"1"]
        return False

    until(read, "it is read by gets")
    store.close()
    proxy.close()


def test_an_answer_that_kazoo_cannot_read_is_survived(server: LocalZooKeeper, chroot: str) -> None:
    """Kazoo gives its connection up for good on a code that it does not know; it is started again, with a new
    session, and streams hear of it."""
    proxy = FrameProxy(server.port, lambda _: None)
    store = open_store(f"zookeeper://{proxy.address}{chroot}")
    stream = watched(store)
    old = store.session.session_id
    proxy.judge = lambda opcode: -9999 if opcode == GET_DATA else None
    with pytest.raises(StoreError):
        store.get("/a", timeout_s=1.0)
    proxy.judge = lambda _: None
    until_event(stream, lambda event: event == Resync("/w", "session"))
    assert store.session.session_id != old
    assert store.get("/a", timeout_s=CALL_S) is None
    store.commit([Put("/w/a", b"", ABSENT)], timeout_s=CALL_S)
    until_event(stream, lambda event: getattr(event, "key", None) == "/w/a")
    store.close()
    proxy.close()


def test_stream_without_a_reader_stays_bounded(own_server: LocalZooKeeper) -> None:
    """However often the connection comes and goes."""
    store = open_store(f"zookeeper://{own_server.address}/x")
    stream = watched(store)
    for step in range(12_000):
        stream.told(SessionChanged(SessionState.SUSPENDED, step))  # type: ignore[attr-defined]
    events = until_event(stream, lambda event: isinstance(event, Resync))
    assert len(events) <= 10_001
    assert events[-1] == Resync("/w", "overflow")
    assert SessionChanged(SessionState.SUSPENDED, 11_999) in events
    store.close()


@pytest.mark.full
def test_a_stream_is_opened_without_contact(own_server: LocalZooKeeper) -> None:
    """Its first event comes when watching has begun, and is the initial Resync."""
    store = open_store(f"zookeeper://{own_server.address}/x?session_timeout=30")
    own_server.kill()
    until(lambda: not store.session.connected, "no contact")
    stream = store.subscribe("/w", Depth.VALUES)
    assert stream.poll(0) is None
    own_server.start()
    events = until_event(stream, lambda event: isinstance(event, Resync))
    assert events[-1] == Resync("/w", "initial")
    store.close()


def test_what_one_client_has_in_flight_does_not_hold_up_another_call(own_server: LocalZooKeeper) -> None:
    """More requests than a socket pair has room for are queued while the server says nothing, and none blocks."""
    store = open_store(f"zookeeper://{own_server.address}/x?session_timeout=20")
    assert isinstance(store, ZooKeeperStore)
    own_server.pause()

    def flood() -> None:
        for _ in range(500):
            with pytest.raises(OutcomeUnknown):
                store.get("/a", timeout_s=0.0)

    assert raised_by(flood) is None
    own_server.resume()
    assert store.get("/a", timeout_s=CALL_S) is None
    store.close()
