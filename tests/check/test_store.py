"""Reading a store to look at it: nothing is written, nothing is left, and no instant is made up."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kedge.controller.check import Report, check_store
from kedge.stores import ABSENT, MemoryServer, MemoryStore, Put, Snapshot, Unavailable
from kedge.stores.base import Delete
from kedge.stores.recipes import EPOCH_KEY
from kedge.stores.tree import TreeEntry
from tests.check.trees import STATE, T, entries, good, state


def server(**more: object) -> MemoryServer:
    """A good tree as a restart leaves it: without what is ephemeral."""
    found = MemoryServer()
    tree = entries(good() | more)
    found.plant(TreeEntry(entry.key, entry.value, entry.generation) for entry in tree if entry.owner is None)
    return found


@pytest.mark.parametrize("broken", [{}, {STATE: b"{broken"}, {STATE: b"\xff"}, {T: b"[]"}, {EPOCH_KEY: b""}])
def test_nothing_is_written(broken: dict[str, bytes]) -> None:
    """Every row is the same object's worth: value, version, generation, created, owner; the revision stands still."""
    held = server(**broken)
    before, revision, sessions = dict(held.table.rows), held.revision, held.sessions
    store = MemoryStore(held)
    check_store(store, timeout_s=1)
    store.close()
    assert (held.table.rows, held.revision, held.sessions) == (before, revision, sessions)


def test_findings_of_an_atomic_snapshot_are_reported_at_once() -> None:
    report = check_store(MemoryStore(server(**{STATE: state(9, [1, 2])})), timeout_s=1)
    assert report.consistent
    assert [f.kind for f in report.at_least("error")] == ["leader-outside-isr"]


class Torn(MemoryStore):
    """A store whose snapshots are not one instant, as ZooKeeper's: `meanwhile` happens after the first half."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        first = super().snapshot(prefix, timeout_s=timeout_s)
        self.meanwhile()
        second = super().snapshot(prefix, timeout_s=timeout_s)
        half = len(first.entries) // 2
        edge = first.entries[half].key
        later = tuple(entry for entry in second.entries if entry.key >= edge)
        return Snapshot(first.entries[:half] + later, second.cursor, consistent=False)


def torn(**more: object) -> tuple[Torn, MemoryStore]:
    held = server(**more)
    return Torn(held), MemoryStore(held)


def test_a_commit_in_the_midst_of_a_snapshot_is_no_finding() -> None:
    """A topic that is created meanwhile: its config is seen only with the second look."""
    store, other = torn()
    left = [1]

    def create() -> None:
        if left.pop() if left else 0:
            topic = b'{"version":3,"partitions":{"0":[1]},"topic_id":"z9PrII53SbK0XA0nyKrgJw"}'
            raw = b'{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
            puts = {"/brokers/topics/a": topic, "/config/topics/a": b'{"config":{}}'}
            puts["/brokers/topics/a/partitions/0/state"] = raw
            other.commit([Put(key, value, ABSENT) for key, value in puts.items()], timeout_s=1)

    store.meanwhile = create
    report = check_store(store, timeout_s=1)
    assert not left
    assert (report.consistent, _warnings(report)) == (False, [])


def test_what_is_found_twice_is_reported_without_an_atomic_snapshot() -> None:
    store, _ = torn(**{STATE: state(9, [1, 2])})
    report = check_store(store, timeout_s=1)
    assert (report.consistent, _warnings(report)) == (False, ["leader-outside-isr"])


def test_what_is_gone_at_the_second_look_is_not_reported() -> None:
    """A finding of the first look alone may have been the tear."""
    store, other = torn(**{"/config/topics/u": {"config": {}}})
    looks = [lambda: None, lambda: _delete(other, "/config/topics/u")]

    def look() -> None:
        looks.pop(0)()

    store.meanwhile = look
    assert _warnings(check_store(store, timeout_s=1)) == []


def _delete(store: MemoryStore, key: str) -> None:
    entry = store.get(key, timeout_s=1)
    assert entry is not None
    store.commit([Delete(key, entry.version)], timeout_s=1)


def _warnings(report: Report) -> list[str]:
    return [finding.kind for finding in report.at_least("warning")]


def test_a_store_that_cannot_be_reached_raises_what_it_raises() -> None:
    store = MemoryStore(server())
    store.disconnect()
    with pytest.raises(Unavailable):
        check_store(store, timeout_s=1)


@pytest.mark.full
def test_two_hundred_thousand_partitions_are_looked_at_in_seconds() -> None:
    """2.2 s where it was measured; the bound is for a machine that is busy."""
    held = MemoryServer()
    raw = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}'
    replicas = ",".join(f'"{p}":[1,2,3]' for p in range(100))
    rows = [TreeEntry(EPOCH_KEY, b"1", 0)]
    for n in range(2000):
        key = f"/brokers/topics/t{n}"
        rows.append(TreeEntry(key, f'{{"version":3,"partitions":{{{replicas}}},"topic_id":"{n:022}"}}'.encode(), 0))
        rows += [TreeEntry(f"{key}/partitions/{p}/state", raw, 0) for p in range(100)]
    held.plant(rows)
    began = time.monotonic()
    report = check_store(MemoryStore(held), timeout_s=10)
    assert time.monotonic() - began < 30
    assert (report.counts.partitions, _warnings(report)) == (200_000, [])
