"""Snapshot and bulk reads."""

from __future__ import annotations

import threading

from ..base import ABSENT, PRESENT, Delete, Put, StoreError
from .backend import CALL_S, Backend, case, fill, found, put, values


@case("snapshot")
def empty(backend: Backend) -> None:
    """A snapshot of an empty prefix is empty, at the root and below a key that does not exist."""
    store = backend.open()
    assert store.snapshot("/", timeout_s=CALL_S).entries == ()
    assert store.snapshot("/none", timeout_s=CALL_S).entries == ()


@case("snapshot")
def sorted_and_below_only(backend: Backend) -> None:
    """All keys below the prefix, at any depth, sorted; neither the prefix itself nor a sibling that begins with it."""
    store = backend.open()
    keys = ["/dir/b", "/dir/a/deep/er", "/dir/a", "/dir", "/dir2/x", "/di/x", "/dir-x", "/dir.y/z"]
    fill(store, keys)
    below = ["/dir/a", "/dir/a/deep/er", "/dir/b"]
    assert [entry.key for entry in store.snapshot("/dir", timeout_s=CALL_S).entries] == below
    assert [entry.key for entry in store.snapshot("/", timeout_s=CALL_S).entries] == sorted(keys)


@case("snapshot")
def entries_are_whole(backend: Backend) -> None:
    """An entry of a snapshot equals the entry that `get` returns, owner included."""
    store = backend.open()
    put(store, "/s/plain", b"1")
    put(store, "/s/plain", b"2", PRESENT)
    put(store, "/s/mine", b"3", ephemeral=True)
    plain, mine = found(store, "/s/plain"), found(store, "/s/mine")
    assert store.snapshot("/s", timeout_s=CALL_S).entries == (mine, plain)
    assert (plain.generation, mine.owner) == (1, store.session.session_id)


@case("snapshot")
def two_thousand_five_hundred_keys(backend: Backend) -> None:
    """A snapshot of 2,500 keys has each once."""
    store = backend.open()
    keys = [f"/many/{index // 50:03}/{index:05}" for index in range(2500)]
    fill(store, keys)
    entries = store.snapshot("/many", timeout_s=CALL_S).entries
    assert [entry.key for entry in entries] == keys
    assert {entry.value for entry in entries} == {b"x"}


@case("snapshot")
def bulk_reads_of_five_thousand_keys_with_holes(backend: Backend) -> None:
    """get_many and get_columns of 5,000 keys, every third of which is missing, have the order of the request."""
    store = backend.open()
    keys = [f"/many/{index:05}" for index in range(5000)]
    fill(store, [key for index, key in enumerate(keys) if index % 3])
    many = store.get_many(keys, timeout_s=CALL_S)
    columns = store.get_columns(keys, timeout_s=CALL_S)
    assert len(many) == len(columns.values) == len(columns.versions) == len(columns.generations) == len(keys)
    for index, (key, entry) in enumerate(zip(keys, many, strict=True)):
        if index % 3:
            assert entry is not None
            assert entry.key == key
            assert (columns.values[index], columns.versions[index]) == (b"x", entry.version)
        else:
            assert entry is None
            assert (columns.values[index], columns.versions[index], columns.generations[index]) == (None, 0, 0)


@case("snapshot")
def bulk_reads_of_nothing_and_of_one_key_twice(backend: Backend) -> None:
    """No keys give no results; a key that is requested twice is returned twice."""
    store = backend.open()
    put(store, "/a", b"1")
    assert store.get_many([], timeout_s=CALL_S) == []
    assert store.get_columns([], timeout_s=CALL_S).values == []
    first, second = store.get_many(["/a", "/a"], timeout_s=CALL_S)
    assert first == second == found(store, "/a")


@case("snapshot")
def consistent_is_truthful_under_writes(backend: Backend) -> None:
    """While a writer moves a token between two keys, a snapshot that says it is consistent has it exactly once."""
    writer, reader = backend.open(), backend.open()
    fill(writer, [f"/t/{index:03}" for index in range(1, 200)])
    put(writer, "/t/000", b"token")
    stop, failed = threading.Event(), threading.Event()

    def move() -> None:
        here, there = "/t/000", "/t/999"
        try:
            while not stop.is_set():
                writer.commit([Delete(here, PRESENT), Put(there, b"token", ABSENT)], timeout_s=CALL_S)
                here, there = there, here
        except StoreError:
            failed.set()

    thread = threading.Thread(target=move)
    thread.start()
    try:
        shots = [reader.snapshot("/t", timeout_s=CALL_S) for _ in range(20)]
    finally:
        stop.set()
        thread.join()
    assert not failed.is_set()
    for shot in shots:
        tokens = list(values(shot.entries).values()).count(b"token")
        assert tokens == 1 or not shot.consistent
    if reader.capabilities.atomic_snapshot:
        assert all(shot.consistent for shot in shots)


@case("snapshot")
def a_write_moves_the_cursor(backend: Backend) -> None:
    """If the cursors of two snapshots are equal, no client wrote anything in between."""
    store, other = backend.open(), backend.open()
    before = store.snapshot("/suite", timeout_s=CALL_S).cursor
    put(other, "/elsewhere", b"1")
    assert store.snapshot("/suite", timeout_s=CALL_S).cursor != before
