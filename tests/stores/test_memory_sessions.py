from __future__ import annotations

from typing import Any

import pytest

from kedge.stores import (
    ABSENT,
    Changed,
    Closed,
    Delete,
    Depth,
    Invalid,
    MemoryServer,
    MemoryStore,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    StoreEvent,
    Subscription,
    Unavailable,
)
from kedge.stores.suite.backend import put


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> MemoryServer:
    return MemoryServer(clock=clock, session_timeout_s=18.0)


def drain(stream: Subscription) -> list[StoreEvent]:
    events = []
    while (event := stream.poll(0)) is not None:
        events.append(event)
    return events


def test_a_store_alone_has_a_server_of_its_own() -> None:
    """MemoryStore() makes its server, `store.server` gives it, and more clients may join it."""
    store = MemoryStore(versioning="per_key", session_timeout_s=3.0)
    put(store, "/a")
    other = MemoryStore(store.server)
    assert other.get("/a", timeout_s=1) is not None
    assert not store.capabilities.versions_unique
    assert (store.session_timeout_s, other.capabilities) == (3.0, store.capabilities)


def test_options_go_to_a_new_server_only(server: MemoryServer) -> None:
    """Options beside a server that exists would be silently ignored, so they are refused."""
    with pytest.raises(Invalid, match="versioning"):
        MemoryStore(server, versioning="global")


@pytest.mark.parametrize("option", [{"versioning": "none"}, {"session_timeout_s": 0}, {"queue_events_max": -1}])
def test_bad_options(option: dict[str, Any]) -> None:
    """Options that make no sense are Invalid when the server is made."""
    with pytest.raises(Invalid):
        MemoryStore(**option)


def test_session_ids_count_up() -> None:
    """Ids are given in order from the first one, so that runs repeat."""
    server = MemoryServer(first_session_id=100)
    assert [MemoryStore(server).session.session_id for _ in range(3)] == [100, 101, 102]
    assert server.sessions == (100, 101, 102)


def test_a_cut_client_loses_its_session_when_the_clock_says_so(server: MemoryServer, clock: Clock) -> None:
    """Until the timeout the keys stay, from then on they are gone for the others; the zombie does not know yet."""
    zombie, other = MemoryStore(server), MemoryStore(server)
    put(zombie, "/e", ephemeral=True)
    watch = other.subscribe("/e", Depth.SELF)
    drain(watch)
    zombie.disconnect()
    clock.now_s = 17.9
    assert other.get("/e", timeout_s=1) is not None
    assert drain(watch) == []
    clock.now_s = 18.0
    assert drain(watch) == [Changed("/e")]
    assert other.get("/e", timeout_s=1) is None
    assert (zombie.session.session_id, zombie.session.connected) == (1, False)
    assert server.sessions == (2,)


def test_a_zombie_learns_it_when_it_reconnects(server: MemoryServer, clock: Clock) -> None:
    """After the server ended the session: Suspended, then Lost, Started with a new id, and Resync, in that order."""
    zombie = MemoryStore(server)
    stream = zombie.subscribe("/a", Depth.VALUES)
    zombie.disconnect()
    zombie.disconnect()
    clock.now_s = 18.0
    server.tick()
    assert drain(stream) == [Resync("/a", "initial"), SessionChanged(SessionState.SUSPENDED, 1)]
    zombie.reconnect()
    zombie.reconnect()
    assert drain(stream) == [
        SessionChanged(SessionState.LOST, 1),
        SessionChanged(SessionState.STARTED, 2),
        Resync("/a", "session"),
    ]
    put(zombie, "/a/b", ephemeral=True)
    assert drain(stream) == [Changed("/a/b")]
    assert server.sessions == (2,)


def test_reconnecting_too_late_without_any_touch_in_between(server: MemoryServer, clock: Clock) -> None:
    """The timeout counts also if no call reached the server until the zombie came back."""
    zombie = MemoryStore(server)
    zombie.disconnect()
    clock.now_s = 50.0
    zombie.reconnect()
    assert zombie.session.session_id == 2


def test_a_short_cut_keeps_the_session(server: MemoryServer, clock: Clock) -> None:
    """Reconnecting in time: Resumed, Resync "reconnected", the same id; and the time restarts after the next cut."""
    store = MemoryStore(server)
    put(store, "/e", ephemeral=True)
    stream = store.subscribe("/e", Depth.SELF)
    drain(stream)
    for now_s in (0.0, 17.0, 34.0):
        clock.now_s = now_s
        store.disconnect()
        clock.now_s = now_s + 16.9
        store.reconnect()
        assert drain(stream) == [
            SessionChanged(SessionState.SUSPENDED, 1),
            SessionChanged(SessionState.RESUMED, 1),
            Resync("/e", "reconnected"),
        ]
    assert store.get("/e", timeout_s=1) is not None


def test_all_calls_of_a_cut_client_are_unavailable(server: MemoryServer) -> None:
    """While it is cut off no call reaches the server, another_session neither; its siblings are not touched."""
    store = MemoryStore(server)
    sibling = store.another_session()
    store.disconnect()
    for call in (
        lambda: store.get("/a", timeout_s=1),
        lambda: store.get_many(["/a"], timeout_s=1),
        lambda: store.get_columns(["/a"], timeout_s=1),
        lambda: store.children("/a", timeout_s=1),
        lambda: store.snapshot("/a", timeout_s=1),
        lambda: store.commit([], timeout_s=1),
        store.another_session,
    ):
        with pytest.raises(Unavailable):
            call()
    put(sibling, "/a")


