"""Holding leadership for good: the leader is deposed, and no other is elected any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from kedge.stores import (
    ABSENT,
    Check,
    Conflict,
    Corrupt,
    Invalid,
    MemoryServer,
    MemoryStore,
    MetadataStore,
    Put,
    Version,
)
from kedge.stores.base import Commit, Entry, Op
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, Contested, Fence, elect, hold


def _held(store: MetadataStore, *, marker: Version | None = None, nonce: bytes = b"held") -> int:
    """`hold` under a guard on /mark, which it rewrites."""
    entry = store.get("/mark", timeout_s=1)
    assert entry is not None
    at = entry.version if marker is None else marker
    return hold(store, nonce, Check("/mark", at), lambda epoch: [Put("/mark", b"%d" % epoch, at)], 1)


def _marked() -> tuple[MemoryServer, MemoryStore]:
    server = MemoryServer()
    store = MemoryStore(server)
    store.commit([Put("/mark", b"", ABSENT)], timeout_s=1)
    return server, store


def test_permanent_holder_deposes_the_leader_and_prevents_elections() -> None:
    server, store = _marked()
    leader = MemoryStore(server)
    term = elect(leader, b"leader", "n", 1)
    assert term is not None
    fence = Fence(term)
    claim = fence.attempt((), "first")
    fence.done(claim, leader.commit(claim.ops, timeout_s=1))
    epoch = _held(store)
    assert epoch > term.controller_epoch
    with pytest.raises(Conflict):
        leader.commit(fence.attempt((), "second").ops, timeout_s=1)
    assert elect(leader, b"leader", "n", 1) is None
    store.close()  # no session's end takes it away
    assert elect(leader, b"leader", "n", 1) is None
    held, mark = leader.get(LEADER_KEY, timeout_s=1), leader.get("/mark", timeout_s=1)
    assert held is not None
    assert (held.value, held.owner) == (b"held", None)
    assert mark is not None
    assert mark.value == b"%d" % epoch


def test_no_leader_and_no_epoch_before() -> None:
    _, store = _marked()
    assert _held(store) == 1


def test_controller_elected_in_between_is_deposed_in_turn() -> None:
    server, store = _marked()

    class Contested(MemoryStore):
        """Twice another one is elected just before the key is put."""

        rivals: ClassVar[list[MemoryStore]] = []

        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            if isinstance(ops[0], Put) and len(self.rivals) < 2:
                self.rivals.append(MemoryStore(server))
                assert elect(self.rivals[-1], b"rival", "n", 1) is not None
            return super().commit(ops, timeout_s=timeout_s)

    epoch = _held(Contested(server))
    assert len(Contested.rivals) == 2
    assert epoch == 5  # two elections, two that were deposed, and the one that stays
    assert store.get(LEADER_KEY, timeout_s=1) is not None


def test_three_at_most_are_deposed_where_another_is_elected_each_time() -> None:
    """A cluster whose leader is deposed again and again does nothing else."""
    server, store = _marked()

    class Lost(MemoryStore):
        """Another one is elected just before the key is put."""

        rivals: ClassVar[list[MemoryStore]] = []

        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            if isinstance(ops[0], Put):
                self.rivals.append(MemoryStore(server))
                assert elect(self.rivals[-1], b"rival", "n", 1) is not None
            return super().commit(ops, timeout_s=timeout_s)

    assert elect(store, b"leader", "n", 1) is not None
    with pytest.raises(Contested, match="elected 3 times"):
        _held(Lost(server))
    assert len(Lost.rivals) == 3
    found = store.get(LEADER_KEY, timeout_s=1)
    assert found is not None
    assert found.owner == Lost.rivals[-1].session.session_id


def test_nothing_is_read_between_deposing_and_holding() -> None:
    """A stand-by hears that there is no leader and reads: it is too late."""
    server, store = _marked()

    class Heard(MemoryStore):
        calls: ClassVar[list[str]] = []

        def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
            self.calls.append("get")
            return super().get(key, sync=sync, timeout_s=timeout_s)

        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            self.calls.append("commit")
            return super().commit(ops, timeout_s=timeout_s)

    assert elect(store, b"leader", "n", 1) is not None
    assert _held(Heard(server)) == 3
    assert Heard.calls[-2:] == ["commit", "commit"]


def test_guard_that_does_not_hold_deposes_no_controller() -> None:
    server, store = _marked()
    leader = MemoryStore(server)
    assert elect(leader, b"leader", "n", 1) is not None
    with pytest.raises(Conflict):
        _held(store, marker=Version(999))
    found = store.get(LEADER_KEY, timeout_s=1)
    assert found is not None
    assert found.owner == leader.session.session_id


def test_permanent_holder_of_another_kind_is_left_alone() -> None:
    _, store = _marked()
    _held(store)
    with pytest.raises(Invalid, match="held permanently by another program"):
        _held(store, nonce=b"another")


def test_a_broken_epoch_is_left_for_a_human() -> None:
    _, store = _marked()
    store.commit([Put(EPOCH_KEY, b"x", ABSENT)], timeout_s=1)
    with pytest.raises(Corrupt):
        _held(store)
    assert store.get(LEADER_KEY, timeout_s=1) is None
