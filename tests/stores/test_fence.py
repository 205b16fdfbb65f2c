"""The fence of a term: commits go on one by one, and what became of one that was lost is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Corrupt,
    Delete,
    Entry,
    FaultStore,
    Invalid,
    MemoryStore,
    MetadataStore,
    OutcomeUnknown,
    Put,
    Unavailable,
)
from kedge.stores.faults import DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Rule, at_commit
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, Fence, Outcome, Resolution, Token, is_fence_conflict, resolve
from tests.stores.standing import faulty, found, put, won


def test_the_first_commit_of_a_term_claims_the_token() -> None:
    """The first fenced commit is expected at the token that was found, its seq is one above; then they go on."""
    store = MemoryStore()
    put(store, TOKEN_KEY, Token(3, 7, "old").encode())
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"", ABSENT)], "n1")
    assert attempt.ops == (*fence.ops("n1"), Put("/a", b"", ABSENT))
    check, token = fence.ops("n1")
    assert check == Check(EPOCH_KEY, fence.term.epoch_version)
    assert (token.key, token.expect) == (TOKEN_KEY, attempt.before_version)
    assert (attempt.before, attempt.after) == (Token(3, 7, "old"), Token(4, 8, "n1"))
    fence.done(attempt, store.commit(attempt.ops, timeout_s=1))
    assert (fence.token, fence.token_version) == (Token(4, 8, "n1"), found(store, TOKEN_KEY).version)
    assert fence.attempt((), "n2").after == Token(4, 9, "n2")


def test_the_fence_moves_only_in_order() -> None:
    """An attempt is done once, and only the one that was made last."""
    store = MemoryStore()
    fence = Fence(won(store))
    attempt = fence.attempt((), "n1")
    commit = store.commit(attempt.ops, timeout_s=1)
    for outcome in (Outcome.NOT_APPLIED, Outcome.DEPOSED):
        with pytest.raises(Invalid, match=outcome.name):
            fence.resolved(attempt, Resolution(outcome))
    fence.done(attempt, commit)
    with pytest.raises(Invalid, match="serial"):
        fence.done(attempt, commit)


def settled(store: FaultStore, attempt_fault: Fault | None, between: Callable[[], object] = lambda: None) -> Outcome:
    """Win, send one attempt that meets the fault, do `between`, and resolve."""
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"1", ABSENT)], "n1")
    if attempt_fault is not None:
        store.play([Rule(attempt_fault, nth=1)])
        with pytest.raises(OutcomeUnknown):
            store.commit(attempt.ops, timeout_s=1)
    between()
    return resolve(store.another_session, attempt, 1.0).outcome


def test_resolve_after_each_kind_of_loss() -> None:
    """Applied is APPLIED; never sent, or still on its way, is NOT_APPLIED."""
    assert settled(faulty()[0], LoseReply()) is Outcome.APPLIED
    assert settled(faulty()[0], LoseRequest()) is Outcome.NOT_APPLIED
    assert settled(faulty()[0], DeliverLater()) is Outcome.NOT_APPLIED


def test_a_late_commit_and_its_second_sending_apply_once() -> None:
    """NOT_APPLIED, then the late first sending wins against the second: a Conflict by the token, and APPLIED."""
    store, observer = faulty()
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"1", ABSENT)], "n1")
    store.play(at_commit(1, DeliverLater(before_commit=1)))
    with pytest.raises(OutcomeUnknown):
        store.commit(attempt.ops, timeout_s=1)
    assert resolve(store.another_session, attempt, 1.0).outcome is Outcome.NOT_APPLIED
    with pytest.raises(Conflict) as caught:
        store.commit(attempt.ops, timeout_s=1)
    assert is_fence_conflict(caught.value)
    resolution = resolve(store.another_session, attempt, 1.0)
    assert resolution == Resolution(Outcome.APPLIED, found(observer, TOKEN_KEY).version)
    fence.resolved(attempt, resolution)
    following = fence.attempt((), "n2")
    fence.done(following, store.commit(following.ops, timeout_s=1))
    assert found(observer, "/a").generation == 0


def test_a_late_commit_of_a_deposed_leader_is_refused() -> None:
    """A commit that arrives after another one was elected fails at the epoch, though its token still fits."""
    store, observer = faulty()
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"1", ABSENT)], "n1")
    store.play(at_commit(1, DeliverLater()))
    with pytest.raises(OutcomeUnknown):
        store.commit(attempt.ops, timeout_s=1)
    store.expire()
    won(observer)
    assert resolve(observer.another_session, attempt, 1.0).outcome is Outcome.DEPOSED
    answer = store.deliver_late()[0]
    assert isinstance(answer, Conflict)
    assert answer.index == 0
    assert observer.get("/a", timeout_s=1) is None


def test_resolve_is_deposed_by_anything_foreign() -> None:
    """A moved epoch, another token, a token rewritten with the same value, a vanished one: nothing is guessed."""

    def foreign(change: Callable[[MemoryStore], object]) -> Outcome:
        store, observer = faulty()
        fence = Fence(won(store))
        first = fence.attempt((), "n0")
        fence.done(first, store.commit(first.ops, timeout_s=1))
        attempt = fence.attempt((), "n1")
        change(observer)
        return resolve(observer.another_session, attempt, 1.0).outcome

    assert foreign(lambda _: None) is Outcome.NOT_APPLIED
    assert foreign(lambda store: put(store, EPOCH_KEY, b"1")) is Outcome.DEPOSED
    assert foreign(lambda store: store.commit([Delete(EPOCH_KEY, PRESENT)], timeout_s=1)) is Outcome.DEPOSED
    assert foreign(lambda store: put(store, TOKEN_KEY, Token(2, 2, "x").encode())) is Outcome.DEPOSED
    assert foreign(lambda store: put(store, TOKEN_KEY, found(store, TOKEN_KEY).value)) is Outcome.DEPOSED
    assert foreign(lambda store: store.commit([Delete(TOKEN_KEY, PRESENT)], timeout_s=1)) is Outcome.DEPOSED


def test_an_applied_commit_is_applied_even_if_the_epoch_moved() -> None:
    """What was applied before the term ended was applied, and may be reported."""
    store, observer = faulty()

    def succeed() -> None:
        store.expire()
        won(observer)

    assert settled(store, LoseReply(), succeed) is Outcome.APPLIED


class Between(FaultStore):
    """A session that does something once after its first read."""

    def __init__(self, inner: MetadataStore, then: Callable[[], object]) -> None:
        super().__init__(inner)
        self._then: Callable[[], object] | None = then

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """As the store."""
        entry = super().get(key, sync=sync, timeout_s=timeout_s)
        then, self._then = self._then, None
        if then is not None:
            then()
        return entry


def test_commit_that_lands_between_the_reads_was_applied_though_its_term_has_ended_since() -> None:
    """The token is read after the epoch: the other way round this one would be taken for a commit that never was."""
    store, observer = faulty()
    fence = Fence(won(store))
    attempt = fence.attempt([Put("/a", b"1", ABSENT)], "n1")
    store.play(at_commit(1, DeliverLater()))
    with pytest.raises(OutcomeUnknown):
        store.commit(attempt.ops, timeout_s=1)

    def land() -> None:
        store.deliver_late()
        store.expire()
        won(observer)

    resolution = resolve(lambda: Between(observer.another_session(), land), attempt, 1.0)
    assert resolution == Resolution(Outcome.APPLIED, found(observer, TOKEN_KEY).version)
    assert found(observer, "/a").value == b"1"


def test_resolve_raises_what_it_cannot_see_through() -> None:
    """Unavailable goes to the caller, a broken token is Corrupt, and the fresh session is closed in every case."""
    store, observer = faulty()
    attempt = Fence(won(store)).attempt((), "n1")
    store.play([Rule(FailBefore(), "get")])
    with pytest.raises(Unavailable):
        resolve(store.another_session, attempt, 1.0)
    put(observer, TOKEN_KEY, b"broken")
    with pytest.raises(Corrupt):
        resolve(observer.another_session, attempt, 1.0)
    assert len(observer.server.sessions) == 2
