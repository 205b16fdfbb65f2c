"""Election and fencing, by the recipes, on a real store."""

from __future__ import annotations

import contextlib
import threading

from ..base import ABSENT, PRESENT, Conflict, Depth, MetadataStore, OutcomeUnknown, Put, StoreError, Unavailable
from ..recipes import (
    EPOCH_KEY,
    LEADER_KEY,
    TOKEN_KEY,
    ElectedTerm,
    Fence,
    Outcome,
    Token,
    elect,
    is_fence_conflict,
    reap_own_leftover,
    resolve,
)
from .backend import (
    CALL_S,
    Backend,
    Hook,
    await_contact,
    await_hint,
    case,
    delete,
    eventually,
    found,
    get,
    put,
    raises,
    watch,
)


def stand(store: MetadataStore, name: str = "node") -> ElectedTerm | None:
    return elect(store, name.encode(), name, CALL_S)


def won(store: MetadataStore, name: str = "node") -> ElectedTerm:
    term = stand(store, name)
    assert term is not None
    return term


def commit(store: MetadataStore, fence: Fence, nonce: str) -> None:
    """One fenced commit without further ops."""
    attempt = fence.attempt((), nonce)
    fence.done(attempt, store.commit(attempt.ops, timeout_s=CALL_S))


@case("election")
def one_winner_of_five(backend: Backend) -> None:
    """Of five clients that stand at once exactly one wins, under epoch 1, and the key names it."""
    stores = [backend.open() for _ in range(5)]
    barrier = threading.Barrier(5)
    terms: dict[int, ElectedTerm | None] = {}

    def run(number: int) -> None:
        barrier.wait()
        terms[number] = stand(stores[number], f"node {number}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [number for number, term in terms.items() if term is not None]
    assert len(winners) == 1, terms
    assert found(stores[0], LEADER_KEY).value == b"node %d" % winners[0]
    assert found(stores[0], EPOCH_KEY).value == b"1"


@case("election")
def epochs_rise_over_twenty_terms(backend: Backend) -> None:
    """Over 20 terms of changing leaders the epoch rises by one each, and the token's seq never restarts."""
    observer = backend.open()
    for expected in range(1, 21):
        store = observer.another_session()
        term = won(store)
        assert term.controller_epoch == expected
        assert found(store, EPOCH_KEY).version == term.epoch_version
        fence = Fence(term)
        commit(store, fence, "first")
        commit(store, fence, "second")
        assert Token.decode(found(observer, TOKEN_KEY).value) == Token(expected, 2 * expected, "second")
        store.close()
        eventually(backend, "the leader key is gone", lambda: get(observer, LEADER_KEY) is None)


@case("election")
def who_stands_while_another_leads_gets_none(backend: Backend) -> None:
    """While the leader's key exists, no other client wins, and nothing is written."""
    leader, other = backend.open(), backend.open()
    term = won(leader, "leader")
    assert stand(other) is None
    assert found(other, EPOCH_KEY).version == term.epoch_version


@case("election")
def a_persistent_leader_key_stops_elections(backend: Backend) -> None:
    """A leader key that is not ephemeral (that of `kedge kafka-controller`) is never taken over."""
    store = backend.open()
    put(store, LEADER_KEY, b"5")
    assert stand(store) is None
    assert get(store, EPOCH_KEY) is None


@case("election")
def fenced_commit_of_the_old_leader_is_refused(backend: Backend) -> None:
    """Once another client was elected, the first op refuses a commit of the former leader; resolve: DEPOSED."""
    old, new = backend.open(), backend.open()
    fence = Fence(won(old, "old"))
    commit(old, fence, "a")
    delete(old, LEADER_KEY, PRESENT)
    successor = Fence(won(new, "new"))
    attempt = fence.attempt([Put("/suite/data", b"zombie", ABSENT)], "b")
    with raises(Conflict) as caught:
        old.commit(attempt.ops, timeout_s=CALL_S)
    assert caught.error.index == 0
    assert is_fence_conflict(caught.error)
    assert get(new, "/suite/data") is None
    assert resolve(old.another_session, attempt, CALL_S).outcome is Outcome.DEPOSED
    commit(new, successor, "c")
    assert resolve(old.another_session, attempt, CALL_S).outcome is Outcome.DEPOSED


@case("election")
def the_token_makes_commits_serial(backend: Backend) -> None:
    """Of two commits made at one state of the fence, the token refuses the second, and nothing of it is written."""
    store = backend.open()
    fence = Fence(won(store))
    first = fence.attempt([Put("/suite/1", b"", ABSENT)], "1")
    second = fence.attempt([Put("/suite/2", b"", ABSENT)], "2")
    result = store.commit(first.ops, timeout_s=CALL_S)
    with raises(Conflict) as caught:
        store.commit(second.ops, timeout_s=CALL_S)
    assert (caught.error.index, caught.error.key) == (1, TOKEN_KEY)
    assert get(store, "/suite/2") is None
    assert resolve(store.another_session, first, CALL_S).outcome is Outcome.APPLIED
    fence.done(first, result)
    commit(store, fence, "3")


@case("election")
def resolve_tells_the_three_answers(backend: Backend) -> None:
    """NOT_APPLIED before the attempt was sent, APPLIED with the token's version after it, DEPOSED under a new term."""
    store, other = backend.open(), backend.open()
    fence = Fence(won(store))
    for nonce in ("first of the term", "second"):
        attempt = fence.attempt((), nonce)
        assert resolve(store.another_session, attempt, CALL_S).outcome is Outcome.NOT_APPLIED
        result = store.commit(attempt.ops, timeout_s=CALL_S)
        resolution = resolve(store.another_session, attempt, CALL_S)
        assert (resolution.outcome, resolution.token_version) == (Outcome.APPLIED, result.versions[1])
        fence.resolved(attempt, resolution)
    attempt = fence.attempt((), "never sent")
    store.close()
    eventually(backend, "the leader key is gone", lambda: get(other, LEADER_KEY) is None)
    won(other)
    assert resolve(other.another_session, attempt, CALL_S).outcome is Outcome.DEPOSED


@case("election")
def prompt_hand_over(backend: Backend) -> None:
    """A client that waits for the leader key gets a hint when its holder leaves, and wins at once."""
    leader, waiting = backend.open(), backend.open()
    won(leader)
    stream = watch(backend, waiting, LEADER_KEY, Depth.SELF)
    leader.close()
    await_hint(backend, stream, LEADER_KEY)
    eventually(backend, "the next one wins", lambda: stand(waiting) is not None)


@case("election")
def the_same_session_stands_again(backend: Backend) -> None:
    """A session that gave up its term but kept its key wins again under a higher epoch; the old fence is closed."""
    store = backend.open()
    first = Fence(won(store))
    commit(store, first, "a")
    second = won(store)
    assert second.controller_epoch == 2
    assert second.token == Token(1, 1, "a")
    with raises(Conflict) as caught:
        store.commit(first.attempt((), "b").ops, timeout_s=CALL_S)
    assert caught.error.index == 0
    commit(store, Fence(second), "c")


@case("election", Hook.EXPIRE)
def loss_is_learned_by_the_next_commit(backend: Backend) -> None:
    """A leader whose session ended and that was replaced learns it by its next commit at the latest."""
    leader, other = backend.open(), backend.open()
    fence = Fence(won(leader, "leader"))
    commit(leader, fence, "a")
    backend.expire(leader)
    eventually(backend, "the leader key is gone", lambda: get(other, LEADER_KEY) is None)
    won(other, "other")
    await_contact(backend, leader)
    with raises(Conflict) as caught:
        leader.commit(fence.attempt((), "b").ops, timeout_s=CALL_S)
    assert caught.error.index == 0


@case("election", Hook.DISCONNECT)
def a_restarted_node_does_not_adopt_its_old_key(backend: Backend) -> None:
    """A node that restarts within the session time does not take its leftover key for leadership; it may delete it."""
    former = backend.open()
    term = won(former, "node 1")
    backend.disconnect(former)
    again = backend.open()
    assert stand(again, "node 1") is None
    assert reap_own_leftover(again, LEADER_KEY, b"node 1", CALL_S)
    assert won(again, "node 1").controller_epoch == term.controller_epoch + 1


@case("election", Hook.BLACKOUT)
def a_lost_reply_of_an_election_resolves_to_the_winner(backend: Backend) -> None:
    """If the reply to a candidacy is lost, standing again resolves it: one leader, with the epoch of the key."""
    store, other = backend.open(), backend.open()
    with backend.blackout(store), contextlib.suppress(OutcomeUnknown, Unavailable):
        elect(store, b"node", "lost", 0.5)
    terms: list[ElectedTerm] = []

    def leads() -> bool:
        try:
            term = stand(store)
        except StoreError:
            return False
        terms.extend([] if term is None else [term])
        return term is not None

    eventually(backend, "the candidate wins", leads)
    assert stand(other) is None
    assert found(other, LEADER_KEY).owner == store.session.session_id
    assert found(other, EPOCH_KEY).version == terms[0].epoch_version
    assert found(other, EPOCH_KEY).value == b"%d" % terms[0].controller_epoch
    commit(store, Fence(terms[0]), "first")
