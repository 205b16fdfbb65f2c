"""How transactions end: the answers to End, the markers, and transactions that time out."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.coordinator import Marking
from kedge.controller.transactions.records import EPOCH_MAX, NO_EPOCH, NO_ID, State, Stored
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


def ends() -> list[State | None]:
    """The states of a transaction that is committed."""
    return [State.EMPTY, State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT]


def before_end(driven: Driven, *partitions: Any, **fields: Any) -> Producer:
    """A transaction is open; what it writes from now on stays under way, and so do markers."""
    producer = driven.begun(*partitions, **fields)
    driven.holds_markers = True
    return producer


# --- the answers (KIP-98, KIP-890): state, and then by result and epoch: commit of the present one, commit of the one
# before, abort of the present one, abort of the one before. DONE: the end is decided by that.

DONE: Final = None
TABLES: Final[dict[int, dict[State, tuple[CoordinatorError | None, ...]]]] = {
    1: {
        State.EMPTY: (STATE, FENCED, STATE, FENCED),
        State.ONGOING: (DONE, FENCED, DONE, FENCED),
        State.PREPARE_COMMIT: (BUSY, FENCED, STATE, FENCED),
        State.PREPARE_ABORT: (STATE, FENCED, BUSY, FENCED),
        State.COMPLETE_COMMIT: (NONE, FENCED, STATE, FENCED),
        State.COMPLETE_ABORT: (STATE, FENCED, NONE, FENCED),
    },
    2: {
        State.EMPTY: (STATE, FENCED, DONE, FENCED),
        State.ONGOING: (DONE, FENCED, DONE, FENCED),
        State.PREPARE_COMMIT: (FENCED, BUSY, FENCED, STATE),
        State.PREPARE_ABORT: (FENCED, STATE, FENCED, BUSY),
        State.COMPLETE_COMMIT: (STATE, NONE, DONE, STATE),
        State.COMPLETE_ABORT: (STATE, STATE, DONE, NONE),
    },
}
ROWS: Final = [
    pytest.param(version, state, commit, grown, row[place], id=f"{version}-{state.value}-{commit}-{grown}")
    for version, table in TABLES.items()
    for state, row in table.items()
    for place, (commit, grown) in enumerate([(True, 0), (True, -1), (False, 0), (False, -1)])
]


@pytest.mark.parametrize("version, state, commit, grown, error", ROWS)
def test_end_is_answered_by_state_and_epoch(
    version: int, state: State, commit: bool, grown: int, error: CoordinatorError | None
) -> None:
    """With version 2, a success names the id and the epoch that the producer has from now on."""
    is_open = state in {State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}
    record = stored(state, *([TP] if is_open else []), version=version)
    driven = Driven([record], holds_markers=True)
    answer = driven.end(Producer(FIRST_ID, 5 + grown, version), commit=commit)
    if error is not DONE:
        named = (FIRST_ID, 5) if version == 2 and not error else ()
        assert answer == Identified(error, *named)
        assert driven.log == [record]
        return
    assert answer == (Identified(NONE, FIRST_ID, 6) if version == 2 else Identified(NONE))
    prepared = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
    assert driven.states()[:2] == [state, prepared]


@VERSIONS
@COMMITS
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("grown", [-2, 1])
def test_end_of_any_other_epoch_is_fenced(state: State, grown: int, version: int, commit: bool) -> None:
    driven = Driven([stored(state, TP, version=version)], holds_markers=True)
    assert driven.end(Producer(FIRST_ID, 5 + grown, version), commit=commit) == Identified(FENCED)


@VERSIONS
@pytest.mark.parametrize("grown", [0, -1])
@pytest.mark.parametrize("transactional_id, producer_id", [("unknown", FIRST_ID), (ID, FIRST_ID + 1)])
def test_end_of_another_id_is_refused(version: int, grown: int, transactional_id: str, producer_id: int) -> None:
    driven = Driven([stored(State.ONGOING, TP, version=version)])
    asked = Producer(producer_id, 5 + grown, version, transactional_id)
    assert driven.end(asked, commit=True) == Identified(MAPPING)


@pytest.mark.parametrize("version", [0, 1])
def test_end_of_older_versions_keeps_the_epoch(version: int) -> None:
    driven = Driven(holds_markers=True)
    driven.end(driven.begun(version=version), commit=True)
    now = driven.now()
    assert (now.state, now.producer_epoch, now.version) == (State.PREPARE_COMMIT, 0, version)


@COMMITS
def test_end_of_version_2_gives_a_new_epoch(commit: bool) -> None:
    driven = Driven(holds_markers=True)
    producer = driven.begun()
    begun_ms = driven.now_ms
    driven.wait(5)
    driven.end(producer, commit=commit)
    assert driven.now() == Stored(
        producer_id=FIRST_ID,
        producer_epoch=1,
        last_epoch=0,
        previous_id=FIRST_ID,
        timeout_ms=TIMEOUT_MS,
        state=State.PREPARE_COMMIT if commit else State.PREPARE_ABORT,
        partitions=frozenset({TP}),
        start_ms=begun_ms,
        update_ms=begun_ms + 5,
        version=2,
    )


def test_end_says_in_which_version_it_was_asked() -> None:
    """The epoch of the transaction rises by the version of its end."""
    driven = Driven(holds_markers=True)
    producer = driven.begun(version=1)
    assert driven.end(attrs.evolve(producer, version=2), commit=True) == Identified(NONE, FIRST_ID, 1)
    assert driven.now().version == 2


@VERSIONS
def test_producer_goes_on_with_the_answer(version: int) -> None:
    driven = Driven()
    producer = driven.begun(version=version)
    answer = driven.end(producer, commit=True)
    if version == 2:
        assert driven.add(producer, TP) is FENCED
        producer = Producer(answer.producer_id, answer.producer_epoch, version)
    assert driven.add(producer, TP) is NONE
    assert driven.end(producer, commit=False).error is NONE


def test_fenced_abort_is_no_retry_of_its_producer() -> None:
    """The epoch of an abort by the coordinator is two above that of the producer, so it is not taken for its own."""
    driven = Driven()
    producer = driven.begun()
    driven.initialize()
    assert driven.end(producer, commit=False) == Identified(FENCED)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_abort_of_nothing_gives_a_new_epoch(state: State) -> None:
    """It has no markers, and begins when it ends."""
    driven = Driven([stored(state)], holds_markers=True)
    driven.wait(5)
    assert driven.end(Producer(FIRST_ID, 5), commit=False) == Identified(NONE, FIRST_ID, 6)
    assert driven.states() == [state, State.PREPARE_ABORT, State.COMPLETE_ABORT]
    now = driven.now()
    assert (now.producer_epoch, now.last_epoch, now.start_ms) == (6, 5, driven.now_ms)
    assert driven.marking == []


def test_transaction_without_partitions_needs_no_markers() -> None:
    driven = Driven(holds_markers=True)
    producer = driven.producer()
    driven.add(producer)
    driven.end(producer, commit=True)
    assert driven.states() == ends()


# --- when it is decided


@COMMITS
@VERSIONS
def test_end_is_answered_before_the_markers(version: int, commit: bool) -> None:
    """And not before the decision is in the log."""
    driven = Driven()
    producer = before_end(driven, version=version)
    driven.holds = True
    assert driven.end(producer, commit=commit, ticket="ended") is None
    assert driven.marking == []
    driven.settle()
    assert driven.heard["ended"].error is NONE
    assert [marking.tp for marking in driven.marking] == [TP]


@COMMITS
def test_end_waits_while_it_is_written(commit: bool) -> None:
    """Also the other end, which is decided against after it."""
    driven = Driven()
    producer = before_end(driven)
    driven.holds = True
    driven.end(producer, commit=True)
    assert driven.end(producer, commit=commit) == Identified(BUSY)
    assert len(driven.under_way) == 1


@pytest.mark.parametrize("producer, error", [(Producer(FIRST_ID, 7), FENCED), (Producer(FIRST_ID + 1, 5), MAPPING)])
def test_fenced_producer_is_fenced_while_a_change_is_written(producer: Producer, error: CoordinatorError) -> None:
    driven = Driven([stored(State.ONGOING, TP)], holds=True)
    driven.end(Producer(FIRST_ID, 5), commit=True)
    assert driven.end(producer, commit=True) == Identified(error)


@COMMITS
def test_end_waits_while_the_completion_is_written(commit: bool) -> None:
    driven = Driven()
    producer = before_end(driven)
    driven.end(producer, commit=True)
    driven.holds = True
    driven.mark()
    assert driven.end(producer, commit=commit) == Identified(BUSY)


def test_finished_end_is_repeated_unless_something_changes() -> None:
    driven = Driven()
    producer = driven.begun()
    answer = driven.end(producer, commit=True)
    assert driven.end(producer, commit=True) == answer
    driven.holds = True
    driven.initialize()
    assert driven.end(producer, commit=True) == Identified(BUSY)


# --- epochs that are used up


def rotating(*partitions: Any, **fields: Any) -> Driven:
    """A coordinator with an open transaction under the last epoch of a producer id."""
    epochs = {"producer_epoch": LAST_EPOCH, "last_epoch": LAST_EPOCH - 1}
    return Driven([stored(State.ONGOING, *partitions or (TP,), **epochs)], **fields)


LAST: Final = Producer(FIRST_ID, LAST_EPOCH)
ROTATED: Final = Identified(NONE, FIRST_ID + 1, 0)
"""What a producer hears whose id is used up."""


@COMMITS
def test_end_under_the_last_epoch_gives_a_new_id(commit: bool) -> None:
    """The markers have the former id, with an epoch above all that were given out."""
    driven = rotating(holds_markers=True)
    assert driven.end(LAST, commit=commit) == ROTATED
    assert driven.marking == [Marking(ID, TP, FIRST_ID, EPOCH_MAX, commit)]
    now = driven.now()
    assert (now.producer_id, now.next_id, now.last_epoch) == (FIRST_ID, FIRST_ID + 1, LAST_EPOCH)
    driven.mark()
    now = driven.now()
    assert (now.producer_id, now.producer_epoch, now.last_epoch) == (FIRST_ID + 1, 0, LAST_EPOCH)
    assert (now.previous_id, now.next_id, now.partitions) == (FIRST_ID, NO_ID, frozenset())
    assert driven.add(Producer(FIRST_ID + 1, 0), TP) is NONE


def test_end_before_the_last_epoch_keeps_the_id() -> None:
    driven = Driven([stored(State.ONGOING, TP, producer_epoch=LAST_EPOCH - 1)])
    assert driven.end(Producer(FIRST_ID, LAST_EPOCH - 1), commit=True) == Identified(NONE, FIRST_ID, LAST_EPOCH)


def test_end_of_version_1_keeps_the_last_epoch() -> None:
    driven = rotating()
    assert driven.end(attrs.evolve(LAST, version=1), commit=True) == Identified(NONE)
    assert (driven.now().producer_id, driven.now().producer_epoch) == (FIRST_ID, LAST_EPOCH)
    assert {record.stored.next_id for record in driven.log if record.stored} == {NO_ID}


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_abort_of_nothing_under_the_last_epoch_gives_a_new_id(state: State) -> None:
    driven = Driven([stored(state, producer_epoch=LAST_EPOCH, previous_id=FIRST_ID)])
    assert driven.end(LAST, commit=False) == ROTATED
    assert driven.now().producer_id == FIRST_ID + 1


def test_end_under_the_former_id_is_repeated() -> None:
    driven = rotating()
    driven.end(LAST, commit=True)
    assert driven.end(LAST, commit=True) == ROTATED
    assert driven.end(LAST, commit=False) == Identified(STATE)


@pytest.mark.parametrize("other", [{"producer_epoch": LAST_EPOCH - 1}, {"producer_id": FIRST_ID - 1}, {"version": 1}])
def test_end_of_another_former_producer_is_refused(other: dict[str, Any]) -> None:
    """Only the last epoch of the former id is that of a request that is repeated, and only since version 2."""
    driven = rotating()
    driven.end(LAST, commit=True)
    assert driven.end(attrs.evolve(LAST, **other), commit=True) == Identified(MAPPING)


def test_end_under_the_former_id_waits_for_the_markers() -> None:
    driven = rotating(holds_markers=True)
    driven.end(LAST, commit=True)
    assert driven.end(LAST, commit=True) == Identified(BUSY)


def test_end_under_the_former_id_is_refused_in_the_next_transaction() -> None:
    driven = rotating()
    driven.end(LAST, commit=True)
    driven.add(Producer(FIRST_ID + 1, 0), TP)
    assert driven.end(LAST, commit=True).error in {MAPPING, FENCED}
    assert driven.now().state is State.ONGOING


def test_end_under_the_former_id_is_refused_after_the_first_epoch() -> None:
    driven = rotating()
    driven.end(LAST, commit=True)
    driven.end(Producer(FIRST_ID + 1, 0), commit=False)
    assert driven.end(LAST, commit=False) == Identified(MAPPING)
    assert [record.stored.previous_id for record in driven.log[-2:] if record.stored] == [FIRST_ID + 1] * 2


def test_new_id_survives_the_coordinator() -> None:
    driven = rotating(holds_markers=True)
    driven.end(LAST, commit=True)
    after = take_over(driven)
    assert (after.now().producer_id, after.now().producer_epoch) == (FIRST_ID + 1, 0)
    assert after.end(LAST, commit=True) == ROTATED


def test_producer_with_its_new_id_waits_for_the_markers() -> None:
    """It has that id from the answer to End; Kafka's coordinator says the same while the end is being completed."""
    driven = rotating(holds_markers=True)
    driven.end(LAST, commit=True)
    assert driven.initialize(Producer(FIRST_ID + 1, 0)) == Identified(BUSY)


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
