"""Transactions that run for too long are aborted."""

from __future__ import annotations

from typing import Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import EPOCH_MAX, NO_EPOCH, State
from kedge.controller.transactions.replies import Identified
from kedge.controller.transactions.transaction import Marking
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    LAST,
    LAST_EPOCH,
    OTHER,
    ROTATED,
    TIMEOUT_MS,
    TP,
    Driven,
    Producer,
    before_end,
    stored,
)

ERROR: Final = CoordinatorError
RETRY_MS: Final = 50
NONE, FENCED, BUSY = ERROR.NONE, ERROR.PRODUCER_FENCED, ERROR.CONCURRENT_TRANSACTIONS
COMMITS: Final = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
VERSIONS: Final = pytest.mark.parametrize("version", [1, 2])


@pytest.mark.parametrize("version, fenced_epoch", [(1, 1), (2, 2)])
def test_transaction_is_aborted_after_its_timeout(version: int, fenced_epoch: int) -> None:
    """Under an epoch that no producer gets; and in version 2, that of its end comes on top."""
    driven = Driven()
    producer = before_end(driven, version=version)
    driven.wait(TIMEOUT_MS - 1)
    assert driven.add(producer, OTHER) is NONE  # which is no new start
    driven.wait(1)
    assert driven.now().state is State.PREPARE_ABORT
    assert driven.marking == [Marking(ID, tp, FIRST_ID, fenced_epoch, is_commit=False) for tp in (TP, OTHER)]
    driven.mark()
    assert (driven.now().state, driven.now().producer_epoch) == (State.COMPLETE_ABORT, fenced_epoch)


@VERSIONS
@pytest.mark.parametrize("holds_markers", [True, False])
def test_producer_is_fenced_when_its_transaction_timed_out(version: int, holds_markers: bool) -> None:
    driven = Driven(holds_markers=holds_markers)
    producer = driven.begun(version=version)
    driven.wait(TIMEOUT_MS)
    assert driven.add(producer, TP) is FENCED
    assert driven.verify(producer, TP) is FENCED
    error = BUSY if holds_markers and version == 2 else FENCED
    assert [driven.end(producer, commit=commit).error for commit in (True, False)] == [error, error]


@VERSIONS
def test_producer_before_the_fenced_one_does_not_go_on(version: int) -> None:
    """It may repeat its request until then (KIP-360)."""
    driven = Driven()
    before = driven.producer(version)
    producer = Producer(FIRST_ID, driven.initialize(before).producer_epoch, version)
    driven.add(producer, TP)
    driven.wait(TIMEOUT_MS)
    assert driven.initialize(before) == Identified(FENCED)


@VERSIONS
def test_next_producer_begins_after_a_timeout(version: int) -> None:
    driven = Driven()
    driven.begun(version=version)
    driven.wait(TIMEOUT_MS)
    assert driven.initialize() == Identified(NONE, FIRST_ID, version + 1)


@VERSIONS
def test_timeout_under_the_last_epoch_gives_a_new_id(version: int) -> None:
    """To the next producer; the former one is fenced by the epoch above."""
    driven = Driven([stored(State.ONGOING, TP, producer_epoch=LAST_EPOCH, version=version)], holds_markers=True)
    driven.wait(TIMEOUT_MS)
    assert driven.marking == [Marking(ID, TP, FIRST_ID, EPOCH_MAX, is_commit=False)]
    driven.mark()
    assert driven.initialize(LAST) == Identified(FENCED)
    assert driven.initialize() == ROTATED
    assert driven.now().last_epoch == NO_EPOCH


@VERSIONS
def test_highest_epoch_does_not_rise(version: int) -> None:
    """No client gets it; one that guesses it is fenced no further."""
    driven = Driven([stored(State.ONGOING, TP, producer_epoch=EPOCH_MAX, version=version)])
    driven.wait(TIMEOUT_MS)
    assert [marking.producer_epoch for marking in driven.written] == [EPOCH_MAX]
    assert (driven.now().state, driven.now().producer_epoch) == (State.COMPLETE_ABORT, EPOCH_MAX)


@COMMITS
def test_decided_transaction_does_not_time_out(commit: bool) -> None:
    driven = Driven()
    producer = before_end(driven)
    driven.end(producer, commit=commit)
    before = driven.now()
    driven.wait(2 * TIMEOUT_MS)
    assert driven.now() == before
    assert len(driven.marking) == 1


def test_next_transaction_has_its_own_timeout() -> None:
    driven = Driven()
    producer = driven.begun(version=1)
    driven.wait(TIMEOUT_MS - 1)
    driven.end(producer, commit=True)
    driven.add(producer, TP)
    driven.wait(TIMEOUT_MS - 1)
    assert driven.now().state is State.ONGOING
    driven.wait(1)
    assert driven.now().state is State.COMPLETE_ABORT


def test_transaction_times_out_when_its_change_is_written() -> None:
    driven = Driven()
    producer = driven.begun()
    driven.holds = True
    driven.add(producer, OTHER, ticket="added")
    driven.wait(TIMEOUT_MS)
    assert len(driven.under_way) == 1
    driven.holds = False
    driven.settle()
    assert driven.heard["added"].error is NONE
    driven.wait(0)
    assert driven.now().state is State.COMPLETE_ABORT
    assert [marking.tp for marking in driven.written] == [TP, OTHER]


def test_abort_that_fails_is_tried_again_later() -> None:
    """The epoch does not rise with each try."""
    driven = Driven(retry_ms=RETRY_MS)
    driven.begun()
    tried = len(driven.tried)
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.wait(TIMEOUT_MS)
    assert (driven.now().state, driven.now().producer_epoch) == (State.ONGOING, 0)
    driven.wait(10 * RETRY_MS - 1)
    assert len(driven.tried) == tried + 10
    driven.append_error = NONE
    driven.wait(1)
    assert (driven.now().state, driven.now().producer_epoch) == (State.COMPLETE_ABORT, 2)


def test_change_that_is_written_ends_the_pause() -> None:
    """The one before it was not."""
    driven = Driven(retry_ms=RETRY_MS)
    producer = driven.begun(timeout_ms=RETRY_MS - 10)
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.add(producer, OTHER)
    driven.append_error = NONE
    driven.add(producer, OTHER)
    driven.wait(RETRY_MS - 10)
    assert driven.now().state is State.COMPLETE_ABORT
