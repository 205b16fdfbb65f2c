"""A tree into a store, commit by commit, while replies are lost, servers away and others at it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.stores import ABSENT, PRESENT, Conflict, Delete, FaultStore, MemoryServer, MemoryStore, Op, Put
from kedge.stores.base import Check, Version
from kedge.stores.faults import FailBefore, LoseReply, LoseRequest, Rule
from kedge.stores.transfer import BrokenOff, NotEmpty, load, write_all

VALUES = {f"/k{number:03}": b"%d" % number for number in range(100)}


@pytest.fixture
def server() -> MemoryServer:
    """Ten keys a commit."""
    return MemoryServer(commit_ops_max=10)


def content(server: MemoryServer) -> dict[str, bytes]:
    return {entry.key: entry.value for entry in MemoryStore(server).snapshot("/", timeout_s=1).entries}


@pytest.mark.slow
@pytest.mark.parametrize("fault", [FailBefore(), LoseReply(), LoseRequest()], ids=["not sent", "no reply", "lost"])
def test_commit_with_a_lost_reply_is_sent_again_and_resolved_by_the_store(
    server: MemoryServer, fault: FailBefore | LoseReply | LoseRequest
) -> None:
    """Whether the first one arrived or not: every key stands once, as it should."""
    store = FaultStore(MemoryStore(server), [Rule(fault, nth=nth) for nth in (2, 5, 6)])
    assert load(store, VALUES) == 100
    assert content(server) == VALUES
    assert {entry.generation for entry in MemoryStore(server).snapshot("/", timeout_s=1).entries} == {0}


@pytest.mark.slow
def test_what_cannot_be_reached_for_long_is_given_up_and_counted(server: MemoryServer) -> None:
    """What is written is reported; a load that is resumed puts the rest."""
    inner = MemoryStore(server)
    store = FaultStore(inner, [Rule(FailBefore(), nth=nth) for nth in range(4, 200)])
    ops: list[Op] = [Put(key, value, ABSENT) for key, value in VALUES.items()]
    with pytest.raises(BrokenOff) as caught:
        write_all(store, ops, in_flight=1, patience_s=0.01)
    assert (caught.value.written, caught.value.unknown) == (30, 0)
    assert len(content(server)) == 30
    assert load(inner, VALUES, resume=True) == 70
    assert content(server) == VALUES


@pytest.mark.slow
def test_unknown_ones_are_counted_apart(server: MemoryServer) -> None:
    """The reply to the last commit is lost, and the server away from then on."""
    inner = MemoryStore(server)
    away = [Rule(FailBefore(), nth=nth) for nth in range(4, 200)]
    store = FaultStore(inner, [Rule(LoseReply(), nth=3), *away])
    with pytest.raises(BrokenOff) as caught:
        write_all(store, [Put(key, value, ABSENT) for key, value in VALUES.items()], in_flight=1, patience_s=0.01)
    assert (caught.value.written, caught.value.unknown) == (20, 10)
    assert len(content(server)) == 30


def test_key_that_another_client_puts_meanwhile_is_not_overwritten(server: MemoryServer) -> None:
    """The load breaks off, and names it; the other's value stays."""
    other, store = MemoryStore(server), MemoryStore(server)

    def told(done: int, _: int) -> None:
        if done == 0:
            other.commit([Put("/k095", b"theirs", ABSENT)], timeout_s=1)

    with pytest.raises(BrokenOff) as caught:
        load(store, VALUES, told=told)
    assert isinstance(caught.value.__cause__, Conflict)
    assert caught.value.key == "/k095"
    assert content(server)["/k095"] == b"theirs"
    assert caught.value.written == len(content(server)) - 1


def test_progress_is_reported_to_the_end(server: MemoryServer) -> None:
    """How many of all stand, never less than before."""
    heard: list[tuple[int, int]] = []
    load(MemoryStore(server), VALUES, told=lambda done, total: heard.append((done, total)))
    assert heard[0] == (0, 100)
    assert heard[-1] == (100, 100)
    assert heard == sorted(heard)


@pytest.mark.slow
def test_deletes_are_resolved_by_the_keys_that_are_gone(server: MemoryServer) -> None:
    """The same for ops that remove: a lost reply is found out."""
    load(MemoryStore(server), VALUES)
    store = FaultStore(MemoryStore(server), [Rule(LoseReply(), nth=1)])
    assert write_all(store, [Delete(key, PRESENT) for key in VALUES], in_flight=1) == 100
    assert content(server) == {}


def test_an_ephemeral_key_in_the_way_of_a_resumed_load_is_refused(server: MemoryServer) -> None:
    """It would vanish afterwards."""
    other = MemoryStore(server)
    other.commit([Put("/k001", b"1", ABSENT, ephemeral=True)], timeout_s=1)
    with pytest.raises(NotEmpty, match="/k001"):
        load(MemoryStore(server), VALUES, resume=True)


def test_an_error_of_the_caller_ends_it_at_once(server: MemoryServer) -> None:
    """Ctrl-C is one: what waits is not begun, and the error comes through."""

    def told(done: int, _: int) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(MemoryStore(server), VALUES, told=told)
    assert len(content(server)) < 100


@pytest.mark.slow
def test_result_of_each_commit_is_known_also_where_its_reply_was_lost(server: MemoryServer) -> None:
    """Ops and versions, aligned, as the store has them."""
    store = FaultStore(MemoryStore(server), [Rule(LoseReply(), nth=3)])
    told: dict[str, object] = {}

    def landed(ops: Sequence[Op], versions: Sequence[Version | None]) -> None:
        told.update(zip((op.key for op in ops), versions, strict=True))

    write_all(store, [Put(key, value, ABSENT) for key, value in VALUES.items()], landed=landed)
    assert told == {e.key: e.version for e in MemoryStore(server).snapshot("/", timeout_s=1).entries}


def test_once_its_guard_does_not_hold_nothing_more_is_applied_and_the_guard_is_named(server: MemoryServer) -> None:
    store = MemoryStore(server)
    guard = Check("/mark", Version(store.commit([Put("/mark", b"mine", ABSENT)], timeout_s=1).versions[0] or 0))
    ops: list[Op] = [Put(key, value, ABSENT) for key, value in VALUES.items()]
    assert write_all(store, ops[:50], guard=[guard]) == 50
    store.commit([Put("/mark", b"another's", PRESENT)], timeout_s=1)
    with pytest.raises(BrokenOff) as caught:
        write_all(store, ops[50:], guard=[guard], patience_s=0)
    assert (caught.value.key, caught.value.written) == ("/mark", 0)
    assert len(content(server)) == 51


def test_without_patience_no_commit_is_sent_twice(server: MemoryServer) -> None:
    """The caller of that looks at what is written."""
    store = FaultStore(MemoryStore(server), [Rule(LoseRequest(), nth=2)])
    with pytest.raises(BrokenOff) as caught:
        write_all(store, [Put(key, value, ABSENT) for key, value in VALUES.items()], in_flight=1, patience_s=0)
    assert caught.value.unknown == 10
    assert "/k010" not in content(server)
