"""What etcd's transactions need besides what the suite shows of every backend."""

from __future__ import annotations

import threading

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Delete,
    MetadataStore,
    Op,
    Put,
    SessionExpired,
    TooLarge,
    Version,
    open_store,
)
from kedge.stores.checks import op_bytes
from kedge.stores.suite.backend import put
from servers.etcd import LocalEtcd
from tests.stores.etcd.served import server

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 10.0


def test_the_largest_commit_with_the_longest_keys_is_taken(store: MetadataStore) -> None:
    """What is declared is below what etcd takes also where each key goes out three times."""
    limits = store.capabilities
    keys = [f"/{number:03}/{'k' * 1000}" for number in range(limits.commit_ops_max)]
    empty = sum(op_bytes(Put(key, b"", ABSENT)) for key in keys)
    each = (limits.commit_bytes_max - empty) // len(keys)
    store.commit([Put(key, b"v" * each, ABSENT) for key in keys], timeout_s=CALL_S)
    with pytest.raises(TooLarge):
        store.commit([Put(key, b"v" * (each + 100), PRESENT) for key in keys], timeout_s=CALL_S)


def test_more_ephemeral_keys_than_etcd_can_compare_are_too_large(store: MetadataStore) -> None:
    """A rewritten one counts twice; nothing is sent."""
    store.commit([Put(f"/e/{n}", b"", ABSENT, ephemeral=True) for n in range(70)], timeout_s=CALL_S)
    with pytest.raises(TooLarge):
        store.commit([Put(f"/e/{n}", b"2", PRESENT, ephemeral=True) for n in range(70)], timeout_s=CALL_S)
    store.commit([Put(f"/e/{n}", b"2", PRESENT, ephemeral=True) for n in range(64)], timeout_s=CALL_S)


def test_a_server_with_smaller_limits_says_too_large() -> None:
    """And nothing was applied."""
    with LocalEtcd(durable=False, sound=False, flags=["--max-request-bytes=100000", "--max-txn-ops=10"]) as small:
        store = open_store(small.url("/a"))
        for ops in ([Put("/a", b"v" * 200_000, ABSENT)], [Put(f"/{n}", b"", ABSENT) for n in range(20)]):
            with pytest.raises(TooLarge) as raised:
                store.commit(ops, timeout_s=CALL_S)
            assert raised.value.applied == "no"
        assert store.children("/", timeout_s=CALL_S) == []
        store.close()


def test_a_version_that_no_revision_reaches_is_a_conflict(store: MetadataStore) -> None:
    put(store, "/a")
    for ops in ([Check("/a", Version(2**63))], [Put("/a", b"", Version(2**80))], [Delete("/a", Version(2**63 - 1))]):
        with pytest.raises(Conflict):
            store.commit(ops, timeout_s=CALL_S)


def test_an_ordinary_put_leaves_another_sessions_key_its(store: MetadataStore, other: MetadataStore) -> None:
    """Etcd alone would detach the lease, and the key would stay for ever."""
    put(other, "/e", ephemeral=True)
    store.commit([Put("/e", b"2", PRESENT)], timeout_s=CALL_S)
    entry = store.get("/e", timeout_s=CALL_S)
    assert entry is not None
    assert (entry.value, entry.owner) == (b"2", other.session.session_id)
    other.close()
    assert store.get("/e", sync=True, timeout_s=CALL_S) is None


def test_failed_expectation_is_reported_before_what_is_invalid(store: MetadataStore, other: MetadataStore) -> None:
    put(other, "/e", ephemeral=True)
    ops: list[Op] = [Put("/e", b"", PRESENT, ephemeral=True), Check("/none", PRESENT)]
    with pytest.raises(Conflict) as raised:
        store.commit(ops, timeout_s=CALL_S)
    assert raised.value.index == 1


def test_an_ephemeral_put_of_a_session_that_ended_is_said_to_be_that(store: MetadataStore) -> None:
    """Until the client has learned of it: then it is the new session's."""
    old = store.session.session_id
    server().ask("lease/revoke", {"ID": old})
    with pytest.raises(SessionExpired) as raised:
        put(store, "/e", ephemeral=True)
    assert raised.value.applied == "no"
    store.commit([Put("/plain", b"", ABSENT)], timeout_s=CALL_S)
    made = threading.Event()
    while not made.is_set():
        try:
            put(store, "/e", ephemeral=True)
            made.set()
        except SessionExpired:
            made.wait(0.01)
    entry = store.get("/e", timeout_s=CALL_S)
    assert entry is not None
    assert entry.owner == store.session.session_id != old
