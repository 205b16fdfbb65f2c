"""Numbered keys, unique numbers, and keys that a former session left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.stores import ABSENT, PRESENT, Conflict, Corrupt, Delete, Entry, FaultStore, MemoryStore, Op, Put
from kedge.stores.faults import LoseReply, Rule
from kedge.stores.recipes import next_in_sequence, next_number, number_in_sequence, reap_own_leftover, taken
from kedge.stores.recipes.sequence import NUMBER_MAX, sequence_key
from kedge.stores.suite.backend import found, get
from tests.stores.kit import CALL_S, RECIPE_S, before_commits, faulty, write

KEY = "/ids"


def numbers(store: FaultStore, count: int) -> list[int]:
    return [next_number(store, KEY, RECIPE_S) for _ in range(count)]


def following(store: FaultStore) -> int:
    return next_in_sequence(store, "/s", "n_", RECIPE_S)


def test_sequence_goes_on_above_what_is_there() -> None:
    """From 0, above the highest child; other names do no harm, and the next call sees what was put."""
    store, observer = faulty()
    assert following(store) == 0
    for name in ("n_0000000041", "n_0000000007", "n_99", "other_0000000100", "n_00000000xx", "n_9999999999"):
        write(observer, f"/s/{name}", b"")
    assert following(store) == 42
    observer.commit([Delete("/s/n_0000000007", PRESENT)], timeout_s=CALL_S)
    write(observer, sequence_key("/s", "n_", following(store)), b"")
    assert following(store) == 43


def test_children_that_the_backend_counts_use_up_numbers() -> None:
    class Counting(FaultStore):
        def created_below(self, key: str, *, timeout_s: float) -> int:
            assert (key, timeout_s) == ("/s", RECIPE_S)
            return 7

    assert following(Counting(faulty()[0])) == 7


@pytest.mark.parametrize("number", [0, 1, NUMBER_MAX])
def test_number_of_a_key_of_a_sequence_reads_back(number: int) -> None:
    name = sequence_key("/s", "n_", number).removeprefix("/s/")
    assert number_in_sequence("n_", name) == number
    assert number_in_sequence("n_", f"n_{NUMBER_MAX + 1}") is None


@pytest.mark.parametrize(
    "values, expected, value",
    [
        ([], [1, 2], b"2"),
        ([b"41"], [42, 43], b"43"),
        ([b"many"], [1, 2], b"2"),
        ([b"0", b"x", b"y", b"z"], [4, 5], b"5"),
        ([b"%d" % (NUMBER_MAX - 1)], [NUMBER_MAX], b"%d" % NUMBER_MAX),
    ],
    ids=["no key", "a copied key", "no number", "a higher generation", "the last"],
)
def test_number_is_above_value_and_generation(values: list[bytes], expected: list[int], value: bytes) -> None:
    store, observer = faulty()
    for each in values:
        write(observer, KEY, each)
    assert numbers(store, len(expected)) == expected
    assert found(observer, KEY).value == value


def test_key_of_numbers_begins_with_a_number() -> None:
    """For a reader before the first one is taken."""
    store, _ = faulty()
    numbers(store, 1)
    assert store.calls[1].ops == (Put(KEY, b"0", ABSENT),)


def test_no_number_follows_the_last_one() -> None:
    store, observer = faulty()
    write(observer, KEY, b"%d" % NUMBER_MAX)
    with pytest.raises(Corrupt) as caught:
        numbers(store, 1)
    assert (str(caught.value), caught.value.key) == (f"{KEY}: no number is left above {NUMBER_MAX}", KEY)


def test_number_is_taken_again_after_a_lost_reply() -> None:
    """Which skips the number that was written."""
    assert numbers(faulty([Rule(LoseReply(), nth=1), Rule(LoseReply(), nth=3)])[0], 3) == [1, 3, 4]


def test_number_that_others_take_each_time_is_a_conflict() -> None:
    """After 100 tries."""
    observers: list[MemoryStore] = []
    store, observer = faulty(before_commits(lambda _: write(observers[0], KEY, b"theirs")))
    observers.append(observer)
    with pytest.raises(Conflict) as caught:
        numbers(store, 1)
    assert (caught.value.key, store.commits) == (KEY, 100)


def test_only_conflicts_and_lost_replies_are_tried_again() -> None:
    tries: list[int] = []

    def take() -> int:
        tries.append(1)
        raise ValueError("not this")

    with pytest.raises(ValueError, match="not this"):
        taken(take)
    assert len(tries) == 1


@pytest.mark.parametrize(
    "mine, is_reaped",
    [
        (b"me", True),
        (b"you", False),
        (lambda entry: entry.value == b"me", True),
        (lambda entry: entry.value == b"you", False),
    ],
)
def test_leftover_is_reaped_only_if_it_is_mine(mine: bytes | Callable[[Entry], bool], is_reaped: bool) -> None:
    store, observer = faulty()
    assert reap_own_leftover(store, KEY, mine, RECIPE_S)
    observer.commit([Put(KEY, b"me", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    assert reap_own_leftover(store, KEY, mine, RECIPE_S) is is_reaped
    assert (get(observer, KEY) is None) is is_reaped


@pytest.mark.parametrize("ephemeral", [True, False], ids=["of this session", "of none"])
def test_leftover_of_no_former_session_stays(ephemeral: bool) -> None:
    store, observer = faulty()
    store.commit([Put(KEY, b"me", ABSENT, ephemeral)], timeout_s=RECIPE_S)
    assert not reap_own_leftover(store, KEY, b"me", RECIPE_S)
    assert get(observer, KEY) is not None


@pytest.mark.parametrize("gone", [True, False])
def test_leftover_that_changes_meanwhile_is_left_alone(gone: bool) -> None:
    """If the key was rewritten between look and delete, it stays; if it vanished, all is as wanted."""
    store, former = faulty()
    former.commit([Put(KEY, b"me", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    op: Op = Delete(KEY, PRESENT) if gone else Put(KEY, b"me", PRESENT, ephemeral=True)
    store.play(before_commits(lambda _: former.commit([op], timeout_s=CALL_S)))
    assert reap_own_leftover(store, KEY, b"me", RECIPE_S) is gone
