"""What the memory store has beyond the contract: a clock that ends sessions, hooks, options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedge.stores import (
    PRESENT,
    Changed,
    Closed,
    Depth,
    Invalid,
    MemoryServer,
    MemoryStore,
    Resync,
    SessionChanged,
    StoreEvent,
    Unavailable,
)
from kedge.stores.base import SessionState as State
from kedge.stores.suite.backend import delete, get, put
from tests.conformance.bindings import Clock
from tests.stores.kit import drained, write


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> MemoryServer:
    return MemoryServer(clock=clock, session_timeout_s=18.0)


def changed(*states: tuple[State, int]) -> list[StoreEvent]:
    return [SessionChanged(state, session_id) for state, session_id in states]


def test_store_alone_has_a_server_with_its_options() -> None:
    store = MemoryStore(versioning="per_key", session_timeout_s=3.0, first_session_id=100)
    put(store, "/a")
    others = [MemoryStore(store.server) for _ in range(2)]
    assert get(others[0], "/a") is not None
    assert [other.session.session_id for other in others] == [101, 102]
    assert (store.server.sessions, store.session_timeout_s) == ((100, 101, 102), 3.0)
    assert not store.capabilities.versions_unique


@pytest.mark.parametrize(
    "options",
    [
        {"versioning": "none"},
        {"session_timeout_s": 0},
        {"queue_events_max": -1},
        {"server": MemoryServer(), "versioning": "global"},
    ],
    ids=["no versioning", "no session", "no queue", "of an existing server"],
)
def test_options_without_a_meaning_are_invalid(options: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        MemoryStore(**options)


def test_cut_client_loses_its_session_by_the_clock(server: MemoryServer, clock: Clock) -> None:
    """Others see its keys vanish at the timeout; the zombie learns of it when it reconnects."""
    zombie, other = MemoryStore(server), MemoryStore(server)
    put(zombie, "/a/e", ephemeral=True)
    own, theirs = zombie.subscribe("/a", Depth.VALUES), other.subscribe("/a/e", Depth.SELF)
    drained(theirs)
    zombie.disconnect()
    zombie.disconnect()
    with pytest.raises(Unavailable):
        zombie.another_session()
    clock.now_s += 17.9
    assert get(other, "/a/e") is not None
    assert drained(theirs) == []
    clock.now_s += 0.1
    assert drained(theirs) == [Changed("/a/e")]
    assert get(other, "/a/e") is None
    assert drained(own) == [Resync("/a", "initial"), *changed((State.SUSPENDED, 1))]
    assert (zombie.session.session_id, zombie.session.connected, server.sessions) == (1, False, (2,))
    zombie.reconnect()
    zombie.reconnect()
    assert drained(own) == [*changed((State.LOST, 1), (State.STARTED, 3)), Resync("/a", "session")]
    put(zombie, "/a/b", ephemeral=True)
    assert drained(own) == [Changed("/a/b")]
    assert server.sessions == (2, 3)


def test_timeout_counts_without_any_call_in_between(server: MemoryServer, clock: Clock) -> None:
    zombie = MemoryStore(server)
    zombie.disconnect()
    clock.now_s += 50
    zombie.reconnect()
    assert zombie.session.session_id == 2


def test_reconnect_in_time_keeps_the_session(server: MemoryServer, clock: Clock) -> None:
    """The time restarts with the next cut; a stream may be opened meanwhile, which gets no hints before."""
    store, other = MemoryStore(server), MemoryStore(server)
    put(store, "/e", ephemeral=True)
    for cut in range(3):
        store.disconnect()
        stream = store.subscribe("/a", Depth.SELF)
        write(other, "/a", b"%d" % cut)
        clock.now_s += 16.9
        store.reconnect()
        initial = Resync("/a", "initial")
        assert drained(stream) == [initial, *changed((State.RESUMED, 1)), Resync("/a", "reconnected")]
    assert get(store, "/e") is not None


def test_closed_client_that_is_cut_off_lives_until_its_time(server: MemoryServer, clock: Clock) -> None:
    """It cannot say goodbye."""
    store, other = MemoryStore(server), MemoryStore(server)
    put(store, "/e", ephemeral=True)
    store.disconnect()
    store.close()
    store.reconnect()
    store.disconnect()
    assert get(other, "/e") is not None
    clock.now_s += 18
    assert get(other, "/e") is None
    with pytest.raises(Closed):
        get(store, "/e")


def test_sessions_end_in_the_order_of_their_cuts(server: MemoryServer, clock: Clock) -> None:
    stores = [MemoryStore(server) for _ in range(3)]
    for number in (2, 0, 1):
        clock.now_s += 1
        stores[number].disconnect()
    clock.now_s += 17
    assert server.sessions == (2,)
    stores[1].reconnect()
    assert stores[1].session.session_id == 2


def test_expiring_no_session_changes_nothing(server: MemoryServer) -> None:
    store = MemoryStore(server)
    assert server.expire(1)
    assert not server.expire(1)
    assert store.session.session_id == 2
    store.disconnect()
    store.expire()
    assert server.sessions == ()


def test_waiting_poll_ends_sessions_by_the_real_clock() -> None:
    server = MemoryServer(session_timeout_s=0.05)
    cut, other = MemoryStore(server), MemoryStore(server)
    put(cut, "/e", ephemeral=True)
    stream = other.subscribe("/e", Depth.SELF)
    drained(stream)
    cut.disconnect()
    assert stream.poll(10) == Changed("/e")
    assert stream.poll(0.01) is None


def test_closed_server_refuses_clients(server: MemoryServer) -> None:
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.SELF)
    server.close()
    server.close()
    calls: list[Callable[[], object]] = [lambda: get(store, "/a"), lambda: MemoryStore(server), lambda: stream.poll(1)]
    for call in calls:
        with pytest.raises(Closed):
            call()


def test_full_queue_becomes_one_resync_per_prefix() -> None:
    """Session events stay."""
    server = MemoryServer(queue_events_max=8)
    store, other = MemoryStore(server), MemoryStore(server)
    stream = store.subscribe("/a", Depth.VALUES)
    stream.add("/b", Depth.VALUES)
    store.disconnect()
    store.reconnect()
    for number in range(10):
        put(other, f"/a/{number}")
    events = drained(stream)
    expected = [*changed((State.SUSPENDED, 1), (State.RESUMED, 1)), Resync("/a", "overflow"), Resync("/b", "overflow")]
    assert events[:4] == expected
    assert len(events) <= 8


def test_watch_that_is_added_twice_hints_once(server: MemoryServer) -> None:
    """`remove` ends all depths of a prefix; a hint that is queued is not queued again."""
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.SELF)
    stream.add("/a", Depth.SELF)
    stream.add("/a", Depth.CHILDREN)
    drained(stream)
    put(store, "/a")
    put(store, "/a", b"2", PRESENT)
    assert drained(stream) == [Changed("/a")]
    put(store, "/a", b"3", PRESENT)
    assert drained(stream) == [Changed("/a")]
    stream.remove("/a")
    stream.remove("/never")
    put(store, "/a/b")
    assert drained(stream) == []


def test_names_are_hinted_up_to_the_first_known_parent(server: MemoryServer) -> None:
    """A deep key makes names appear at every level that was not there; its deletion takes them away."""
    store = MemoryStore(server)
    streams = [store.subscribe(prefix, Depth.CHILDREN) for prefix in ("/", "/a", "/a/b")]

    def hinted() -> list[list[str]]:
        return [[e.key for e in drained(stream) if isinstance(e, Changed)] for stream in streams]

    put(store, "/a/b/c")
    assert hinted() == [["/a"], ["/a/b"], ["/a/b/c"]]
    put(store, "/a/b/d")
    assert hinted() == [[], [], ["/a/b/d"]]
    delete(store, "/a/b/c", PRESENT)
    delete(store, "/a/b/d", PRESENT)
    assert hinted() == [["/a"], ["/a/b"], ["/a/b/c", "/a/b/d"]]
