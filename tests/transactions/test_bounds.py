"""Clients that leave behind in the coordinator as much as they can: transactional ids and partitions."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from typing import Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.held import MUCH_SHARE, SHARE
from kedge.controller.model.values import TopicPartition
from kedge.controller.transactions.records import NO_TIME, State
from kedge.controller.transactions.transaction import held_bytes
from tests.transactions.driving import FIRST_ID, ID, TIMEOUT_MS, TP, Driven, Producer, stored, take_over

MIB: Final = 1024 * 1024
NONE, FULL = CoordinatorError.NONE, CoordinatorError.COORDINATOR_NOT_AVAILABLE
MALLORY: Final = "User:mallory"
ALICE: Final = "User:alice"


def initialize(driven: Driven, transactional_id: str, principal: str = "") -> CoordinatorError:
    """A producer begins."""
    error: CoordinatorError = driven.initialize(transactional_id=transactional_id, principal=principal).error
    return error


def flood(driven: Driven) -> int:
    """Producers with ever new transactional ids, until one is refused; returns how many were not."""
    count = 0
    while (error := initialize(driven, f"invented-{count}")) is NONE:
        count += 1
        assert count < 10_000
    assert error is FULL
    return count


def some(first: int, count: int) -> list[TopicPartition]:
    """So many partitions."""
    return [TopicPartition("orders", number) for number in range(first, first + count)]


def held(driven: Driven) -> int:
    return driven.coordinator.held.bytes


# --- all transactional ids together


@pytest.mark.slow
def test_invented_ids_are_bounded() -> None:
    driven = Driven(held_bytes_max=MIB)
    errors = Counter(initialize(driven, f"invented-{number}") for number in range(100_000))
    assert set(errors) == {NONE, FULL}
    assert 300 < errors[NONE] < 1_000
    assert MIB * 0.99 < held(driven) <= MIB
    assert len(driven.coordinator.transactions) == errors[NONE]


def test_long_ids_count_by_their_length() -> None:
    driven = Driven(held_bytes_max=MIB)
    errors = [initialize(driven, f"{number}-".ljust(30_000, "x")) for number in range(40)]
    assert 30 <= errors.count(NONE) <= 34


@pytest.mark.slow
@pytest.mark.parametrize("state", [State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT])
def test_held_bytes_are_no_less_than_the_memory(state: State) -> None:
    """Of ids and partitions, as they come from requests: each with its own strings. And of markers under way."""
    driven = Driven(holds_markers=True)
    names = [f"invented-{number}" for number in range(400)]
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number, name in enumerate(names):
            producer = Producer(FIRST_ID + number, 0, transactional_id=name)
            assert initialize(driven, name) is NONE
            partitions = [TopicPartition(f"orders-{name}", 1_000 + place) for place in range(20)]
            assert driven.add(producer, *partitions) is NONE
            if state is not State.ONGOING:
                driven.end(producer, commit=True)
            if state is State.COMPLETE_COMMIT:
                driven.mark()
            for kept in (driven.log, driven.tried, driven.heard, driven.demanded, driven.written):
                kept.clear()
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert driven.now(names[0]).state is state
    assert used < held(driven) < 4 * used


def test_memory_is_given_back_when_ids_expire() -> None:
    driven = Driven(held_bytes_max=MIB, expiration_ms=10_000, expiration_check_ms=1_000)
    assert flood(driven) > 0
    driven.wait(10_000)
    assert (held(driven), driven.coordinator.transactions) == (0, {})
    assert initialize(driven, "late") is NONE


def test_memory_is_given_back_by_the_former_coordinator() -> None:
    driven = Driven(held_bytes_max=MIB)
    driven.begun(principal=MALLORY)
    flood(driven)
    driven.unload()
    assert (held(driven), driven.coordinator.held.by_principal) == (0, {})


def test_memory_of_changes_is_given_back_by_the_former_coordinator() -> None:
    driven = Driven()
    producer = driven.begun()
    driven.holds = True
    driven.initialize(transactional_id="new")
    driven.add(producer, *some(1, 5))
    driven.unload()
    driven.settle()
    assert held(driven) == 0


def test_ids_count_while_they_are_written() -> None:
    driven = Driven(held_bytes_max=MIB, holds=True)
    for number in range(2_000):
        driven.initialize(transactional_id=f"invented-{number}", ticket=number)
    assert driven.heard[1_999].error is FULL
    assert held(driven) <= MIB
    driven.settle(CoordinatorError.REQUEST_TIMED_OUT)
    assert held(driven) == 0


def test_producers_that_are_there_go_on_without_room() -> None:
    """With the partitions that they have, until the end; and the next producer begins."""
    driven = Driven(held_bytes_max=MIB)
    producer = driven.begun()
    flood(driven)
    assert driven.add(producer, TP) is NONE
    assert driven.verify(producer, TP) is NONE
    assert driven.now().state is State.ONGOING
    assert driven.end(producer, commit=True).error is NONE
    assert driven.initialize().error is NONE


def test_transaction_times_out_without_room() -> None:
    driven = Driven(held_bytes_max=MIB)
    driven.begun()
    flood(driven)
    driven.wait(TIMEOUT_MS)
    assert driven.now().state is State.COMPLETE_ABORT


def test_unknown_ids_are_found_without_room() -> None:
    """That they are unknown; nothing is made for them."""
    driven = Driven(held_bytes_max=MIB)
    flood(driven)
    unknown = Producer(FIRST_ID, 0, transactional_id="unknown")
    assert driven.add(unknown, TP) is CoordinatorError.INVALID_PRODUCER_ID_MAPPING
    assert "unknown" not in driven.coordinator.transactions


# --- partitions


def test_partitions_count_as_growth() -> None:
    """Each of them once, also while it is written and when its markers are."""
    driven = Driven(holds_markers=True)
    producer = driven.producer()
    assert held(driven) == held_bytes(ID, 0)
    driven.add(producer, *some(0, 10))
    assert held(driven) == held_bytes(ID, 10)
    driven.holds = True
    driven.add(producer, *some(5, 10))
    assert held(driven) == held_bytes(ID, 15)
    driven.settle()
    driven.end(producer, commit=True)
    driven.settle()
    assert held(driven) == held_bytes(ID, 15)


def test_partitions_are_given_back_at_the_end() -> None:
    driven = Driven()
    producer = driven.begun(*some(0, 10))
    driven.end(producer, commit=True)
    assert held(driven) == held_bytes(ID, 0)


def test_partitions_that_are_not_written_are_given_back() -> None:
    driven = Driven()
    producer = driven.begun(*some(0, 10))
    driven.append_error = CoordinatorError.REQUEST_TIMED_OUT
    assert driven.add(producer, *some(10, 10)) is FULL
    assert held(driven) == held_bytes(ID, 10)


def test_partitions_are_refused_without_room() -> None:
    """As a whole; the transaction stays as it is."""
    driven = Driven(held_bytes_max=MIB)
    producer = driven.begun()
    flood(driven)
    assert driven.add(producer, *some(0, 100)) is FULL
    assert driven.now().partitions == {TP}


# --- principals


def test_ids_of_one_principal_get_a_part_of_the_room() -> None:
    """Half of it, while there is no other; the others begin."""
    driven = Driven(held_bytes_max=MIB)
    errors = [initialize(driven, f"mine-{number}", MALLORY) for number in range(500)]
    assert (errors[0], errors[-1]) == (NONE, FULL)
    assert MIB * MUCH_SHARE - 10_000 < held(driven) <= MIB * MUCH_SHARE
    assert initialize(driven, "hers", ALICE) is NONE
    assert initialize(driven, "unowned") is NONE


def test_partitions_count_for_the_principal_that_made_the_id() -> None:
    driven = Driven(held_bytes_max=MIB)
    producers = [driven.producer(transactional_id=f"mine-{number}", principal=MALLORY) for number in range(10)]
    errors = [driven.add(producer, *some(0, 300)) for producer in producers]
    assert (errors[0], errors[-1]) == (NONE, FULL)
    assert driven.coordinator.held.by_principal == {MALLORY: held(driven)}
    hers = driven.producer(transactional_id="hers", principal=ALICE)
    assert driven.add(hers, *some(0, 300)) is NONE


def test_id_counts_for_the_principal_that_made_it() -> None:
    """And not for another one whose producer begins with it."""
    driven = Driven()
    assert [initialize(driven, ID, principal) for principal in (MALLORY, ALICE)] == [NONE, NONE]
    assert driven.coordinator.held.by_principal == {MALLORY: held(driven)}


def test_loaded_id_counts_for_no_principal() -> None:
    first = Driven()
    first.begun(*some(0, 10), principal=MALLORY)
    driven = take_over(first)
    assert held(driven) == held_bytes(ID, 10)
    assert driven.coordinator.held.by_principal == {}


def test_loaded_ids_count_without_a_bound() -> None:
    """They are used and not refused; new ones are."""
    records = [stored(transactional_id=f"{number}", start_ms=NO_TIME) for number in range(1_000)]
    driven = Driven(records, held_bytes_max=MIB)
    assert held(driven) == sum(held_bytes(f"{number}", 0) for number in range(1_000)) > MIB
    assert initialize(driven, "7") is NONE
    assert initialize(driven, "new") is FULL


@pytest.mark.parametrize(
    "ids, part",
    [
        ([(ID, MALLORY)], SHARE),
        ([("one", MALLORY), ("two", MALLORY), ("three", MALLORY)], MUCH_SHARE),
        ([(f"of-{who}", f"User:{who}") for who in "abcde"], 1),
    ],
    ids=["one transactional id", "one principal", "all"],
)
def test_room_is_used_up_to_its_last_byte(ids: list[tuple[str, str]], part: float) -> None:
    """First all ids are made, and then each of them gets partitions; the last of these is what may be too much."""

    def errors(bytes_max: int) -> tuple[list[CoordinatorError | None], int]:
        driven = Driven(held_bytes_max=bytes_max)
        made = [driven.producer(transactional_id=one, principal=principal) for one, principal in ids]
        return [driven.add(producer, *some(0, 100)) for producer in made], held(driven)

    heard, held_max = errors(100 * MIB)
    assert set(heard) == {NONE}
    assert errors(round(held_max / part)) == (heard, held_max)
    less, _ = errors(round(held_max / part) - 1)
    assert less == [*heard[:-1], FULL]


@pytest.mark.parametrize("bytes_less, error", [(0, NONE), (1, FULL)])
def test_id_fits_up_to_the_last_byte(bytes_less: int, error: CoordinatorError) -> None:
    driven = Driven(held_bytes_max=4 * held_bytes(ID, 0) - bytes_less)
    assert initialize(driven, ID) is error
    assert held(driven) == (held_bytes(ID, 0) if error is NONE else 0)
