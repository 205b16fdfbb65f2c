"""The fence of a term: commits follow each other, and the outcome of one that was lost is found out."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Corrupt,
    Delete,
    FaultStore,
    Invalid,
    MemoryStore,
    OutcomeUnknown,
    Put,
    Unavailable,
)
from kedge.stores.faults import Call, DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Rule, at_commit
from kedge.stores.recipes import (
    EPOCH_KEY,
    TOKEN_KEY,
    Attempt,
    Fence,
    Outcome,
    Resolution,
    Token,
    is_fence_conflict,
    resolve,
)
from kedge.stores.suite.backend import found, get
from tests.stores.kit import CALL_S, RECIPE_S, faulty, stand, won, write


def test_each_commit_of_a_term_continues_the_token() -> None:
    """The first one is expected at the token that was found; its number is one above."""
    store, observer = faulty()
    write(observer, TOKEN_KEY, Token(3, 7, "old").encode())
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"", ABSENT)], "n1")
    check, token = fence.ops("n1")
    assert attempt.ops == (check, token, Put("/a", b"", ABSENT))
    assert check == Check(EPOCH_KEY, fence.term.epoch_version)
    assert (token.key, token.expect) == (TOKEN_KEY, attempt.before_version)
    assert (attempt.before, attempt.after) == (Token(3, 7, "old"), Token(4, 8, "n1"))
    fence.done(attempt, store.commit(attempt.ops, timeout_s=RECIPE_S))
    assert (fence.token, fence.token_version) == (Token(4, 8, "n1"), found(observer, TOKEN_KEY).version)
    assert fence.attempt((), "n2").after == Token(4, 9, "n2")


def test_fence_moves_only_in_order() -> None:
    """An attempt is done once, and by no resolution but APPLIED with a version."""
    store, _ = faulty()
    fence = Fence(won(store))
    attempt = fence.attempt((), "n1")
    commit = store.commit(attempt.ops, timeout_s=RECIPE_S)
    for outcome in Outcome:
        with pytest.raises(Invalid, match=f"only after APPLIED, not after {outcome.name}"):
            fence.resolved(attempt, Resolution(outcome))
    fence.done(attempt, commit)
    with pytest.raises(Invalid, match="serial"):
        fence.done(attempt, commit)


def lost(store: FaultStore, fault: Fault) -> tuple[Fence, Attempt]:
    """A term whose first commit meets the fault."""
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"1", ABSENT)], "n1")
    store.play(at_commit(1, fault))
    with pytest.raises(OutcomeUnknown):
        store.commit(attempt.ops, timeout_s=RECIPE_S)
    return fence, attempt


def succeeded(store: FaultStore, observer: MemoryStore) -> None:
    """Another controller leads."""
    store.expire()
    assert stand(observer) is not None


@pytest.mark.parametrize("is_deposed", [False, True], ids=["", "deposed"])
@pytest.mark.parametrize(
    "fault, outcome",
    [
        (LoseReply(), Outcome.APPLIED),
        (LoseRequest(), Outcome.NOT_APPLIED),
        (DeliverLater(), Outcome.NOT_APPLIED),
    ],
    ids=str,
)
def test_outcome_of_a_lost_commit_is_found(fault: Fault, outcome: Outcome, is_deposed: bool) -> None:
    """An applied one was applied, also where the term has ended since; of the others none can be applied any more."""
    store, observer = faulty()
    _, attempt = lost(store, fault)
    if is_deposed:
        succeeded(store, observer)
        outcome = outcome if outcome is Outcome.APPLIED else Outcome.DEPOSED
    assert resolve(store.another_session, attempt, RECIPE_S).outcome is outcome
    assert {type(answer) for answer in store.deliver_late() if is_deposed} <= {Conflict}
    assert len(observer.server.sessions) == 2


def test_late_commit_and_its_second_sending_apply_once() -> None:
    """The late first one wins against the second: a Conflict by the token, and APPLIED."""
    store, observer = faulty()
    fence, attempt = lost(store, DeliverLater(before_commit=1))
    with pytest.raises(Conflict) as caught:
        store.commit(attempt.ops, timeout_s=RECIPE_S)
    assert is_fence_conflict(caught.value)
    resolution = resolve(store.another_session, attempt, RECIPE_S)
    assert resolution == Resolution(Outcome.APPLIED, found(observer, TOKEN_KEY).version)
    fence.resolved(attempt, resolution)
    following = fence.attempt((), "n2")
    fence.done(following, store.commit(following.ops, timeout_s=RECIPE_S))
    assert found(observer, "/a").generation == 0


def test_late_commit_of_a_deposed_leader_is_refused() -> None:
    """By the epoch, though its token still fits."""
    store, observer = faulty()
    lost(store, DeliverLater())
    succeeded(store, observer)
    (answer,) = store.deliver_late()
    assert isinstance(answer, Conflict)
    assert answer.index == 0
    assert get(observer, "/a") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda store: write(store, EPOCH_KEY, b"1"),
        lambda store: store.commit([Delete(EPOCH_KEY, PRESENT)], timeout_s=CALL_S),
        lambda store: write(store, TOKEN_KEY, Token(2, 2, "x").encode()),
        lambda store: write(store, TOKEN_KEY, found(store, TOKEN_KEY).value),
        lambda store: store.commit([Delete(TOKEN_KEY, PRESENT)], timeout_s=CALL_S),
    ],
    ids=["epoch written", "epoch deleted", "another token", "token rewritten", "token deleted"],
)
def test_anything_foreign_deposes(change: Callable[[MemoryStore], object]) -> None:
    store, observer = faulty()
    fence = Fence(won(store))
    first = fence.attempt((), "n0")
    fence.done(first, store.commit(first.ops, timeout_s=RECIPE_S))
    attempt = fence.attempt((), "n1")
    assert resolve(store.another_session, attempt, RECIPE_S).outcome is Outcome.NOT_APPLIED
    change(observer)
    assert resolve(store.another_session, attempt, RECIPE_S).outcome is Outcome.DEPOSED


def test_commit_that_lands_between_the_reads_was_applied_though_its_term_has_ended_since() -> None:
    """The token is read after the epoch: the other way round this one would be taken for a commit that never was."""
    store, observer = faulty()
    _, attempt = lost(store, DeliverLater())

    def landing(call: Call, _: object) -> list[Fault]:
        if call.keys == (TOKEN_KEY,):
            store.deliver_late()
            succeeded(store, observer)
        return []

    resolution = resolve(lambda: FaultStore(observer.another_session(), landing), attempt, RECIPE_S)
    assert resolution == Resolution(Outcome.APPLIED, found(observer, TOKEN_KEY).version)
    assert found(observer, "/a").value == b"1"


def test_errors_of_resolving_go_to_the_caller() -> None:
    """The new session is closed in every case."""
    store, observer = faulty()
    attempt = Fence(won(store)).attempt((), "n1")
    store.play([Rule(FailBefore(), "get")])
    with pytest.raises(Unavailable):
        resolve(store.another_session, attempt, RECIPE_S)
    write(observer, TOKEN_KEY, b"broken")
    with pytest.raises(Corrupt):
        resolve(observer.another_session, attempt, RECIPE_S)
    assert len(observer.server.sessions) == 2


@pytest.mark.parametrize(
    "epochs, gaps", [((1, 2), ()), ((1, 3), ((1, 3),)), ((5, 9), ((5, 9),))], ids=["next", "one between", "many"]
)
def test_epochs_without_a_token_are_a_gap(epochs: tuple[int, int], gaps: tuple[tuple[int, int], ...]) -> None:
    """In all tokens of the term, beside earlier gaps."""
    before, now = epochs
    store, observer = faulty()
    write(observer, EPOCH_KEY, b"%d" % (now - 1))
    write(observer, TOKEN_KEY, Token(before, 4, "b", ((-1, 1),)).encode())
    term = won(store)
    assert term.controller_epoch == now
    after = Fence(term).attempt((), "a").after
    assert after == Token(now, 5, "a", ((-1, 1), *gaps))
    assert Token.decode(after.encode()) == after
    assert f'"gaps":{[list(pair) for pair in after.gaps]}'.replace(" ", "").encode() in after.encode()


# The token as bytes


def test_token_is_compact_json() -> None:
    """Unknown members are ignored."""
    token = Token(7, 42, "n-1")
    assert token.encode() == b'{"controller_epoch":7,"seq":42,"nonce":"n-1"}'
    assert Token.decode(b'{"controller_epoch":7,"seq":42,"nonce":"n-1","later":1}') == token


@given(st.integers(0, 2**31), st.integers(0, 2**62), st.text())
def test_every_token_reads_back(epoch: int, seq: int, nonce: str) -> None:
    assert Token.decode(Token(epoch, seq, nonce).encode()) == Token(epoch, seq, nonce)


@pytest.mark.parametrize("written, gaps", [('[[1,2],3,["a",2],[1,2,3]]', ((1, 2),)), ("7", ()), ("null", ())])
def test_gaps_that_are_no_pairs_are_skipped(written: str, gaps: tuple[tuple[int, int], ...]) -> None:
    value = b'{"controller_epoch":1,"seq":2,"nonce":"n","gaps":%s}' % written.encode()
    assert Token.decode(value).gaps == gaps


GOOD: dict[str, object] = {"controller_epoch": 1, "seq": 1, "nonce": "n"}
BAD: tuple[object, ...] = (None, -1, 1.5, True, [])
BROKEN = [json.dumps({**GOOD, name: bad}).encode() for name in GOOD for bad in BAD]


@pytest.mark.parametrize("value", [b"", b"{", b"\xff", b"[]", b"7", b"null", b"{}", b"[" * 100_000, *BROKEN])
def test_broken_token_is_corrupt(value: bytes) -> None:
    with pytest.raises(Corrupt, match=TOKEN_KEY) as caught:
        Token.decode(value)
    assert caught.value.key == TOKEN_KEY
