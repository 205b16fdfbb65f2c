"""Watch, continued: properties of streams, also after failures."""

from __future__ import annotations

import threading

from ..base import (
    ABSENT,
    PRESENT,
    Changed,
    Depth,
    MetadataStore,
    Put,
    Resync,
    StoreError,
)
from .backend import (
    CALL_S,
    Backend,
    Hook,
    await_contact,
    await_hint,
    case,
    events_until,
    eventually,
    found,
    get,
    hints,
    put,
    quiet,
    strike,
    watch,
)


@case("watch")
def one_stream_over_several_prefixes(backend: Backend) -> None:
    """A prefix that is added later gets its own initial Resync in the same stream; one that is removed falls silent."""
    store = backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    stream.add("/v", Depth.SELF)
    events_until(backend, stream, "the second Resync", lambda event: event == Resync("/v", "initial"))
    put(store, "/w/a")
    await_hint(backend, stream, "/w/a")
    put(store, "/v")
    await_hint(backend, stream, "/v")
    stream.remove("/w")
    quiet(stream)
    put(store, "/w/b")
    put(store, "/v", b"2", PRESENT)
    seen = await_hint(backend, stream, "/v") + quiet(stream)
    assert Changed("/w/b") not in seen


@case("watch")
def several_depths_on_one_prefix(backend: Backend) -> None:
    """The same prefix may be watched at two depths in one stream."""
    store = backend.open()
    stream = watch(backend, store, "/w", Depth.SELF)
    stream.add("/w", Depth.CHILDREN)
    events_until(backend, stream, "the second Resync", lambda event: event == Resync("/w", "initial"))
    put(store, "/w")
    await_hint(backend, stream, "/w")
    put(store, "/w/a")
    await_hint(backend, stream, "/w/a")


@case("watch")
def poll_without_waiting(backend: Backend) -> None:
    """poll(0) returns None if there is no event, and never waits."""
    store = backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    quiet(stream)
    assert stream.poll(0) is None
    put(store, "/w/a")
    eventually(backend, "poll(0) gives the hint", lambda: stream.poll(0) == Changed("/w/a"))


@case("watch")
def a_waiting_poll_is_woken(backend: Backend) -> None:
    """A poll that waits in one thread returns when another client commits, long before its timeout."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    woken = threading.Event()

    def wait() -> None:
        await_hint(backend, stream, "/w/a")
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    put(other, "/w/a")
    assert woken.wait(backend.wait_s)
    thread.join()


@case("watch")
def close_twice_and_while_polling(backend: Backend) -> None:
    """Closing a stream ends a waiting poll with None, may be repeated, and later polls return None."""
    store = backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    quiet(stream)
    given: list[object] = []
    thread = threading.Thread(target=lambda: given.append(stream.poll(backend.wait_s * 10)))
    thread.start()
    stream.close()
    thread.join(backend.wait_s)
    assert not thread.is_alive()
    assert given == [None]
    stream.close()
    assert stream.poll(0) is None
    put(store, "/w/a")
    assert stream.poll(0) is None


@case("watch")
def no_thread_is_left(backend: Backend) -> None:
    """After a client with streams was closed, none of its threads is left."""
    first = backend.open()
    put(first, "/v")
    before = set(threading.enumerate())
    store = first.another_session()
    streams = [watch(backend, store, f"/w{index}", Depth.VALUES) for index in range(3)]
    put(store, "/w0/a")
    await_hint(backend, streams[0], "/w0/a")
    store.close()
    eventually(backend, "threads end", lambda: set(threading.enumerate()) <= before)


@case("watch")
def slow_consumer_is_told_to_look_again(backend: Backend) -> None:
    """A stream that is not read stays bounded, and in the end hinted at every key or gave a Resync."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    keys = [f"/w/{index:05}" for index in range(5000)]
    for start in range(0, len(keys), 100):
        other.commit([Put(key, b"", ABSENT) for key in keys[start : start + 100]], timeout_s=CALL_S)
    put(other, "/w/last")
    seen = await_hint(backend, stream, "/w/last") + quiet(stream)
    missing = set(keys)
    assert any(strike(missing, event) for event in seen)
    assert len(seen) <= len(keys) + 100


@case("watch", Hook.DISCONNECT)
def what_was_missed_while_cut_off_is_told(backend: Backend) -> None:
    """After a client was disconnected, a Resync (or hints) covers what was written meanwhile."""
    store, other = backend.open(), backend.open()
    put(other, "/w/a", b"1")
    stream = watch(backend, store, "/w", Depth.VALUES)
    backend.disconnect(store)
    put(other, "/w/a", b"2", PRESENT)
    put(other, "/w/b")
    backend.reconnect(store)
    await_hint(backend, stream, "/w/b")
    await_contact(backend, store)
    assert found(store, "/w/a").value == b"2"
    put(other, "/w/c")
    await_hint(backend, stream, "/w/c")


@case("watch", Hook.EXPIRE)
def streams_survive_the_session(backend: Backend) -> None:
    """After the session was lost, a stream gives a Resync and continues under the new session."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    backend.expire(store)
    events_until(backend, stream, "a Resync", lambda event: isinstance(event, Resync))
    put(other, "/w/a")
    await_hint(backend, stream, "/w/a")


@case("watch", Hook.RESTART)
def streams_survive_a_restart_of_the_server(backend: Backend) -> None:
    """After a restart of the server, writes are hinted at."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    backend.restart()
    eventually(backend, "a write is taken", lambda: _written(other, "/w/a"))
    events_until(backend, stream, "a hint", lambda event: hints(event, "/w/a"))


def _written(store: MetadataStore, key: str) -> bool:
    try:
        if get(store, key) is None:
            put(store, key)
    except StoreError:
        return False
    return True


@case("watch", Hook.COMPACT)
def a_compacted_history_is_a_resync(backend: Backend) -> None:
    """A cursor that the server has compacted gives no error, only a Resync."""
    store, other = backend.open(), backend.open()
    cursor = store.snapshot("/w", timeout_s=CALL_S).cursor
    for step in range(10):
        put(other, f"/w/{step}")
    backend.compact()
    stream = store.subscribe("/w", Depth.VALUES, cursor)
    await_hint(backend, stream, "/w/9")
    put(other, "/w/after")
    await_hint(backend, stream, "/w/after")
