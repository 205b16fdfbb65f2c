"""Watch: a subscriber that reads what it gets hints for misses no acknowledged write."""

from __future__ import annotations

import random
import threading

from ..base import (
    ABSENT,
    PRESENT,
    Changed,
    Conflict,
    Delete,
    Depth,
    MetadataStore,
    Op,
    Put,
    Resync,
    Subscription,
)
from .backend import (
    CALL_S,
    Backend,
    await_hint,
    case,
    delete,
    events_until,
    eventually,
    found,
    get,
    put,
    quiet,
    strike,
    values,
    watch,
)


@case("watch")
def initial_resync_comes_first(backend: Backend) -> None:
    """The first event of a stream is Resync(prefix, "initial"), whether or not there are keys."""
    store = backend.open()
    put(store, "/w/a")
    for depth in Depth:
        for prefix in ("/w", "/none"):
            stream = store.subscribe(prefix, depth)
            assert stream.poll(backend.wait_s) == Resync(prefix, "initial")
            stream.close()


@case("watch")
def self_sees_create_update_delete(backend: Backend) -> None:
    """A stream on a key hints at its creation, updates and deletion, by other clients or this one."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w/key", Depth.SELF)
    for writer in (other, store):
        put(writer, "/w/key", b"1")
        await_hint(backend, stream, "/w/key")
        put(writer, "/w/key", b"2", PRESENT)
        await_hint(backend, stream, "/w/key")
        delete(writer, "/w/key", PRESENT)
        await_hint(backend, stream, "/w/key")


@case("watch")
def values_sees_create_update_delete(backend: Backend) -> None:
    """A stream on the values below a prefix hints at every write of a key directly below it."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    for key in ("/w/a", "/w/b"):
        put(other, key, b"1")
        await_hint(backend, stream, key)
        put(other, key, b"2", PRESENT)
        await_hint(backend, stream, key)
        delete(other, key, PRESENT)
        await_hint(backend, stream, key)


@case("watch")
def children_sees_names_come_and_go(backend: Backend) -> None:
    """A stream on the names below a prefix hints at names that appear and vanish, including mere parents of keys."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.CHILDREN)
    put(other, "/w/a")
    await_hint(backend, stream, "/w/a")
    put(other, "/w/b/deep")
    await_hint(backend, stream, "/w/b")
    delete(other, "/w/a", PRESENT)
    await_hint(backend, stream, "/w/a")


@case("watch")
def write_between_snapshot_and_subscribe_is_not_missed(backend: Backend) -> None:
    """A stream opened with the cursor of a snapshot hints at what was written after the snapshot."""
    store, other = backend.open(), backend.open()
    put(other, "/w/before")
    cursor = store.snapshot("/w", timeout_s=CALL_S).cursor
    put(other, "/w/between")
    stream = store.subscribe("/w", Depth.VALUES, cursor)
    await_hint(backend, stream, "/w/between")
    put(other, "/w/after")
    await_hint(backend, stream, "/w/after")


@case("watch")
def burst_of_a_hundred(backend: Backend) -> None:
    """A hundred keys that are written at once are all hinted at; writes of one key may merge."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    keys = [f"/w/{index:03}" for index in range(100)]
    other.commit([Put(key, b"", ABSENT) for key in keys], timeout_s=CALL_S)
    _await_hints(backend, stream, keys)
    for step in range(100):
        put(other, "/w/000", b"%d" % step, PRESENT)
    await_hint(backend, stream, "/w/000")


@case("watch")
def two_subscribers(backend: Backend) -> None:
    """Two streams of one client, and one of another, each get the hint."""
    store, other = backend.open(), backend.open()
    streams = [watch(backend, client, "/w", Depth.VALUES) for client in (store, store, other)]
    put(other, "/w/a")
    for stream in streams:
        await_hint(backend, stream, "/w/a")


@case("watch")
def nothing_outside_the_prefix(backend: Backend) -> None:
    """No hint names a key that is not watched: siblings, deeper keys, the prefix itself under VALUES."""
    store, other = backend.open(), backend.open()
    put(other, "/w/deep/er")
    stream = watch(backend, store, "/w", Depth.VALUES)
    own = watch(backend, store, "/w/key", Depth.SELF)
    for key in ("/w2", "/w2/x", "/v"):
        put(other, key)
    put(other, "/w/deep/er", b"2", PRESENT)
    put(other, "/w/key/below")
    put(other, "/w/seen")
    seen = await_hint(backend, stream, "/w/seen") + quiet(stream)
    allowed = {"/w/seen", "/w/key"}  # "/w/key" appeared as a name
    assert {event.key for event in seen if isinstance(event, Changed)} <= allowed
    assert {event.key for event in quiet(own) if isinstance(event, Changed)} <= {"/w/key"}


