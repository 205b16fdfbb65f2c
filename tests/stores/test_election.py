"""Elections: one epoch each, above all that were used, whatever becomes of a request or its reply."""

from __future__ import annotations

import pytest

from kedge.stores import ABSENT, PRESENT, Conflict, Corrupt, Delete, MemoryStore, OutcomeUnknown, Unavailable
from kedge.stores.faults import Call, DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Rule, at_commit
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, ElectedTerm, Fence, Token, decode_epoch
from tests.stores.standing import faulty, found, put, stand, won


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
        assert term == ElectedTerm(int(after), found(store, EPOCH_KEY).version, None, ABSENT)


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
    """No controller leads over a token that cannot be read; nothing is written."""
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
    """After three lost replies the caller gets an error; standing again later wins, whatever had been applied."""
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
    """Another controller wins between our look and our commit: None, whether their key stands or is gone again."""
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
