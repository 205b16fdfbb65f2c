"""How transactions end: the answers to End."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.transactions.records import EPOCH_MAX, NO_ID, State, Stored
from kedge.controller.transactions.replies import Identified
from kedge.controller.transactions.transaction import Marking
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    LAST,
    LAST_EPOCH,
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
NONE, BUSY = ERROR.NONE, ERROR.CONCURRENT_TRANSACTIONS
FENCED, STATE = ERROR.PRODUCER_FENCED, ERROR.INVALID_TXN_STATE
MAPPING: Final = ERROR.INVALID_PRODUCER_ID_MAPPING
COMMITS: Final = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
VERSIONS: Final = pytest.mark.parametrize("version", [1, 2])


# --- the answers (KIP-98, KIP-890): state, and then by result and epoch: commit of the present one, commit of the one
# before, abort of the present one, abort of the one before. DONE: the end is decided by that.

DONE: Final = None
TABLES: Final[dict[int, dict[State, tuple[CoordinatorError | None, ...]]]] = {
    1: {
        State.EMPTY: (STATE, FENCED, STATE, FENCED),
        State.ONGOING: (DONE, FENCED, DONE, FENCED),
        State.PREPARE_COMMIT: (BUSY, FENCED, BUSY, FENCED),
        State.PREPARE_ABORT: (BUSY, FENCED, BUSY, FENCED),
        State.COMPLETE_COMMIT: (NONE, FENCED, STATE, FENCED),
        State.COMPLETE_ABORT: (STATE, FENCED, NONE, FENCED),
    },
    2: {
        State.EMPTY: (STATE, FENCED, DONE, FENCED),
        State.ONGOING: (DONE, FENCED, DONE, FENCED),
        State.PREPARE_COMMIT: (BUSY, BUSY, BUSY, BUSY),
        State.PREPARE_ABORT: (BUSY, BUSY, BUSY, BUSY),
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
@pytest.mark.parametrize("grown", [0, -1])
@pytest.mark.parametrize("transactional_id, producer_id", [("unknown", FIRST_ID), (ID, FIRST_ID + 1)])
def test_end_of_another_id_is_refused(version: int, grown: int, transactional_id: str, producer_id: int) -> None:
    driven = Driven([stored(State.ONGOING, TP, version=version)])
    asked = Producer(producer_id, 5 + grown, version, transactional_id)
    assert driven.end(asked, commit=True) == Identified(MAPPING)


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


@pytest.mark.parametrize(
    "producer, error", [(Producer(FIRST_ID, 7, 1), FENCED), (Producer(FIRST_ID + 1, 5, 1), MAPPING)]
)
def test_fenced_producer_is_fenced_while_a_change_is_written(producer: Producer, error: CoordinatorError) -> None:
    """With version 1, whose changes give no producer another epoch."""
    driven = Driven([stored(State.ONGOING, TP)], holds=True)
    driven.end(Producer(FIRST_ID, 5), commit=True)
    assert driven.end(producer, commit=True) == Identified(error)


@pytest.mark.parametrize("used", [5, LAST_EPOCH])
def test_next_end_waits_for_the_one_that_gave_its_epoch(used: int) -> None:
    """KAFKA-18464. While it is written, and until its markers are."""
    driven = Driven([stored(State.ONGOING, TP, producer_epoch=used)], holds=True, holds_markers=True)
    driven.end(Producer(FIRST_ID, used), commit=True)
    following = Producer(FIRST_ID, 6) if used == 5 else Producer(FIRST_ID + 1, 0)
    assert driven.end(following, commit=False) == Identified(BUSY)
    driven.holds = False
    driven.settle()
    assert driven.end(following, commit=False) == Identified(BUSY)
    driven.mark()
    assert driven.end(following, commit=False).error is NONE


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