@case("watch")
def recreated_key_is_hinted_at(backend: Backend) -> None:
    """Deleting and creating a key again is hinted at, in one commit order or the other."""
    store, other = backend.open(), backend.open()
    put(other, "/w/a", b"1")
    stream = watch(backend, store, "/w/a", Depth.SELF)
    for step in range(5):
        delete(other, "/w/a", PRESENT)
        put(other, "/w/a", b"life %d" % step)
        _look_until(backend, store, stream, b"life %d" % step)


def _look_until(backend: Backend, store: MetadataStore, stream: Subscription, value: bytes) -> None:
    """Follow hints at /w/a until a read finds `value`."""
    entry = get(store, "/w/a")
    while entry is None or entry.value != value:
        await_hint(backend, stream, "/w/a")
        entry = get(store, "/w/a")


@case("watch")
def a_key_that_was_back_when_it_was_read_is_hinted_at_again(backend: Backend) -> None:
    """A reader that gets a hint at a deletion, and finds the key created again, gets one when it is deleted again; with
    one key, and with more than a store watches one by one."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    for keys in (["/w/a"], [f"/w/{index:02}" for index in range(30)]):
        creations = [Put(key, b"", ABSENT) for key in keys]
        deletions = [Delete(key, PRESENT) for key in keys]
        for ops in (creations, deletions):
            other.commit(ops, timeout_s=CALL_S)
            _await_hints(backend, stream, keys)
            quiet(stream)
        other.commit(creations, timeout_s=CALL_S)
        assert get(store, keys[0]) is not None
        other.commit(deletions, timeout_s=CALL_S)
        _await_hints(backend, stream, keys)


def _await_hints(backend: Backend, stream: Subscription, keys: list[str]) -> None:
    missing = set(keys)
    events_until(backend, stream, f"hints at {len(keys)} keys", lambda event: strike(missing, event))


@case("watch")
def store_calls_right_after_an_event(backend: Backend) -> None:
    """The reader of a stream may call the store after each event, from the same thread."""
    store, other = backend.open(), backend.open()
    stream = watch(backend, store, "/w", Depth.VALUES)
    for step in range(20):
        put(other, f"/w/{step}", b"%d" % step)
        await_hint(backend, stream, f"/w/{step}")
        assert found(store, f"/w/{step}").value == b"%d" % step
        put(store, f"/answer/{step}")


@case("watch")
def a_follower_converges_under_random_writers(backend: Backend) -> None:
    """A follower that reads what it gets hints for ends with the content of the store, whatever three writers did."""
    store = backend.open()
    keys = [f"/w/{index}" for index in range(8)]
    stream = watch(backend, store, "/w", Depth.VALUES)
    writers = [threading.Thread(target=_scribble, args=(backend.open(), keys, seed)) for seed in range(3)]
    for thread in writers:
        thread.start()
    view: dict[str, bytes] = {}
    while any(thread.is_alive() for thread in writers):
        _follow(store, stream, view, 0.01)
    for thread in writers:
        thread.join()

    def converged() -> bool:
        _follow(store, stream, view, 0.01)
        return view == values(store.snapshot("/w", timeout_s=CALL_S).entries)

    eventually(backend, "the follower converges", converged)


def _scribble(store: MetadataStore, keys: list[str], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - seeded randomness is the aim
    for step in range(100):
        key = chance.choice(keys)
        op: Op
        op = Delete(key, PRESENT) if chance.random() < 0.3 else Put(key, b"%d-%d" % (seed, step), PRESENT)
        try:
            store.commit([op], timeout_s=CALL_S)
        except Conflict:
            try:
                store.commit([Put(key, b"%d-%d" % (seed, step), ABSENT)], timeout_s=CALL_S)
            except Conflict:
                continue


def _follow(store: MetadataStore, stream: Subscription, view: dict[str, bytes], wait_s: float) -> None:
    """Take one event and read what it names."""
    event = stream.poll(wait_s)
    if isinstance(event, Changed):
        entry = get(store, event.key)
        if entry is None:
            view.pop(event.key, None)
        else:
            view[event.key] = entry.value
    elif isinstance(event, Resync):
        view.clear()
        view.update(values(store.snapshot("/w", timeout_s=CALL_S).entries))
