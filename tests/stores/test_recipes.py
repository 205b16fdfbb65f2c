from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Corrupt,
    Delete,
    Entry,
    FaultStore,
    Invalid,
    MemoryServer,
    MemoryStore,
    MetadataStore,
    OutcomeUnknown,
    Put,
    Unavailable,
    Version,
)
from stores.faults import Call, DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Plan, Rule, at_commit
from stores.recipes import (
    EPOCH_KEY,
    LEADER_KEY,
    TOKEN_KEY,
    Fence,
    Outcome,
    Resolution,
    Term,
    Token,
    append_sequence,
    decode_epoch,
    elect,
    is_fence_conflict,
    reap_own_leftover,
    resolve,
)


def faulty(plan: Plan = ()) -> tuple[FaultStore, MemoryStore]:
    server = MemoryServer()
    return FaultStore(MemoryStore(server), plan), MemoryStore(server)


def stand(store: MetadataStore) -> Term | None:
    return elect(store, b"me", "nonce", 1.0)


def won(store: MetadataStore) -> Term:
    term = stand(store)
    assert term is not None
    return term


def found(store: MetadataStore, key: str) -> Entry:
    entry = store.get(key, timeout_s=1)
    assert entry is not None
    return entry


def put(store: MetadataStore, key: str, value: bytes) -> Version:
    entry = store.get(key, timeout_s=1)
    version = store.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1).versions[0]
    assert version is not None
    return version


def test_a_token_is_compact_json() -> None:
    """The token has the JSON that the format prescribes, and reads back; members that are not known do no harm."""
    token = Token(7, 42, "n-1")
    assert token.encode() == b'{"controller_epoch":7,"seq":42,"nonce":"n-1"}'
    assert Token.decode(token.encode()) == token
    assert Token.decode(b'{"controller_epoch":7,"seq":42,"nonce":"n-1","later":1}') == token


@given(st.integers(0, 2**31), st.integers(0, 2**62), st.text())
def test_every_token_reads_back(epoch: int, seq: int, nonce: str) -> None:
    """Any nonce survives."""
    assert Token.decode(Token(epoch, seq, nonce).encode()) == Token(epoch, seq, nonce)


_GOOD: dict[str, object] = {"controller_epoch": 1, "seq": 1, "nonce": "n"}


_WRONG: tuple[object, ...] = (None, -1, 1.5, True, [])
_BROKEN = [json.dumps({**_GOOD, name: bad}).encode() for name in _GOOD for bad in _WRONG]


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"\xff", b"[]", b"7", b"null", b"{}", b"[" * 100_000, b'{"controller_epoch":1,"seq":"1"}', *_BROKEN],
)
def test_a_broken_token_is_corrupt(value: bytes) -> None:
    """Whatever else stands there is Corrupt, under the token's key."""
    with pytest.raises(Corrupt, match=TOKEN_KEY) as caught:
        Token.decode(value)
    assert caught.value.key == TOKEN_KEY


@given(st.binary(max_size=40))
def test_any_bytes_are_a_token_or_corrupt(value: bytes) -> None:
    """No other error comes out."""
    with pytest.raises(Corrupt):
        Token.decode(value)


@pytest.mark.parametrize(
    "value", [b"", b"x", b"-1", b"1.0", b" 1", b"1\n", "\u0661".encode(), b"2147483647", b"9" * 5000]
)
def test_a_broken_epoch_is_corrupt_and_nothing_is_written(value: bytes) -> None:
    """Standing under a broken epoch key is a clear error each time; neither key is touched."""
    store = MemoryStore()
    put(store, EPOCH_KEY, value)
    for _ in range(2):
        with pytest.raises(Corrupt, match=EPOCH_KEY) as caught:
            stand(store)
        assert caught.value.key == EPOCH_KEY
    assert store.get(LEADER_KEY, timeout_s=1) is None
    assert found(store, EPOCH_KEY).value == value


