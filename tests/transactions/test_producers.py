"""Producers get ids and epochs: when they begin, and when they go on after an error."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import EPOCH_MAX, NO_EPOCH, NO_TIME, State, Stored, TransactionRecord
from kedge.controller.transactions.replies import Identified
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    LAST_EPOCH,
    OTHER,
    TIMEOUT_MS,
    TP,
    Driven,
    Producer,
    errors_of,
    identified,
    stored,
)

ERROR: Final = CoordinatorError
FENCED: Final = Identified(ERROR.PRODUCER_FENCED)
CHANGING: Final = Identified(ERROR.CONCURRENT_TRANSACTIONS)


def loaded(producer_epoch: int, **fields: Any) -> Driven:
    """A coordinator with an idle transactional id of this epoch."""
    return Driven([stored(producer_epoch=producer_epoch, last_epoch=producer_epoch - 1, **fields)])


# --- a producer begins


def test_first_producer_gets_a_new_id() -> None:
    driven = Driven()
    assert driven.initialize() == identified(0)
    begun = Stored(
        producer_id=FIRST_ID, producer_epoch=0, previous_id=FIRST_ID, timeout_ms=TIMEOUT_MS, update_ms=driven.now_ms
    )
    assert driven.log == [TransactionRecord(ID, begun)]


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_timeout_out_of_bounds_is_refused(timeout_ms: int) -> None:
    driven = Driven(timeout_max_ms=900_000)
    assert driven.initialize(timeout_ms=timeout_ms) == Identified(ERROR.INVALID_TRANSACTION_TIMEOUT)
    assert driven.log == []


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_timeout_at_its_bounds_is_taken(timeout_ms: int) -> None:
    driven = Driven(timeout_max_ms=900_000)
    driven.initialize(timeout_ms=timeout_ms)
    assert driven.now().timeout_ms == timeout_ms


def test_timeout_is_that_of_the_newest_producer() -> None:
    driven = Driven()
    driven.producer()
    driven.initialize(timeout_ms=7_000)
    assert driven.now().timeout_ms == 7_000


def test_transactional_id_must_not_be_empty() -> None:
    assert errors_of(Driven().ask, transactional_id="") == {ERROR.INVALID_REQUEST}


def test_producer_begins_without_a_transaction() -> None:
    """Nothing is left of the one before."""
    driven = Driven()
    driven.end(driven.begun(TP, OTHER), commit=True)
    driven.wait(5)
    driven.producer()
    now = driven.now()
    assert (now.state, now.partitions, now.start_ms) == (State.EMPTY, frozenset(), NO_TIME)
    assert now.update_ms == driven.now_ms


def test_producers_wait_while_one_gets_its_epoch() -> None:
    driven = Driven(holds=True)
    driven.initialize(ticket="first")
    assert driven.initialize() == CHANGING
    driven.settle()
    assert driven.initialize(ticket="second") is None
    assert driven.initialize() == CHANGING
    driven.settle()
    assert (driven.heard["first"], driven.heard["second"]) == (identified(0), identified(1))


# --- a producer goes on after an error (KIP-360)


def test_producer_that_goes_on_gets_the_next_epoch() -> None:
    driven = Driven()
    assert driven.initialize(driven.producer()) == identified(1)
    assert driven.now().last_epoch == 0


def test_producer_that_repeats_its_request_gets_the_same_epoch() -> None:
    driven = Driven()
    producer = driven.producer()
    assert [driven.initialize(producer) for _ in range(3)] == [identified(1)] * 3


@pytest.mark.parametrize("grown", [-2, 1])
def test_producer_of_another_epoch_is_fenced(grown: int) -> None:
    """The last one is that of a request that is repeated."""
    driven = loaded(5)
    assert driven.initialize(Producer(FIRST_ID, 5 + grown)) == FENCED
    assert len(driven.log) == 1


def test_producer_is_fenced_by_one_that_begins() -> None:
    """Its epoch is the last one, and still not one that it may repeat."""
    driven = Driven()
    producer = driven.producer()
    driven.producer()
    assert driven.initialize(producer) == FENCED


def test_producer_of_a_forgotten_transactional_id_begins_as_a_new_one() -> None:
    """Its transactional id has expired, say."""
    driven = Driven()
    assert driven.initialize(Producer(7, 3)) == identified(0)
    assert driven.now().last_epoch == NO_EPOCH


# --- epochs are used up


@pytest.mark.parametrize("producer_epoch", [LAST_EPOCH, EPOCH_MAX])
def test_exhausted_epochs_give_a_new_id(producer_epoch: int) -> None:
    driven = loaded(producer_epoch)
    assert driven.initialize() == identified(0, FIRST_ID + 1)
    assert driven.now().last_epoch == NO_EPOCH


def test_producer_with_the_last_epoch_gets_a_new_id() -> None:
    """Also when it repeats the request; it names the former id then."""
    driven = loaded(LAST_EPOCH)
    producer = Producer(FIRST_ID, LAST_EPOCH)
    assert driven.initialize(producer) == identified(0, FIRST_ID + 1)
    assert driven.now().last_epoch == LAST_EPOCH
    assert driven.initialize(producer) == identified(0, FIRST_ID + 1)


def test_producer_before_the_last_epoch_repeats_its_request() -> None:
    """The id is not given up for a request that is answered already."""
    driven = loaded(LAST_EPOCH)
    assert driven.initialize(Producer(FIRST_ID, LAST_EPOCH - 1)) == identified(LAST_EPOCH)


def test_former_id_is_fenced_unless_its_epochs_are_used_up() -> None:
    """Its first epoch, say, which the new id begins with, too."""
    driven = loaded(LAST_EPOCH)
    driven.initialize(Producer(FIRST_ID, LAST_EPOCH))
    assert driven.initialize(Producer(FIRST_ID, 0)) == FENCED


def test_former_id_is_fenced_by_a_producer_that_begins() -> None:
    driven = loaded(LAST_EPOCH)
    driven.producer()
    assert driven.initialize(Producer(FIRST_ID, LAST_EPOCH)) == FENCED


# --- a producer begins while a transaction is open


@pytest.mark.parametrize("version, fenced_epoch", [(1, 1), (2, 2)])
def test_open_transaction_is_aborted_by_the_next_producer(version: int, fenced_epoch: int) -> None:
    """Under an epoch that no producer gets: neither the former one nor the next one, which tries again."""
    driven = Driven(holds_markers=True)
    driven.begun(version=version)
    assert driven.initialize() == CHANGING
    now = driven.now()
    assert (now.state, now.producer_epoch) == (State.PREPARE_ABORT, fenced_epoch)
    assert driven.initialize() == CHANGING
    driven.mark()
    assert driven.initialize() == identified(fenced_epoch + 1)


def test_producer_that_goes_on_leaves_no_transaction_open() -> None:
    driven = Driven()
    assert driven.initialize(driven.begun()) == CHANGING
    assert driven.now().state is State.COMPLETE_ABORT


def test_strange_producer_leaves_the_transaction_open() -> None:
    driven = Driven()
    driven.begun()
    assert driven.initialize(Producer(FIRST_ID - 1, 0)) == FENCED
    assert driven.now().state is State.ONGOING


def test_last_producer_of_an_id_is_fenced() -> None:
    """The epoch above the last one is for that; the next producer gets another id."""
    driven = loaded(LAST_EPOCH)
    driven.add(Producer(FIRST_ID, LAST_EPOCH), TP)
    assert driven.initialize() == CHANGING
    assert (driven.now().producer_id, driven.now().producer_epoch) == (FIRST_ID, EPOCH_MAX)
    assert driven.initialize() == identified(0, FIRST_ID + 1)
