"""What follows when the end of a transaction is decided: markers; and ends that the coordinator decides."""

from __future__ import annotations

from typing import Any, Final

import attrs
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
    ends,
    stored,
    take_over,
)

ERROR: Final = CoordinatorError
RETRY_MS: Final = 50
NONE, BUSY = ERROR.NONE, ERROR.CONCURRENT_TRANSACTIONS
FENCED, STATE = ERROR.PRODUCER_FENCED, ERROR.INVALID_TXN_STATE
MAPPING: Final = ERROR.INVALID_PRODUCER_ID_MAPPING
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


def test_markers_are_written_once() -> None:
    driven = Driven()
    driven.end(driven.begun(TP, OTHER), commit=True)
    driven.wait(TIMEOUT_MS)
    assert [marking.tp for marking in driven.demanded] == [TP, OTHER]


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


def test_markers_that_fail_are_not_tried_without_a_pause() -> None:
    driven = Driven(retry_ms=RETRY_MS)
    producer = driven.begun()
    driven.marker_error = ERROR.UNKNOWN_SERVER_ERROR
    driven.end(producer, commit=True)
    driven.wait(10 * RETRY_MS - 1)
    assert len(driven.demanded) == 10
    driven.marker_error = NONE
    driven.wait(1)
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


@pytest.mark.parametrize("error", [NONE, ERROR.UNKNOWN_SERVER_ERROR])
def test_late_marker_changes_nothing_when_all_is_complete(error: CoordinatorError) -> None:
    driven = Driven()
    producer = before_end(driven)
    driven.end(producer, commit=False)
    (late,) = driven.marking
    driven.mark()
    next_ms = driven.coordinator.next_ms
    driven.marked(late, error)
    assert driven.states()[2:] == [State.PREPARE_ABORT, State.COMPLETE_ABORT]
    assert len(driven.tried) == 4
    assert driven.coordinator.next_ms == next_ms


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


def test_markers_of_two_transactional_ids_are_their_own() -> None:
    driven = Driven()
    producers = [before_end(driven, transactional_id=one) for one in ("a", "b")]
    for producer in producers:
        driven.end(producer, commit=True)
    driven.marked(driven.marking[1])
    assert driven.now("a").state is State.PREPARE_COMMIT
    assert driven.now("b").state is State.COMPLETE_COMMIT


# --- transactions that time out


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
    assert [driven.end(producer, commit=commit).error for commit in (True, False)] == [FENCED, FENCED]


@VERSIONS
def test_producer_that_timed_out_does_not_go_on(version: int) -> None:
    driven = Driven()
    producer = driven.begun(version=version)
    driven.wait(TIMEOUT_MS)
    assert driven.initialize(producer) == Identified(FENCED)


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


def test_failed_change_does_not_delay_the_timeout() -> None:
    driven = Driven(retry_ms=RETRY_MS)
    producer = driven.begun()
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.add(producer, OTHER)
    driven.append_error = NONE
    driven.wait(TIMEOUT_MS)
    assert driven.now().state is State.COMPLETE_ABORT


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


def test_aborts_of_many_transactions_are_due_together() -> None:
    driven = Driven()
    for number in range(3):
        driven.begun(transactional_id=f"{number}")
    driven.wait(TIMEOUT_MS)
    assert [driven.now(f"{number}").state for number in range(3)] == [State.COMPLETE_ABORT] * 3


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


def test_decided_transaction_without_partitions_is_completed() -> None:
    driven = Driven([stored(State.PREPARE_ABORT)])
    assert driven.states() == [State.PREPARE_ABORT, State.COMPLETE_ABORT]


def test_loaded_transaction_keeps_its_timeout() -> None:
    driven = Driven([stored(State.ONGOING, TP, start_ms=1_000)])
    driven.wait(TIMEOUT_MS - 1)
    assert driven.now().state is State.ONGOING
    driven.wait(1)
    assert (driven.now().state, driven.now().producer_epoch) == (State.COMPLETE_ABORT, 7)


def test_transaction_that_timed_out_before_is_aborted_at_once() -> None:
    driven = Driven([stored(State.ONGOING, TP, start_ms=-TIMEOUT_MS)])
    driven.wait(0)
    assert driven.now().state is State.COMPLETE_ABORT


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
