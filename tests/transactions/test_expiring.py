"""Transactional ids without a transaction expire."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import State, TransactionRecord
from kedge.controller.transactions.replies import Identified
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    TP,
    Driven,
    identified,
    stored,
)

ERROR: Final = CoordinatorError
EXPIRATION_MS: Final = 200_000
CHECK_MS: Final = 10_000
CHANGING: Final = Identified(ERROR.CONCURRENT_TRANSACTIONS)


def expiring(record: TransactionRecord | None = None, **fields: Any) -> Driven:
    """A coordinator with one transactional id, that expires some time after its last change at 1,000."""
    times = {"expiration_ms": EXPIRATION_MS, "expiration_check_ms": CHECK_MS}
    return Driven([record or stored()], **{**times, **fields})


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_idle_id_expires(state: State) -> None:
    driven = expiring(stored(state))
    driven.wait(EXPIRATION_MS - 1)
    assert driven.now().state is state
    driven.wait(1)
    assert driven.log[1:] == [TransactionRecord(ID, None)]
    assert driven.coordinator.transactions == {}


def test_ids_are_checked_in_intervals() -> None:
    driven = expiring(stored(update_ms=1_001))
    driven.wait(EXPIRATION_MS + CHECK_MS - 1)
    assert len(driven.log) == 1
    driven.wait(1)
    assert driven.states() == [State.EMPTY, None]


def test_id_that_is_used_does_not_expire() -> None:
    driven = expiring()
    driven.wait(EXPIRATION_MS - 1)
    producer = driven.producer()
    driven.wait(EXPIRATION_MS - 1)
    assert driven.add(producer, TP) is ERROR.NONE


def test_id_with_an_open_transaction_does_not_expire() -> None:
    driven = expiring(stored(State.ONGOING, TP, timeout_ms=900_000))
    driven.wait(2 * EXPIRATION_MS)
    assert driven.now().state is State.ONGOING


def test_id_with_markers_to_write_does_not_expire() -> None:
    driven = expiring(stored(State.PREPARE_COMMIT, TP), holds_markers=True)
    driven.wait(2 * EXPIRATION_MS)
    assert driven.now().state is State.PREPARE_COMMIT


def test_id_that_is_changing_does_not_expire() -> None:
    driven = expiring()
    driven.holds = True
    driven.initialize(ticket="waits")
    driven.wait(2 * EXPIRATION_MS)
    driven.holds = False
    driven.settle()
    assert driven.heard["waits"] == identified(6)
    assert driven.states() == [State.EMPTY, State.EMPTY]


def test_producer_waits_while_its_id_is_deleted() -> None:
    """Then its transactional id is a new one."""
    driven = expiring()
    driven.holds = True
    driven.wait(EXPIRATION_MS)
    assert driven.initialize() == CHANGING
    assert driven.now() == stored().stored
    driven.holds = False
    driven.settle()
    assert driven.initialize() == identified(0, FIRST_ID + 1)


@pytest.mark.timeout(10)
def test_deletion_that_fails_is_tried_again_later() -> None:
    driven = expiring()
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.wait(EXPIRATION_MS + CHECK_MS - 1)
    assert driven.now() == stored().stored
    driven.append_error = ERROR.NONE
    driven.wait(CHECK_MS)
    assert driven.states() == [State.EMPTY, None]