def test_no_epoch_is_left() -> None:
    """The highest epoch that Kafka's requests can carry is not followed by one that wraps."""
    store = MemoryStore()
    put(store, EPOCH_KEY, b"2147483646")
    assert decode_epoch(b"2147483646") == 2147483646
    with pytest.raises(Corrupt, match="no controller epoch is left"):
        stand(store)


def test_the_epoch_goes_on_from_what_stands_there() -> None:
    """An epoch that Kafka left is followed by the next one; leading zeros and epoch 0 are numbers, too."""
    for before, after in ((b"0", b"1"), (b"41", b"42"), (b"007", b"8")):
        store = MemoryStore()
        put(store, EPOCH_KEY, before)
        term = won(store)
        assert (found(store, EPOCH_KEY).value, term.controller_epoch) == (after, int(after))
        assert term == Term(int(after), found(store, EPOCH_KEY).version, None, ABSENT)


def test_the_epoch_is_above_that_of_the_token() -> None:
    """If the epoch key was lost or set back, the token still says which epochs were used."""
    for epoch in (None, b"3"):
        store = MemoryStore()
        version = put(store, TOKEN_KEY, Token(9, 100, "old").encode())
        if epoch is not None:
            put(store, EPOCH_KEY, epoch)
        term = won(store)
        assert (term.controller_epoch, term.token, term.token_version) == (10, Token(9, 100, "old"), version)
        assert Fence(term).next_seq == 101


def test_a_broken_token_stops_the_election() -> None:
    """Nobody leads over a token that cannot be read; nothing is written."""
    store = MemoryStore()
    put(store, TOKEN_KEY, b"broken")
    with pytest.raises(Corrupt):
        stand(store)
    assert store.get(EPOCH_KEY, timeout_s=1) is None


def test_a_lost_reply_of_a_won_election_is_won() -> None:
    """Applied, reply lost: one call of elect finds the truth, under one epoch."""
    store, observer = faulty(at_commit(1, LoseReply()))
    term = won(store)
    assert (term.controller_epoch, store.commits) == (1, 1)
    assert found(observer, LEADER_KEY).owner == store.session.session_id
    assert found(observer, EPOCH_KEY).version == term.epoch_version


def test_a_lost_request_of_an_election_is_sent_again() -> None:
    """Not applied, outcome unknown: the same candidacy is sent again and wins."""
    store, observer = faulty(at_commit(1, LoseRequest()))
    assert won(store).controller_epoch == 1
    assert store.commits == 2
    assert found(observer, LEADER_KEY).value == b"me"


def test_a_late_candidacy_wins_once() -> None:
    """The first sending arrives just before the second: the second is refused, and the election is won all the same."""
    store, observer = faulty(at_commit(1, DeliverLater(before_commit=1)))
    assert won(store).controller_epoch == 1
    assert found(observer, EPOCH_KEY).value == b"1"


def test_a_candidacy_delivered_after_another_won_does_nothing() -> None:
    """A candidacy that arrives when another one was elected meanwhile is refused by the epoch."""
    store, observer = faulty([Rule(DeliverLater())])
    with pytest.raises(OutcomeUnknown, match="nonce"):
        stand(store)
    term = won(observer)
    observer.commit([Delete(LEADER_KEY, PRESENT)], timeout_s=1)
    assert {type(answer) for answer in store.deliver_late()} <= {Conflict}
    assert found(observer, EPOCH_KEY).version == term.epoch_version


def test_an_election_that_stays_unknown_is_unknown() -> None:
    """After three lost replies the caller is told; standing again later wins, whatever had been applied."""
    store, _ = faulty([Rule(LoseRequest())])
    with pytest.raises(OutcomeUnknown):
        stand(store)
    assert store.commits == 3
    store.play(())
    assert won(store).controller_epoch == 1


def test_unavailable_while_reading_back_goes_to_the_caller() -> None:
    """Elect does not wait: what is retryable is raised; the key that may be ours is taken over the next time."""
    store, observer = faulty([*at_commit(1, LoseReply()), Rule(FailBefore(), "get", LEADER_KEY, nth=2)])
    with pytest.raises(Unavailable):
        stand(store)
    assert found(observer, LEADER_KEY).owner == store.session.session_id
    assert won(store).controller_epoch == 2


