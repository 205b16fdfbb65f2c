"""Small recipes over a store: leftovers of sessions that ended, sequences of keys."""

from __future__ import annotations

import pytest

from kedge.stores import ABSENT, PRESENT, Conflict, Delete, FaultStore, MemoryServer, MemoryStore, Put
from kedge.stores.faults import Call, Fault
from kedge.stores.recipes import next_in_sequence, reap_own_leftover, sequence_key
from tests.stores.standing import put


def test_a_leftover_is_reaped_only_if_it_is_mine() -> None:
    """Deleted: an ephemeral key of another session that is mine by value or predicate. Left alone: all else."""
    server = MemoryServer()
    former, me = MemoryStore(server), MemoryStore(server)
    assert reap_own_leftover(me, "/none", b"me", 1.0)
    former.commit([Put("/k", b"me", ABSENT, ephemeral=True)], timeout_s=1)
    assert not reap_own_leftover(me, "/k", b"you", 1.0)
    assert not reap_own_leftover(me, "/k", lambda entry: entry.value == b"you", 1.0)
    assert not reap_own_leftover(former, "/k", b"me", 1.0)
    assert reap_own_leftover(me, "/k", lambda entry: entry.value == b"me", 1.0)
    assert me.get("/k", timeout_s=1) is None
    put(me, "/k", b"me")
    assert not reap_own_leftover(me, "/k", b"me", 1.0)


@pytest.mark.parametrize("gone", [True, False])
def test_a_leftover_that_changes_under_us_is_left_alone(gone: bool) -> None:
    """If the key was rewritten between look and delete, it stays; if it vanished, all is as wanted."""
    server = MemoryServer()
    former, inner = MemoryStore(server), MemoryStore(server)
    former.commit([Put("/k", b"me", ABSENT, ephemeral=True)], timeout_s=1)

    def plan(call: Call, _: object) -> list[Fault]:
        if call.name == "commit":
            former.commit([Delete("/k", PRESENT) if gone else Put("/k", b"me", PRESENT, ephemeral=True)], timeout_s=1)
        return []

    assert reap_own_leftover(FaultStore(inner, plan), "/k", b"me", 1.0) is gone


def test_a_sequence_goes_on_above_what_is_there() -> None:
    """From 0, above the highest child, whatever became of the others; other names do no harm."""
    store = MemoryStore()
    assert next_in_sequence(store, "/s", "n_", 1.0) == 0
    for name in ("n_0000000041", "n_0000000007", "n_99", "other_0000000100", "n_00000000xx", "n_9999999999"):
        put(store, f"/s/{name}", b"")
    assert next_in_sequence(store, "/s", "n_", 1.0) == 42
    store.commit([Delete("/s/n_0000000007", PRESENT)], timeout_s=1)
    assert next_in_sequence(store, "/s", "n_", 1.0) == 42


def test_two_that_append_at_once_do_not_meet() -> None:
    """The second of two that got one number is a Conflict on its key; it asks again and fits."""
    store = MemoryStore()
    first, second = (sequence_key("/s", "n_", next_in_sequence(store, "/s", "n_", 1.0)) for _ in range(2))
    store.commit([Put(first, b"1", ABSENT)], timeout_s=1)
    with pytest.raises(Conflict) as caught:
        store.commit([Put(second, b"2", ABSENT)], timeout_s=1)
    assert caught.value.key == second == "/s/n_0000000000"
    assert sequence_key("/s", "n_", next_in_sequence(store, "/s", "n_", 1.0)) == "/s/n_0000000001"


def test_what_the_backend_counts_is_gone_on_with() -> None:
    """Children that are gone used up numbers where the server says so."""

    class Counting(FaultStore):
        def created_below(self, key: str, *, timeout_s: float) -> int:  # noqa: ARG002
            return 7

    assert next_in_sequence(Counting(MemoryStore()), "/s", "n_", 1.0) == 7
