"""Elections: one epoch each, above all that were used, whatever becomes of a request or its reply."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Conflict,
    Corrupt,
    Delete,
    Expect,
    MemoryStore,
    MetadataStore,
    OutcomeUnknown,
    Put,
    Unavailable,
)
from kedge.stores.faults import DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Rule, at_commit
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, ElectedTerm, Fence, Token
from kedge.stores.recipes.election import EPOCH_MAX, SEAT, SEAT_BESIDE_KAFKA, Seat
from kedge.stores.recipes.token import HELD_KEY
from kedge.stores.suite.backend import found
from tests.stores.kit import CALL_S, before_commits, faulty, stand, won, write

OLD = Token(9, 100, "old")


@pytest.mark.parametrize(
    "key, value",
    [(EPOCH_KEY, v) for v in (b"", b"-1", b"1.0", b"1\n", "\u0661".encode(), b"2147483647", b"9" * 5000)]
    + [(TOKEN_KEY, b"broken")],
)
def test_broken_epoch_or_token_stops_the_election(key: str, value: bytes) -> None:
    """An operator has to look at it: nothing is written."""
    store, observer = faulty()
    write(observer, key, value)
    with pytest.raises(Corrupt, match=key) as caught:
        stand(store)
    assert caught.value.key == key
    assert observer.children("/", timeout_s=CALL_S) == [key.split("/")[1]]


def test_no_epoch_follows_the_last_one() -> None:
    """Kafka's requests carry no higher one, and it must not wrap."""
    store, observer = faulty()
    write(observer, EPOCH_KEY, b"%d" % (EPOCH_MAX - 1))
    assert won(store).controller_epoch == EPOCH_MAX
    with pytest.raises(Corrupt) as caught:
        stand(store)
    message = f"{EPOCH_KEY}: no controller epoch is left above {EPOCH_MAX}"
    assert (str(caught.value), caught.value.key) == (message, EPOCH_KEY)


@pytest.mark.parametrize(
    "epoch, token, elected",
    [(None, None, 1), (b"0", None, 1), (b"41", None, 42), (b"007", None, 8), (None, OLD, 10), (b"3", OLD, 10)],
)
def test_epoch_is_above_that_of_key_and_token(epoch: bytes | None, token: Token | None, elected: int) -> None:
    """If the epoch key was lost or set back, the token still names the last epoch in use."""
    store, observer = faulty()
    version: Expect = ABSENT
    if epoch is not None:
        write(observer, EPOCH_KEY, epoch)
    if token is not None:
        version = write(observer, TOKEN_KEY, token.encode())
    term = won(store)
    assert term == ElectedTerm(elected, found(observer, EPOCH_KEY).version, token, version)
    assert found(observer, EPOCH_KEY).value == b"%d" % elected
    assert Fence(term).next_seq == (101 if token else 1)


@pytest.mark.parametrize(
    "fault, commits", [(LoseReply(), 1), (LoseRequest(), 2), (DeliverLater(before_commit=1), 2)], ids=str
)
def test_lost_commit_of_an_election_is_won_once(fault: Fault, commits: int) -> None:
    """Applied, or sent again; of two that arrive, the second is refused."""
    store, observer = faulty(at_commit(1, fault))
    term = won(store)
    assert (term.controller_epoch, store.commits) == (1, commits)
    assert (found(observer, LEADER_KEY).value, found(observer, LEADER_KEY).owner) == (b"me", store.session.session_id)
    assert found(observer, EPOCH_KEY).version == term.epoch_version


def test_candidacy_that_arrives_after_another_won_does_nothing() -> None:
    """It is refused by the epoch, although the key of the leader is gone again."""
    store, observer = faulty([Rule(DeliverLater())])
    with pytest.raises(OutcomeUnknown):
        stand(store)
    term = stand(observer)
    assert term is not None
    observer.commit([Delete(LEADER_KEY, PRESENT)], timeout_s=CALL_S)
    assert {type(answer) for answer in store.deliver_late()} <= {Conflict}
    assert found(observer, EPOCH_KEY).version == term.epoch_version


def test_election_that_stays_unknown_names_its_candidacy() -> None:
    """After three lost requests; standing again wins."""
    store, _ = faulty([Rule(LoseRequest())])
    with pytest.raises(OutcomeUnknown, match="candidacy nonce for epoch 1") as lost:
        stand(store)
    assert (lost.value.key, store.commits) == (LEADER_KEY, 3)
    store.play(())
    assert won(store).controller_epoch == 1


def test_unavailable_while_reading_back_goes_to_the_caller() -> None:
    """The key may be held then: the next election takes it over, under a higher epoch."""
    store, observer = faulty([*at_commit(1, LoseReply()), Rule(FailBefore(), "get", LEADER_KEY, nth=2)])
    with pytest.raises(Unavailable):
        stand(store)
    assert found(observer, LEADER_KEY).owner == store.session.session_id
    assert won(store).controller_epoch == 2


def led_by_kafka(observer: MetadataStore) -> object:
    return observer.commit([Put(LEADER_KEY, b"kafka", ABSENT, ephemeral=True)], timeout_s=CALL_S)


@pytest.mark.parametrize("seat, rival", [(SEAT, stand), (SEAT_BESIDE_KAFKA, stand), (SEAT_BESIDE_KAFKA, led_by_kafka)])
@pytest.mark.parametrize("commits", [0, 1], ids=["before", "in between"])
def test_no_election_is_won_over_another_leader(
    seat: Seat, rival: Callable[[MetadataStore], object], commits: int
) -> None:
    """Whether it was there before, or comes between the look and the commit; its key stays."""
    rivals: list[MemoryStore] = []
    store, observer = faulty(before_commits(lambda call: [rival(each) for each in rivals if call.number == 1]))
    rivals.append(observer)
    if not commits:
        rival(observer)
    assert stand(store, seat) is None
    assert (store.commits, found(observer, LEADER_KEY).owner) == (commits, observer.session.session_id)


def test_epoch_that_moves_each_time_ends_the_election() -> None:
    """After three attempts, with no term."""
    observers: list[MemoryStore] = []
    store, observer = faulty(before_commits(lambda call: write(observers[0], EPOCH_KEY, b"%d" % call.number)))
    observers.append(observer)
    assert stand(store) is None
    assert store.commits == 3


def test_seat_beside_kafka_is_held_and_shown() -> None:
    """The shown key is no key of a session: it stays while one leader follows another."""
    store, observer = faulty()
    write(observer, LEADER_KEY, b"former")
    won(store, SEAT_BESIDE_KAFKA)
    assert (found(observer, HELD_KEY).value, found(observer, HELD_KEY).owner) == (b"me", store.session.session_id)
    assert (found(observer, LEADER_KEY).value, found(observer, LEADER_KEY).owner) == (b"me", None)
