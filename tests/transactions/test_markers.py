"""What follows when the end of a transaction is decided: markers, and the next coordinator."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import State
from kedge.controller.transactions.transaction import Marking
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    OTHER,
    TIMEOUT_MS,
    TP,
    Driven,
    before_end,
    ends,
    stored,
    take_over,
)

ERROR: Final = CoordinatorError
RETRY_MS: Final = 50
NONE: Final = ERROR.NONE
COMMITS: Final = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
VERSIONS: Final = pytest.mark.parametrize("version", [1, 2])


# --- markers


@COMMITS
@VERSIONS
def test_markers_name_the_transaction(version: int, commit: bool) -> None:
    """In version 2 they have the epoch of the next one, so that nothing of the producer's old one follows them."""
    driven = Driven()
    producer = before_end(driven, TP, OTHER, version=version)
    driven.end(producer, commit=commit)
    assert driven.marking == [Marking(ID, tp, FIRST_ID, version - 1, commit) for tp in (TP, OTHER)]


@COMMITS
def test_transaction_is_complete_when_all_markers_are_written(commit: bool) -> None:
    driven = Driven()
    producer = before_end(driven, TP, OTHER)
    driven.end(producer, commit=commit)
    begun_ms = driven.now_ms
    driven.wait(5)
    driven.mark(NONE, TP)
    before = driven.now()
    assert before.is_prepared
    driven.mark(NONE, OTHER)
    complete = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
    after = attrs.evolve(before, state=complete, partitions=frozenset(), update_ms=begun_ms + 5)
    assert driven.now() == after
    assert driven.log[-1].stored == after


def test_marker_that_fails_is_tried_again_later() -> None:
    """And no other one: one is written, one is being written."""
    last = attrs.evolve(TP, partition=2)
    driven = Driven(retry_ms=RETRY_MS)
    producer = before_end(driven, TP, OTHER, last)
    driven.end(producer, commit=True)
    driven.mark(ERROR.UNKNOWN_SERVER_ERROR, OTHER)
    driven.mark(NONE, TP)
    driven.wait(RETRY_MS - 1)
    assert [marking.tp for marking in driven.marking] == [last]
    driven.wait(1)
    assert [marking.tp for marking in driven.marking] == [last, OTHER]
    driven.mark()
    assert driven.states() == ends()


def test_pause_does_not_end_with_the_timeout_of_the_transaction() -> None:
    """What failed is not tried again before the pause is over, whatever else was scheduled for the id."""
    driven = Driven(retry_ms=RETRY_MS)
    producer = before_end(driven)
    driven.wait(TIMEOUT_MS - 10)
    driven.end(producer, commit=True)
    driven.mark(ERROR.UNKNOWN_SERVER_ERROR)
    driven.wait(RETRY_MS - 1)
    assert driven.marking == []
    driven.wait(1)
    assert [marking.tp for marking in driven.marking] == [TP]


def test_completion_that_fails_is_tried_again_later() -> None:
    """The markers are not written again."""
    driven = Driven(retry_ms=RETRY_MS)
    producer = before_end(driven)
    driven.end(producer, commit=True)
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.mark()
    driven.append_error = NONE
    assert driven.now().state is State.PREPARE_COMMIT
    driven.wait(RETRY_MS - 1)
    assert driven.now().state is State.PREPARE_COMMIT
    driven.wait(1)
    assert driven.states() == ends()
    assert len(driven.written) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"transactional_id": "unknown"},
        {"tp": OTHER},
        {"producer_id": FIRST_ID - 1},
        {"producer_epoch": 0},
        {"is_commit": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("error", [NONE, ERROR.UNKNOWN_SERVER_ERROR])
def test_marker_of_another_transaction_changes_nothing(other: dict[str, Any], error: CoordinatorError) -> None:
    driven = Driven(retry_ms=RETRY_MS)
    producer = before_end(driven)
    driven.end(producer, commit=False)
    driven.marked(attrs.evolve(driven.marking[0], **other), error)
    driven.wait(2 * RETRY_MS)
    assert driven.now().state is State.PREPARE_ABORT
    assert len(driven.marking) == 1


def test_late_marker_changes_nothing_in_the_next_transaction() -> None:
    """Both have the same epoch before version 2, but not the same end."""
    driven = Driven()
    producer = before_end(driven, version=1)
    driven.end(producer, commit=True)
    (late,) = driven.marking
    driven.mark()
    driven.add(producer, TP)
    driven.marked(late)
    assert driven.now().state is State.ONGOING
    driven.end(producer, commit=False)
    driven.marked(late)
    assert driven.now().state is State.PREPARE_ABORT


def test_late_marker_leaves_the_completion_as_it_is() -> None:
    """It is being written."""
    driven = Driven()
    producer = before_end(driven)
    driven.end(producer, commit=True)
    driven.holds = True
    (late,) = driven.marking
    driven.mark()
    driven.marked(late)
    assert len(driven.under_way) == 1


# --- a coordinator takes over


@COMMITS
def test_decided_transaction_is_completed_by_the_next_coordinator(commit: bool) -> None:
    """With all of its markers: which of them were written is not in the log."""
    first = Driven()
    producer = before_end(first, TP, OTHER)
    first.end(producer, commit=commit)
    first.mark(NONE, TP)
    driven = take_over(first, holds_markers=True)
    assert driven.marking == [Marking(ID, tp, FIRST_ID, 1, commit) for tp in (TP, OTHER)]
    driven.mark()
    assert driven.now().state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)


def test_loaded_transaction_keeps_its_timeout() -> None:
    driven = Driven([stored(State.ONGOING, TP, start_ms=1_000)])
    driven.wait(TIMEOUT_MS - 1)
    assert driven.now().state is State.ONGOING
    driven.wait(1)
    assert (driven.now().state, driven.now().producer_epoch) == (State.COMPLETE_ABORT, 7)


def test_repeated_end_is_answered_by_the_next_coordinator() -> None:
    first = Driven()
    producer = first.begun()
    answer = first.end(producer, commit=True)
    assert take_over(first).end(producer, commit=True) == answer


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_idle_id_needs_nothing_when_loaded(state: State) -> None:
    driven = Driven([stored(state)], expiration_check_ms=900)
    assert driven.states() == [state]
    assert driven.coordinator.next_ms == driven.now_ms + 900
