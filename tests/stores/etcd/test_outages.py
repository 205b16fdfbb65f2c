"""Servers that stop, die, come back, and connections that break, under a client that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext

import pytest

from kedge.stores import (
    ABSENT,
    Changed,
    MetadataStore,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    Unavailable,
    open_store,
)
from kedge.stores.suite.backend import get, put
from servers import LocalEtcd, Proxy, free_ports
from tests.kit.waiting import until
from tests.stores.etcd.served import server
from tests.stores.kit import CALL_S, foreign, no_thread_but, raised_by, until_event, until_state, watched

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def local() -> Iterator[LocalEtcd]:
    """A server of this test alone, which it may stop."""
    with LocalEtcd(durable=False) as server_of_its_own:
        yield server_of_its_own


@pytest.mark.full
def test_session_says_why_it_is_not_connected(local: LocalEtcd) -> None:
    with closing(open_store(local.url("/a", session_timeout=3))) as store, closing(watched(store, "/x")) as stream:
        assert store.session.why == ""
        local.pause()
        until_state(stream, SessionState.SUSPENDED)
        assert store.session.why.startswith(f"no etcd answers at {local.url('/a')}: DEADLINE_EXCEEDED ")
        local.resume()
        until_event(stream, lambda event: isinstance(event, SessionChanged) and event.state is not SessionState.LOST)
        assert store.session.why == ""


@pytest.mark.full
def test_streams_go_on_after_a_restart_without_a_resync(local: LocalEtcd) -> None:
    """The watch goes on at the revision where it was, so nothing is missed and nothing has to be looked at again."""
    store, other = open_store(local.url("/a")), open_store(local.url("/a"))
    stream = watched(store, "/w")
    local.restart()
    until_state(stream, SessionState.RESUMED)
    put(other, "/w/a")
    events = until_event(stream, lambda event: event == Changed("/w/a"))
    assert not [event for event in events if isinstance(event, Resync)]
    store.close()
    other.close()


def test_a_history_that_went_while_the_client_was_away_is_a_resync(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """The revision where the watch would go on is compacted: Resync("compacted"), then hints as before."""
    store = opening(f"etcd://{proxy.address}{root}")
    stream = watched(store, "/w")
    proxy.cut()
    until_state(stream, SessionState.SUSPENDED)
    for step in range(5):
        put(other, f"/w/{step}")
    server().ask("kv/compaction", {"revision": other.snapshot("/w", timeout_s=CALL_S).cursor, "physical": True})
    proxy.mend()
    events = until_event(stream, lambda event: event == Resync("/w", "compacted"))
    assert not [event for event in events if isinstance(event, Changed)]
    put(other, "/w/after")
    until_event(stream, lambda event: event == Changed("/w/after"))


def test_data_that_were_put_back_to_an_older_state_are_a_resync(opening: Callable[[str], MetadataStore]) -> None:
    """A server that never had the revision of the watch: it would be silent until it gets there. What is written after
    that is reported, by its name or by one more Resync."""
    with LocalEtcd(durable=False) as first, closing(Proxy(first.address)) as proxy:
        store = opening(f"etcd://{proxy.address}/a?session_timeout=60")
        for step in range(20):
            put(store, f"/w/{step}")
        stream = watched(store, "/w")
        port = int(first.address.rpartition(":")[2])
        first.stop()
        peer, metrics = free_ports(2)
        with LocalEtcd(durable=False, ports=(port, peer, metrics)) as second:
            until_event(stream, lambda event: isinstance(event, Resync))
            other = opening(second.url("/a"))
            put(other, "/w/new")
            until_event(stream, lambda event: event == Changed("/w/new") or isinstance(event, Resync))
            assert store.children("/w", timeout_s=CALL_S) == ["new"]


@pytest.mark.full
def test_a_silent_connection_is_noticed_before_the_session_can_have_ended(
    proxy: Proxy, root: str, opening: Callable[[str], MetadataStore]
) -> None:
    """Answers are swallowed, the connection stays open: Suspended early enough that the session is there when they come
    again, and calls are not sent meanwhile."""
    store = opening(f"etcd://{proxy.address}{root}?session_timeout=6")
    session = store.session.session_id
    stream = watched(store, "/w")
    proxy.swallow()
    until_state(stream, SessionState.SUSPENDED)
    with pytest.raises(Unavailable):
        store.commit([Put("/w/a", b"", ABSENT)], timeout_s=0.3)
    proxy.speak()
    events = until_event(stream, lambda event: isinstance(event, SessionChanged))
    assert events[-1] == SessionChanged(SessionState.RESUMED, session)


def test_of_several_endpoints_any_one_that_answers_is_enough(
    root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """At the opening, and when the one in use goes: the same session goes on over another."""
    with closing(Proxy(server().address)) as one, closing(Proxy(server().address)) as two:
        store = opening(f"etcd://127.0.0.1:1,{one.address},{two.address}{root}")
        session = store.session
        stream = watched(store, "/w")
        for down, up in ((one, two), (two, one)):
            up.mend()
            down.cut()
            key = f"/w/{down.address.rpartition(':')[2]}"
            put(other, key)
            until_event(stream, lambda event, key=key: event == Changed(key))  # type: ignore[misc]
            assert store.get(key, timeout_s=CALL_S) is not None
        assert store.session == session


def test_a_wait_for_a_connection_ends_with_it_or_at_the_deadline(
    proxy: Proxy, root: str, opening: Callable[[str], MetadataStore]
) -> None:
    """A commit of a suspended client goes out when the connection is back, as long as its time lasts."""
    store = opening(f"etcd://{proxy.address}{root}")
    stream = watched(store, "/w")
    proxy.cut()
    until_state(stream, SessionState.SUSPENDED)
    with pytest.raises(Unavailable) as raised:
        store.commit([Put("/w/a", b"", ABSENT)], timeout_s=0.2)
    assert raised.value.applied == "no"
    mending = threading.Timer(0.2, proxy.mend)
    mending.start()
    put(store, "/w/b")
    mending.join()
    assert store.children("/w", timeout_s=CALL_S) == ["b"]


@pytest.mark.full
@pytest.mark.parametrize("says", [b"HTTP/1.1 404 Not Found\r\n\r\n", b"", None], ids=["http", "silence", "nobody"])
def test_port_that_is_no_etcd_is_a_clear_error_in_time(says: bytes | None) -> None:
    """Unavailable, which names the place, though no server ever answers; and no thread is left."""
    before = set(threading.enumerate())
    with nullcontext(f"127.0.0.1:{free_ports(1)[0]}") if says is None else foreign(says) as address:
        error = raised_by(lambda: open_store(f"etcd://{address}/a?connect_timeout=1"))
        assert isinstance(error, Unavailable)
        assert f"no etcd answers at etcd://{address}/a" in str(error)
    no_thread_but(before)


@pytest.mark.full
def test_nothing_is_left_of_a_client_that_is_closed_while_it_is_cut_off(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """Closing does not wait for the server; the ephemeral keys go when the session time is over."""
    before = set(threading.enumerate())
    store = opening(f"etcd://{proxy.address}{root}?session_timeout=2")
    put(store, "/e", ephemeral=True)
    proxy.cut()
    store.close()
    no_thread_but(before)
    until(lambda: get(other, "/e") is None, "the key is gone")
