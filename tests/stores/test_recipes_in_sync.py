"""Recipes decide on what the store has agreed on: each read is in sync, and each call waits as long as was asked.

A plain read may lag behind: an election on it would take an epoch that was given before. Some properties of what is
written at the limits are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Check, Commit, Conflict, Corrupt, Entry, Invalid, Op, OutcomeUnknown, Put
from kedge.stores.faults import FaultStore, LoseReply, LoseRequest, Rule
from kedge.stores.recipes import (
    EPOCH_KEY,
    LEADER_KEY,
    TOKEN_KEY,
    Fence,
    Outcome,
    Resolution,
    Token,
    elect,
    hold,
    next_in_sequence,
    next_number,
    number_in_sequence,
    reap_own_leftover,
    resolve,
    taken,
)
from kedge.stores.recipes.election import EPOCH_MAX, SEAT_BESIDE_KAFKA
from kedge.stores.recipes.sequence import NUMBER_MAX, sequence_key
from kedge.stores.recipes.token import HELD_KEY

WAIT_S = 0.25
KEY = "/ids"


class Exacting(MemoryStore):
    """It refuses plain reads, and calls that wait for another time than WAIT_S."""

    def __init__(self, origin: MemoryStore | None = None) -> None:
        super().__init__(None if origin is None else origin.server)
        self.commits: list[list[Op]] = []

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        assert sync is True
        assert timeout_s == WAIT_S
        return super().get(key, sync=sync, timeout_s=timeout_s)

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        assert timeout_s == WAIT_S
        return super().children(key, timeout_s=timeout_s)

    def created_below(self, key: str, *, timeout_s: float) -> int:
        assert timeout_s == WAIT_S
        return super().created_below(key, timeout_s=timeout_s)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        assert timeout_s == WAIT_S
        self.commits.append(list(ops))
        return super().commit(ops, timeout_s=timeout_s)

    def another_session(self) -> MemoryStore:
        return Exacting(self)


def put(store: MemoryStore, key: str, value: bytes) -> None:
    entry = MemoryStore.get(store, key, timeout_s=1)
    MemoryStore.commit(store, [Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1)


def _elect(store: Exacting) -> object:
    return elect(store, b"{}", "n", WAIT_S)


def _elect_beside_kafka(store: Exacting) -> object:
    return elect(store, b"{}", "n", WAIT_S, SEAT_BESIDE_KAFKA)


def _resolve(store: Exacting) -> object:
    term = elect(store, b"{}", "n", WAIT_S)
    assert term is not None
    return resolve(store.another_session, Fence(term).attempt((), "a"), WAIT_S)


def _hold(store: Exacting) -> object:
    assert elect(Exacting(store), b"{}", "n", WAIT_S) is not None
    return hold(store, b"kept", Check("/none", ABSENT), lambda _: (), WAIT_S)


def _reap(store: Exacting) -> object:
    other = Exacting(store)
    other.commit([Put(KEY, b"mine", ABSENT, ephemeral=True)], timeout_s=WAIT_S)
    return reap_own_leftover(store, KEY, b"mine", WAIT_S)


RECIPES: list[Callable[[Exacting], object]] = [
    _elect,
    _elect_beside_kafka,
    _resolve,
    _hold,
    _reap,
    lambda store: [next_number(store, KEY, WAIT_S) for _ in range(2)],
    lambda store: next_in_sequence(store, "/s", "n_", WAIT_S) + 1,
]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_reads_in_sync_and_waits_as_long_as_was_asked(recipe: Callable[[Exacting], object]) -> None:
    assert recipe(Exacting())


def test_the_seat_beside_kafka_is_held_and_shown() -> None:
    """What is shown is no key of a session: it stays while one leader follows another."""
    store = Exacting()
    put(store, LEADER_KEY, b"former")
    assert elect(store, b"ours", "n", WAIT_S, SEAT_BESIDE_KAFKA) is not None
    held, shown = (store.get(key, sync=True, timeout_s=WAIT_S) for key in (HELD_KEY, LEADER_KEY))
    assert held is not None
    assert shown is not None
    assert (held.value, held.owner) == (b"ours", store.session.session_id)
    assert (shown.value, shown.owner) == (b"ours", None)


def test_no_controller_is_elected_while_a_kafka_broker_leads() -> None:
    store = Exacting()
    Exacting(store).commit([Put(LEADER_KEY, b"kafka", ABSENT, ephemeral=True)], timeout_s=WAIT_S)
    assert elect(store, b"ours", "n", WAIT_S, SEAT_BESIDE_KAFKA) is None
    assert store.commits == []


def test_what_is_shown_is_not_overwritten_if_it_changed_meanwhile() -> None:
    """A Kafka broker took it after it was read."""

    class Raced(Exacting):
        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            if not self.commits:
                Exacting(self).commit([Put(LEADER_KEY, b"kafka", ABSENT, ephemeral=True)], timeout_s=WAIT_S)
            return super().commit(ops, timeout_s=timeout_s)

    store = Raced()
    assert elect(store, b"ours", "n", WAIT_S, SEAT_BESIDE_KAFKA) is None
    found = store.get(LEADER_KEY, sync=True, timeout_s=WAIT_S)
    assert found is not None
    assert found.value == b"kafka"


@pytest.mark.parametrize("epoch", [EPOCH_MAX - 1, EPOCH_MAX])
def test_the_last_epoch_is_given_and_none_above_it(epoch: int) -> None:
    store = Exacting()
    put(store, EPOCH_KEY, b"%d" % epoch)
    if epoch < EPOCH_MAX:
        term = elect(store, b"{}", "n", WAIT_S)
        assert term is not None
        assert term.controller_epoch == EPOCH_MAX
        return
    message = f"{EPOCH_KEY}: no controller epoch is left above {EPOCH_MAX}"
    for recipe in (
        lambda: elect(store, b"{}", "n", WAIT_S),
        lambda: hold(store, b"kept", Check("/none", ABSENT), lambda _: (), WAIT_S),
    ):
        with pytest.raises(Corrupt) as caught:
            recipe()
        assert (str(caught.value), caught.value.key) == (message, EPOCH_KEY)


def test_the_last_epoch_may_be_held() -> None:
    store = Exacting()
    put(store, EPOCH_KEY, b"%d" % (EPOCH_MAX - 1))
    assert hold(store, b"kept", Check("/none", ABSENT), lambda _: (), WAIT_S) == EPOCH_MAX


def test_who_holds_is_above_the_epoch_of_the_token() -> None:
    """Which may be all that is left of the former terms."""
    store = Exacting()
    put(store, TOKEN_KEY, Token(7, 3, "n").encode())
    assert hold(store, b"kept", Check("/none", ABSENT), lambda _: (), WAIT_S) == 8


def test_a_key_that_another_session_holds_is_named() -> None:
    store = Exacting()
    put(store, LEADER_KEY, b"theirs")
    with pytest.raises(Invalid) as caught:
        hold(store, b"kept", Check("/none", ABSENT), lambda _: (), WAIT_S)
    assert caught.value.key == LEADER_KEY


def test_an_election_that_stays_unknown_names_its_key_and_its_candidacy() -> None:
    store = FaultStore(MemoryStore(), lambda call, _: [LoseRequest()] if call.name == "commit" else [])
    with pytest.raises(OutcomeUnknown, match="candidacy n for epoch 1") as lost:
        elect(store, b"{}", "n", 1)
    assert lost.value.key == LEADER_KEY


def test_a_resolution_without_a_version_moves_no_fence() -> None:
    term = elect(MemoryStore(), b"{}", "n", 1)
    assert term is not None
    fence = Fence(term)
    attempt = fence.attempt((), "a")
    for resolution in (Resolution(Outcome.APPLIED), Resolution(Outcome.NOT_APPLIED), Resolution(Outcome.DEPOSED)):
        with pytest.raises(Invalid, match="only after APPLIED"):
            fence.resolved(attempt, resolution)
    assert fence.token is None


@pytest.mark.parametrize(
    "epochs, gaps", [((1, 2), ()), ((1, 3), ((1, 3),)), ((5, 9), ((5, 9),))], ids=["next", "one between", "many"]
)
def test_epochs_without_a_token_are_a_gap_in_the_tokens_of_the_term(
    epochs: tuple[int, int], gaps: tuple[tuple[int, int], ...]
) -> None:
    """Beside the gaps of before, which are kept."""
    before, now = epochs
    store = MemoryStore()
    put(store, EPOCH_KEY, b"%d" % (now - 1))
    put(store, TOKEN_KEY, Token(before, 4, "b", ((-1, 1),)).encode())
    term = elect(store, b"{}", "n", 1)
    assert term is not None
    assert term.controller_epoch == now
    after = Fence(term).attempt((), "a").after
    assert after == Token(now, 5, "a", ((-1, 1), *gaps))
    assert Token.decode(after.encode()) == after
    assert f'"gaps":{[list(pair) for pair in after.gaps]}'.replace(" ", "").encode() in after.encode()


@pytest.mark.parametrize("found, gaps", [('[[1,2],3,["a",2],[1,2,3]]', ((1, 2),)), ("7", ()), ("null", ())])
def test_gaps_that_are_none_are_skipped(found: str, gaps: tuple[tuple[int, int], ...]) -> None:
    value = b'{"controller_epoch":1,"seq":2,"nonce":"n","gaps":%s}' % found.encode()
    assert Token.decode(value).gaps == gaps


def test_a_number_goes_on_from_the_value_of_a_copied_key_and_skips_what_is_none() -> None:
    store = Exacting()
    put(store, KEY, b"41")
    assert [next_number(store, KEY, WAIT_S) for _ in range(2)] == [42, 43]
    put(store, "/broken", b"many")
    assert next_number(store, "/broken", WAIT_S) == 1


def test_a_number_is_that_of_the_generation_where_that_is_higher() -> None:
    store = Exacting()
    for value in (b"0", b"x", b"y", b"z"):
        put(store, KEY, value)
    assert next_number(store, KEY, WAIT_S) == 4
    found = store.get(KEY, sync=True, timeout_s=WAIT_S)
    assert found is not None
    assert (found.value, found.generation) == (b"4", 4)


def test_the_last_number_is_given_and_none_above_it() -> None:
    store = Exacting()
    put(store, KEY, b"%d" % (NUMBER_MAX - 1))
    assert next_number(store, KEY, WAIT_S) == NUMBER_MAX
    with pytest.raises(Corrupt) as caught:
        next_number(store, KEY, WAIT_S)
    assert (str(caught.value), caught.value.key) == (f"{KEY}: no number is left above {NUMBER_MAX}", KEY)


def test_a_number_is_taken_again_after_a_lost_reply() -> None:
    """Which skips the number that was written."""
    store = FaultStore(MemoryStore(), [Rule(LoseReply(), nth=1), Rule(LoseReply(), nth=3)])
    assert [next_number(store, KEY, 1) for _ in range(3)] == [1, 3, 4]


def test_a_number_for_which_others_are_faster_each_time_ends_with_the_last_conflict() -> None:
    """After 100 tries."""

    class Raced(MemoryStore):
        tries = 0

        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            self.tries += 1
            put(self, KEY, b"theirs")
            return super().commit(ops, timeout_s=timeout_s)

    store = Raced()
    with pytest.raises(Conflict) as caught:
        next_number(store, KEY, WAIT_S)
    assert (caught.value.key, store.tries) == (KEY, 100)


@pytest.mark.parametrize("number", [0, 1, NUMBER_MAX])
def test_the_number_of_a_key_of_a_sequence_reads_back(number: int) -> None:
    name = sequence_key("/s", "n_", number).removeprefix("/s/")
    assert number_in_sequence("n_", name) == number
    assert number_in_sequence("n_", f"n_{NUMBER_MAX + 1}") is None


def test_a_sequence_begins_at_zero_and_goes_on_above_the_highest() -> None:
    store = Exacting()
    assert next_in_sequence(store, "/s", "n_", WAIT_S) == 0
    put(store, sequence_key("/s", "n_", 0), b"")
    assert next_in_sequence(store, "/s", "n_", WAIT_S) == 1


def test_a_leftover_that_another_program_removes_meanwhile_is_looked_for_in_sync() -> None:
    class Raced(Exacting):
        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            other.close()  # its session ends, and its key with it
            return super().commit(ops, timeout_s=timeout_s)

    store = Raced()
    other = Exacting(store)
    other.commit([Put(KEY, b"mine", ABSENT, ephemeral=True)], timeout_s=WAIT_S)
    assert reap_own_leftover(store, KEY, b"mine", WAIT_S)


def test_the_key_of_numbers_begins_with_a_number() -> None:
    """For a reader before the first one is taken."""
    store = Exacting()
    assert next_number(store, KEY, WAIT_S) == 1
    assert store.commits[0] == [Put(KEY, b"0", ABSENT)]


def test_what_is_taken_is_tried_again_for_conflicts_and_lost_replies_alone() -> None:
    tries: list[int] = []

    def take() -> int:
        tries.append(1)
        raise ValueError("not this")

    with pytest.raises(ValueError, match="not this"):
        taken(take)
    assert len(tries) == 1
