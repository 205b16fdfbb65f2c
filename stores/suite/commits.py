"""Commit: many ops, all or nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

from ..base import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Delete,
    Invalid,
    MetadataStore,
    Op,
    Put,
    StoreError,
    TooLarge,
    Version,
)
from ..checks import OP_BYTES_FIXED, op_bytes
from .backend import CALL_S, Backend, case, delete, fill, found, get, put, raises, values


def conflict_of(store: MetadataStore, ops: Sequence[Op]) -> Conflict:
    """The Conflict that `ops` raise; fail if they are applied."""
    with raises(Conflict) as caught:
        store.commit(ops, timeout_s=CALL_S)
    assert caught.error.applied == "no"
    return caught.error


def refused(store: MetadataStore, ops: Sequence[Op], kind: type[StoreError]) -> None:
    """Fail unless `ops` raise `kind`, with nothing applied."""
    before = values(store.snapshot("/", timeout_s=CALL_S).entries)
    with raises(kind) as caught:
        store.commit(ops, timeout_s=CALL_S)
    assert caught.error.applied == "no"
    assert values(store.snapshot("/", timeout_s=CALL_S).entries) == before


@case("commit")
def one_bad_expectation_of_many_applies_nothing(backend: Backend) -> None:
    """If the expectation of one op fails, at any position, no op is applied, and the Conflict names that op."""
    store = backend.open()
    put(store, "/c/there", b"old")
    for place in (0, 3, 6):
        ops: list[Op] = [Put(f"/c/new{index}", b"", ABSENT) for index in range(6)]
        ops.insert(place, Put("/c/there", b"new", ABSENT))
        error = conflict_of(store, ops)
        assert (error.index, error.key) == (place, "/c/there")
        assert values(store.snapshot("/c", timeout_s=CALL_S).entries) == {"/c/there": b"old"}


@case("commit")
def the_first_failing_op_is_named(backend: Backend) -> None:
    """Of two failing ops the Conflict names the first."""
    store = backend.open()
    ops: list[Op] = [Put("/c/ok", b"", ABSENT), Check("/c/none", PRESENT), Put("/c/none2", b"", PRESENT)]
    assert conflict_of(store, ops).index == 1
    assert conflict_of(store, ops[::-1]).index == 0


@case("commit")
def checks_alone(backend: Backend) -> None:
    """A commit of checks says whether they hold, and changes nothing."""
    store = backend.open()
    version = put(store, "/c/a")
    checks: list[Op] = [Check("/c/a", version), Check("/c/none", ABSENT)]
    assert store.commit(checks, timeout_s=CALL_S).versions == (None, None)
    assert store.commit([Check("/c/a", PRESENT)], timeout_s=CALL_S).versions == (None,)
    assert found(store, "/c/a").generation == 0
    assert get(store, "/c/none") is None
    assert conflict_of(store, [Check("/c/a", ABSENT)]).index == 0
    assert conflict_of(store, [Check("/c/a", PRESENT), Check("/c/none", PRESENT)]).index == 1
    put(store, "/c/a", b"new", version)
    assert conflict_of(store, [Check("/c/none", ABSENT), Check("/c/a", version)]).index == 1


@case("commit")
def check_absent_leaves_no_trace(backend: Backend) -> None:
    """Check(ABSENT) holds also for deep keys and for parents without a value, and leaves nothing behind."""
    store = backend.open()
    put(store, "/c/parent/child")
    ops: list[Op] = [Check("/c/parent", ABSENT), Check("/c/x/y/z", ABSENT), Put("/c/done", b"", ABSENT)]
    store.commit(ops, timeout_s=CALL_S)
    assert sorted(values(store.snapshot("/", timeout_s=CALL_S).entries)) == ["/c/done", "/c/parent/child"]
    assert store.children("/c", timeout_s=CALL_S) == ["done", "parent"]


@case("commit")
def duplicate_keys_are_refused(backend: Backend) -> None:
    """Two ops on one key are Invalid, whatever their kinds."""
    store = backend.open()
    version = put(store, "/c/a")
    for second in (Put("/c/a", b"2", PRESENT), Delete("/c/a", PRESENT), Check("/c/a", version)):
        refused(store, [Put("/c/a", b"1", version), second], Invalid)


@case("commit")
def malformed_ops_are_refused(backend: Backend) -> None:
    """An invalid op, expectation or value is Invalid before anything is sent."""
    store = backend.open()
    put(store, "/c/a")
    bad: list[object] = [
        Put("/c/b", b"", None),  # type: ignore[arg-type]
        Put("/c/b", b"", Version(0)),
        Put("/c/b", b"", Version(-1)),
        Put("/c/b", b"", True),  # type: ignore[arg-type]  # noqa: FBT003 - that is what is wrong
        Put("/c/b", "text", ABSENT),  # type: ignore[arg-type]
        Put("/c/b", None, ABSENT),  # type: ignore[arg-type]
        Delete("/c/a", ABSENT),
        "/c/a",
        None,
    ]
    for op in bad:
        refused(store, [Put("/c/fine", b"", ABSENT), op], Invalid)  # type: ignore[list-item]


@case("commit")
def most_ops_and_one_more(backend: Backend) -> None:
    """A commit of as many ops as declared is applied; one more is TooLarge."""
    store = backend.open()
    most = store.capabilities.commit_ops_max
    ops: list[Op] = [Put(f"/c/{index}", b"", ABSENT) for index in range(most)]
    fitting = sum(op_bytes(op) for op in ops) <= store.capabilities.commit_bytes_max
    refused(store, [*ops, Put("/c/over", b"", ABSENT)], TooLarge)
    if fitting:
        versions = store.commit(ops, timeout_s=CALL_S).versions
        assert len(versions) == most
        assert len(store.children("/c", timeout_s=CALL_S)) == most


@case("commit")
def byte_cap(backend: Backend) -> None:
    """A commit of as many bytes as declared is applied; one byte more is TooLarge."""
    store = backend.open()
    limits = store.capabilities
    ops = _ops_of(limits.commit_bytes_max, limits.value_bytes_max)
    assert sum(op_bytes(op) for op in ops) == limits.commit_bytes_max
    store.commit(ops, timeout_s=CALL_S)
    assert found(store, "/c/0").value == ops[0].value
    over = [Put(op.key, op.value, PRESENT) for op in ops]
    over[-1] = Put(over[-1].key, over[-1].value + b"v", PRESENT)
    refused(store, over, TooLarge)


def _ops_of(total_bytes: int, value_bytes_max: int) -> list[Put]:
    """Puts that together count `total_bytes`."""
    ops: list[Put] = []
    left = total_bytes
    while left > 0:
        key = f"/c/{len(ops)}"
        overhead = OP_BYTES_FIXED + len(key)
        value_bytes = min(left - overhead, value_bytes_max - 1 - 2 * OP_BYTES_FIXED)
        ops.append(Put(key, b"v" * value_bytes, ABSENT))
        left -= overhead + value_bytes
    return ops


@case("commit")
def versions_are_aligned_with_the_ops(backend: Backend) -> None:
    """The versions have the order of the ops: one for each Put, None for Delete and Check."""
    store = backend.open()
    fill(store, ["/c/gone", "/c/checked", "/c/old"])
    ops: list[Op] = [
        Put("/c/new", b"1", ABSENT),
        Delete("/c/gone", PRESENT),
        Check("/c/checked", PRESENT),
        Put("/c/old", b"2", PRESENT),
        Check("/c/none", ABSENT),
        Put("/c/new2", b"3", ABSENT),
    ]
    versions = store.commit(ops, timeout_s=CALL_S).versions
    assert [version is None for version in versions] == [False, True, True, False, True, False]
    for index in (0, 3, 5):
        assert found(store, ops[index].key).version == versions[index]
    assert get(store, "/c/gone") is None


@case("commit")
def creating_below_each_other(backend: Backend) -> None:
    """One commit may create a key and keys below it, in any order, and delete both again."""
    store = backend.open()
    ops = [Put("/c/a/b/c", b"3", ABSENT), Put("/c/a", b"1", ABSENT), Put("/c/a/b", b"2", ABSENT)]
    store.commit(ops, timeout_s=CALL_S)
    assert values(store.snapshot("/c", timeout_s=CALL_S).entries) == {"/c/a": b"1", "/c/a/b": b"2", "/c/a/b/c": b"3"}
    assert [found(store, op.key).generation for op in ops] == [0, 0, 0]
    store.commit([Delete("/c/a", PRESENT), Delete("/c/a/b", PRESENT), Delete("/c/a/b/c", PRESENT)], timeout_s=CALL_S)
    assert store.snapshot("/", timeout_s=CALL_S).entries == ()


@case("commit")
def empty_commit(backend: Backend) -> None:
    """A commit without ops succeeds and does nothing."""
    store = backend.open()
    assert store.commit([], timeout_s=CALL_S).versions == ()
    assert store.commit((), timeout_s=CALL_S).versions == ()


@case("commit")
def of_two_racing_commits_exactly_one_wins(backend: Backend) -> None:
    """Two clients that compare-and-set one key at one version: in each of 100 rounds one wins, one gets a Conflict."""
    stores = [backend.open(), backend.open()]
    version = put(stores[0], "/c/race", b"start")
    for round_ in range(100):
        values_put = [b"%d-%d" % (round_, number) for number in range(2)]
        outcomes = _race(stores, version, values_put)
        winners = [number for number, outcome in enumerate(outcomes) if outcome is not None]
        assert len(winners) == 1, outcomes
        entry = found(stores[0], "/c/race")
        assert (entry.value, entry.version) == (values_put[winners[0]], outcomes[winners[0]])
        version = entry.version


def _race(stores: list[MetadataStore], version: Version, values_put: list[bytes]) -> list[Version | None]:
    """Each store puts its value at `version`, all at once; return the new versions of those that won."""
    barrier = threading.Barrier(len(stores))
    outcomes: list[Version | None] = [None] * len(stores)

    def run(number: int) -> None:
        barrier.wait()
        with contextlib.suppress(Conflict):
            outcomes[number] = put(stores[number], "/c/race", values_put[number], version)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@case("commit")
def a_stale_fence_writes_nothing(backend: Backend) -> None:
    """A commit that checks a key which another client has changed writes nothing."""
    old, new = backend.open(), backend.open()
    fence = put(old, "/c/fence", b"1")
    put(new, "/c/fence", b"2", fence)
    ops: list[Op] = [Check("/c/fence", fence), Put("/c/data", b"zombie", ABSENT), Put("/c/more", b"zombie", ABSENT)]
    error = conflict_of(old, ops)
    assert (error.index, error.key) == (0, "/c/fence")
    assert get(old, "/c/data") is None
    assert get(new, "/c/more") is None


@case("commit")
def delete_and_put_in_one_commit(backend: Backend) -> None:
    """A key is moved in one commit: never both names, never none."""
    store = backend.open()
    version = put(store, "/c/from", b"it")
    store.commit([Delete("/c/from", version), Put("/c/to", b"it", ABSENT)], timeout_s=CALL_S)
    assert values(store.snapshot("/c", timeout_s=CALL_S).entries) == {"/c/to": b"it"}
    delete(store, "/c/to", PRESENT)
