"""The partitions of a transaction: they are added, and leaders verify them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import State, Stored
from tests.transactions.driving import (
    FIRST_ID,
    OTHER,
    TIMEOUT_MS,
    TP,
    Driven,
    Producer,
    stored,
)

ERROR: Final = CoordinatorError


# --- partitions of a transaction


@pytest.mark.parametrize("asks", [Driven.add, Driven.verify])
@pytest.mark.parametrize(
    "producer, error",
    [
        (Producer(FIRST_ID, 5, transactional_id="unknown"), ERROR.INVALID_PRODUCER_ID_MAPPING),
        (Producer(FIRST_ID + 1, 5), ERROR.INVALID_PRODUCER_ID_MAPPING),
        (Producer(FIRST_ID, 4), ERROR.PRODUCER_FENCED),
        (Producer(FIRST_ID, 6), ERROR.PRODUCER_FENCED),
    ],
    ids=["unknown", "other id", "lower epoch", "higher epoch"],
)
def test_partitions_are_those_of_the_present_producer(asks: Any, producer: Producer, error: CoordinatorError) -> None:
    driven = Driven([stored(State.ONGOING, TP)])
    assert asks(driven, producer, TP) is error
    assert len(driven.log) == 1


def test_first_partition_begins_the_transaction() -> None:
    driven = Driven()
    producer = driven.producer()
    driven.wait(5)
    assert driven.add(producer, TP) is ERROR.NONE
    assert driven.now() == Stored(
        producer_id=FIRST_ID,
        producer_epoch=0,
        previous_id=FIRST_ID,
        timeout_ms=TIMEOUT_MS,
        state=State.ONGOING,
        partitions=frozenset({TP}),
        start_ms=driven.now_ms,
        update_ms=driven.now_ms,
        version=2,
    )


def test_more_partitions_leave_the_start_as_it_is() -> None:
    driven = Driven()
    producer = driven.begun(TP)
    begun_ms = driven.now_ms
    driven.wait(5)
    assert driven.add(producer, OTHER) is ERROR.NONE
    now = driven.now()
    assert (now.partitions, now.start_ms, now.update_ms) == (frozenset({TP, OTHER}), begun_ms, begun_ms + 5)


def test_known_partitions_need_no_record() -> None:
    driven = Driven()
    producer = driven.begun(TP, OTHER)
    driven.holds = True
    assert driven.add(producer, OTHER) is ERROR.NONE
    assert driven.add(producer, OTHER, TP) is ERROR.NONE
    assert driven.under_way == []


@pytest.mark.parametrize("version", [1, 2])
def test_next_transaction_has_its_own_partitions_and_start(version: int) -> None:
    driven = Driven()
    producer = driven.begun(TP, version=version)
    driven.end(producer, commit=True)
    driven.wait(5)
    assert driven.add(producer.with_epoch(version - 1), OTHER) is ERROR.NONE
    now = driven.now()
    assert (now.state, now.partitions, now.start_ms) == (State.ONGOING, frozenset({OTHER}), driven.now_ms)


def test_partitions_wait_while_others_are_added() -> None:
    driven = Driven()
    producer = driven.begun(TP)
    driven.holds = True
    driven.add(producer, OTHER)
    assert driven.add(producer, OTHER) is ERROR.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_partitions_wait_while_the_transaction_ends(version: int, commit: bool) -> None:
    driven = Driven(holds_markers=True)
    producer = driven.begun(TP, version=version)
    driven.end(producer, commit=commit)
    assert driven.add(producer.with_epoch(version - 1), TP) is ERROR.CONCURRENT_TRANSACTIONS
    assert driven.verify(producer.with_epoch(version - 1), TP) is ERROR.CONCURRENT_TRANSACTIONS


# --- leaders verify partitions (KIP-890)


def test_partitions_of_the_open_transaction_are_verified() -> None:
    driven = Driven()
    producer = driven.begun(TP, OTHER)
    assert driven.verify(producer, TP) is ERROR.NONE
    assert driven.verify(producer, TP, OTHER) is ERROR.NONE


@pytest.mark.parametrize("partitions", [(OTHER,), (TP, OTHER)])
def test_partitions_beside_the_transaction_are_not_verified(partitions: Any) -> None:
    driven = Driven()
    assert driven.verify(driven.begun(TP), *partitions) is ERROR.TRANSACTION_ABORTABLE


def test_partition_is_not_verified_before_it_is_committed() -> None:
    """Those that are known meanwhile are."""
    driven = Driven()
    producer = driven.begun(TP)
    driven.holds = True
    driven.add(producer, OTHER)
    assert driven.verify(producer, TP) is ERROR.NONE
    assert driven.verify(producer, OTHER) is ERROR.TRANSACTION_ABORTABLE


@pytest.mark.parametrize("commit", [True, False])
def test_leader_waits_while_the_end_is_written(commit: bool) -> None:
    """A record that is written after it would be outside of the transaction."""
    driven = Driven()
    producer = driven.begun(TP)
    driven.holds = True
    driven.end(producer, commit=commit)
    assert driven.verify(producer, TP) is ERROR.CONCURRENT_TRANSACTIONS


def test_nothing_is_verified_without_a_transaction() -> None:
    driven = Driven()
    assert driven.verify(driven.producer()) is ERROR.TRANSACTION_ABORTABLE