def test_who_loses_the_race_gets_none() -> None:
    """Somebody else wins between our look and our commit: None, whether their key stands or is gone again."""
    other: list[MemoryStore] = []

    def plan(call: Call, _: object) -> list[Fault]:
        if call.name == "commit" and call.number == 1:
            won(other[0])
        return []

    store, observer = faulty(plan)
    other.append(observer)
    assert stand(store) is None
    assert found(store, LEADER_KEY).owner == observer.session.session_id


def test_an_election_that_keeps_losing_races_ends_with_none() -> None:
    """If the epoch moves under us each time we stand, we give up with None instead of going on for ever."""
    observers: list[MemoryStore] = []

    def plan(call: Call, _: object) -> list[Fault]:
        if call.name == "commit":
            put(observers[0], EPOCH_KEY, b"%d" % call.number)
        return []

    store, observer = faulty(plan)
    observers.append(observer)
    assert stand(store) is None
    assert store.commits == 3


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
    """A commit that arrives after somebody else was elected fails at the epoch, though its token still fits."""
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
    """What was applied before the term ended was applied, and may be told."""
    store, observer = faulty()

    def succeed() -> None:
        store.expire()
        won(observer)

    assert settled(store, LoseReply(), succeed) is Outcome.APPLIED


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


def test_a_sequence_goes_on_after_a_purge() -> None:
    """Numbers rise from 0, several in one commit, and never go back, though all children were deleted."""
    store = MemoryStore()
    first = append_sequence(store, "/config/changes", "config_change_", [b"a", b"b"], 1.0)
    assert first.keys == ("/config/changes/config_change_0000000000", "/config/changes/config_change_0000000001")
    store.commit(first.ops, timeout_s=1)
    assert [found(store, key).value for key in first.keys] == [b"a", b"b"]
    store.commit([Delete(key, PRESENT) for key in first.keys], timeout_s=1)
    second = append_sequence(store, "/config/changes", "config_change_", b"c", 1.0)
    assert second.keys == ("/config/changes/config_change_0000000002",)
    fence = Fence(won(store))
    store.commit(fence.attempt(second.ops, "n").ops, timeout_s=1)
    assert store.children("/config/changes", timeout_s=1) == ["config_change_0000000002"]


def test_two_that_append_at_once_do_not_meet() -> None:
    """The second of two appends that were made at one state is a Conflict on the counter; made anew it fits."""
    store = MemoryStore()
    first, second = (append_sequence(store, "/s", "n_", value, 1.0) for value in (b"1", b"2"))
    store.commit(first.ops, timeout_s=1)
    with pytest.raises(Conflict) as caught:
        store.commit(second.ops, timeout_s=1)
    assert caught.value.key == second.counter_key == "/s"
    store.commit(append_sequence(store, "/s", "n_", b"2", 1.0).ops, timeout_s=1)
    assert store.children("/s", timeout_s=1) == ["n_0000000000", "n_0000000001"]


def test_a_sequence_begins_above_what_others_left() -> None:
    """Where the parent holds no number, the highest child counts; other names and an empty parent do no harm."""
    store = MemoryStore()
    for key in ("/s/n_0000000041", "/s/n_0000000007", "/s/n_99", "/s/other_0000000100", "/s/n_00000000xx"):
        put(store, key, b"")
    assert append_sequence(store, "/s", "n_", b"", 1.0).keys == ("/s/n_0000000042",)
    put(store, "/s", b"")
    appended = append_sequence(store, "/s", "n_", b"", 1.0)
    store.commit(appended.ops, timeout_s=1)
    assert found(store, "/s").value == b"43"


@pytest.mark.parametrize("value", [b"x", b"-1", b"2147483647"])
def test_a_broken_or_used_up_counter_is_corrupt(value: bytes) -> None:
    """A parent that holds something else, or the last number, gives no ops."""
    store = MemoryStore()
    put(store, "/s", value)
    with pytest.raises(Corrupt, match="/s") as caught:
        append_sequence(store, "/s", "n_", b"", 1.0)
    assert caught.value.key == "/s"