def test_a_stream_may_be_opened_while_cut_off(server: MemoryServer) -> None:
    """It begins as every stream does, gets no hints while cut off, and a Resync when the client is back."""
    store, other = MemoryStore(server), MemoryStore(server)
    store.disconnect()
    stream = store.subscribe("/a", Depth.SELF)
    put(other, "/a")
    assert drain(stream) == [Resync("/a", "initial")]
    store.reconnect()
    assert drain(stream) == [SessionChanged(SessionState.RESUMED, 1), Resync("/a", "reconnected")]


def test_closing_a_cut_client_leaves_its_session_to_the_clock(server: MemoryServer, clock: Clock) -> None:
    """A client that cannot reach the server cannot say goodbye: its keys stay until its time is over."""
    store, other = MemoryStore(server), MemoryStore(server)
    put(store, "/e", ephemeral=True)
    store.disconnect()
    store.close()
    store.reconnect()
    store.disconnect()
    assert other.get("/e", timeout_s=1) is not None
    clock.now_s = 18.0
    assert other.get("/e", timeout_s=1) is None
    with pytest.raises(Closed):
        store.get("/e", timeout_s=1)


def test_sessions_expire_in_the_order_in_which_they_were_cut(server: MemoryServer, clock: Clock) -> None:
    """Each cut client has its own time."""
    stores = [MemoryStore(server) for _ in range(3)]
    for number in (2, 0, 1):
        clock.now_s += 1
        stores[number].disconnect()
    clock.now_s = 20.0
    assert server.sessions == (2,)
    stores[1].reconnect()
    assert stores[1].session.session_id == 2


def test_expire_of_no_session_says_so(server: MemoryServer) -> None:
    """Expiring an id that does not live changes nothing and says False."""
    store = MemoryStore(server)
    assert server.expire(1)
    assert not server.expire(1)
    assert store.session.session_id == 2
    store.disconnect()
    store.expire()
    assert server.sessions == ()


def test_a_waiting_poll_sees_a_session_end_by_the_real_clock() -> None:
    """A poll that waits in real time ends the session of a cut client itself, when its time is over."""
    server = MemoryServer(session_timeout_s=0.05)
    cut, other = MemoryStore(server), MemoryStore(server)
    put(cut, "/e", ephemeral=True)
    stream = other.subscribe("/e", Depth.SELF)
    drain(stream)
    cut.disconnect()
    assert stream.poll(10) == Changed("/e")
    assert stream.poll(0.01) is None


def test_a_closed_server_refuses_new_clients(server: MemoryServer) -> None:
    """Closing the server closes its clients; it may be done twice."""
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.SELF)
    server.close()
    server.close()
    for call in (lambda: store.get("/a", timeout_s=1), lambda: MemoryStore(server), lambda: stream.poll(1)):
        with pytest.raises(Closed):
            call()


def test_a_full_queue_becomes_one_resync_per_prefix() -> None:
    """An overflow drops the hints, keeps the session events, and says Resync for each prefix."""
    server = MemoryServer(queue_events_max=8)
    store, other = MemoryStore(server), MemoryStore(server)
    stream = store.subscribe("/a", Depth.VALUES)
    stream.add("/b", Depth.VALUES)
    store.disconnect()
    store.reconnect()
    drain(stream)
    store.disconnect()
    store.reconnect()
    for number in range(10):
        put(other, f"/a/{number}")
    events = drain(stream)
    states = [event.state for event in events if isinstance(event, SessionChanged)]
    assert states == [SessionState.SUSPENDED, SessionState.RESUMED]
    assert events[2:4] == [Resync("/a", "overflow"), Resync("/b", "overflow")]
    assert len(events) <= 8


def test_one_hint_for_many_writes_of_a_key(server: MemoryServer) -> None:
    """A hint that was not read yet is not queued again; once read, the next write is hinted at."""
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.VALUES)
    drain(stream)
    for number in range(3):
        for key in ("/a/x", "/a/y"):
            version = store.get(key, timeout_s=1)
            store.commit([Put(key, b"%d" % number, ABSENT if version is None else version.version)], timeout_s=1)
    assert drain(stream) == [Changed("/a/x"), Changed("/a/y")]
    put(store, "/a/z")
    assert drain(stream) == [Changed("/a/z")]


def test_watching_a_prefix_twice_is_once(server: MemoryServer) -> None:
    """The same watch entered twice gives one hint, and `remove` ends all depths of a prefix."""
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.SELF)
    stream.add("/a", Depth.SELF)
    stream.add("/a", Depth.CHILDREN)
    drain(stream)
    put(store, "/a")
    assert drain(stream) == [Changed("/a")]
    stream.remove("/a")
    stream.remove("/never")
    put(store, "/a/b")
    assert drain(stream) == []


def test_names_are_hinted_at_up_to_the_first_known_parent(server: MemoryServer) -> None:
    """A deep key makes names appear at every level that was not there, and takes them away again."""
    store = MemoryStore(server)
    streams = {prefix: store.subscribe(prefix, Depth.CHILDREN) for prefix in ("/", "/a", "/a/b")}
    for stream in streams.values():
        drain(stream)
    put(store, "/a/b/c")
    assert [drain(stream) for stream in streams.values()] == [[Changed("/a")], [Changed("/a/b")], [Changed("/a/b/c")]]
    put(store, "/a/b/d")
    assert [drain(stream) for stream in streams.values()] == [[], [], [Changed("/a/b/d")]]
    for name in "cd":
        entry = store.get(f"/a/b/{name}", timeout_s=1)
        assert entry is not None
        store.commit([Delete(entry.key, entry.version)], timeout_s=1)
    hints = [drain(stream) for stream in streams.values()]
    assert hints == [[Changed("/a")], [Changed("/a/b")], [Changed("/a/b/c"), Changed("/a/b/d")]]
