"""A coordinator is loaded, is read and ends; and what it cannot write is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.turn import Answered
from kedge.controller.transactions import Coordinator
from kedge.controller.transactions.records import NO_EPOCH, NO_ID, NO_TIME, State, TransactionRecord
from kedge.controller.transactions.replies import Identified, Listed
from kedge.controller.transactions.requests import Describe, TransactionSettings
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    OTHER,
    TIMEOUT_MS,
    TP,
    Driven,
    Producer,
    all_requests,
    errors_of,
    identified,
    stored,
)

ERROR: Final = CoordinatorError
CHECK_MS: Final = 10_000


# --- records that cannot be written


@pytest.mark.parametrize(
    "failed, error",
    [
        (ERROR.REQUEST_TIMED_OUT, ERROR.COORDINATOR_NOT_AVAILABLE),
        (ERROR.NOT_COORDINATOR, ERROR.NOT_COORDINATOR),
        (ERROR.UNKNOWN_SERVER_ERROR, ERROR.UNKNOWN_SERVER_ERROR),
    ],
)
@pytest.mark.parametrize("kind", ["initialize", "add", "end", "initialize in a transaction"])
def test_change_that_is_not_written_is_undone(kind: str, failed: CoordinatorError, error: CoordinatorError) -> None:
    """The producer hears why, and tries again."""
    driven = Driven()
    producer = driven.producer() if kind == "initialize" else driven.begun()
    asked: dict[str, Callable[[], Any]] = {
        "add": lambda: driven.add(producer, OTHER, ticket="it"),
        "end": lambda: driven.end(producer, commit=True, ticket="it"),
    }
    ask = asked.get(kind, lambda: driven.initialize(ticket="it"))
    before = driven.now()
    driven.append_error = failed
    ask()
    assert (driven.heard["it"].error, driven.now()) == (error, before)
    assert getattr(driven.heard["it"], "producer_id", NO_ID) == NO_ID
    driven.append_error = ERROR.NONE
    ask()
    assert driven.heard["it"].error is not error
    assert driven.now() != before


def test_transactional_id_that_is_not_written_is_forgotten() -> None:
    driven = Driven()
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    assert driven.initialize() == Identified(ERROR.COORDINATOR_NOT_AVAILABLE)
    assert driven.coordinator.transactions == {}
    driven.append_error = ERROR.NONE
    assert driven.initialize() == identified(0, FIRST_ID + 1)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_idle_id_has_nothing_to_repeat(state: State) -> None:
    """Its producer tries again; the coordinator itself has nothing to do before the next check."""
    driven = Driven([stored(state)], retry_ms=50, expiration_check_ms=CHECK_MS)
    driven.append_error = ERROR.REQUEST_TIMED_OUT
    driven.initialize()
    driven.append_error = ERROR.NONE
    driven.wait(60)
    assert len(driven.tried) == 1
    assert driven.coordinator.next_ms == 1_000 + CHECK_MS


# --- what can be read


def test_unknown_transactional_id_is_not_described() -> None:
    """Nor is one whose first record is being written."""
    driven = Driven(holds=True)
    unknown = Answered(ERROR.TRANSACTIONAL_ID_NOT_FOUND)
    assert driven.ask(Describe(ID)) == unknown
    driven.initialize()
    assert driven.ask(Describe(ID)) == unknown


def test_transactional_ids_are_listed() -> None:
    """Without those whose first record is being written."""
    driven = Driven()
    driven.producer(transactional_id="idle")
    driven.wait(5)
    driven.begun(transactional_id="open")
    driven.holds = True
    driven.initialize(transactional_id="new")
    assert driven.coordinator.listed() == [
        Listed("idle", FIRST_ID, State.EMPTY, NO_TIME),
        Listed("open", FIRST_ID + 1, State.ONGOING, driven.now_ms),
    ]


def test_nothing_is_said_of_an_id_before_its_first_record() -> None:
    driven = Driven(holds=True)
    driven.initialize()
    assert driven.add(Producer(FIRST_ID, NO_EPOCH), TP) is ERROR.INVALID_PRODUCER_ID_MAPPING
    assert driven.end(Producer(FIRST_ID, NO_EPOCH), commit=False) == Identified(ERROR.INVALID_PRODUCER_ID_MAPPING)


# --- a coordinator begins and ends


def test_nothing_is_answered_before_the_log_is_loaded() -> None:
    coordinator = Coordinator(TransactionSettings(), lambda: FIRST_ID)
    coordinator.load([stored()])
    loading = ERROR.COORDINATOR_LOAD_IN_PROGRESS
    heard = {name: coordinator.ask(asked, name, 0).replies for name, asked in all_requests().items()}
    assert heard == {
        name: ((name, Identified(loading) if name in {"initialize", "end"} else Answered(loading)),) for name in heard
    }


def test_newest_record_of_an_id_is_loaded() -> None:
    driven = Driven([stored(producer_epoch=5), stored(producer_epoch=7)])
    assert driven.now() == stored(producer_epoch=7).stored
    assert driven.initialize() == identified(8)


def test_deleted_id_is_not_loaded() -> None:
    driven = Driven([stored(), TransactionRecord(ID, None)])
    assert driven.coordinator.listed() == []


def test_waiting_requests_are_sent_to_the_next_coordinator() -> None:
    driven = Driven()
    driven.begun(transactional_id="open")
    idle, closing = driven.producer(transactional_id="idle"), driven.begun(transactional_id="closing")
    driven.holds = True
    driven.initialize(transactional_id="open", ticket="abort")
    driven.add(idle, TP, ticket="add")
    driven.end(closing, commit=True, ticket="end")
    driven.initialize(transactional_id="new", ticket="new")
    driven.heard.clear()
    driven.unload()
    elsewhere = Identified(ERROR.NOT_COORDINATOR)
    assert driven.heard == {
        **dict.fromkeys(("abort", "end", "new"), elsewhere),
        "add": Answered(ERROR.NOT_COORDINATOR),
    }


def test_coordinator_that_is_over_refuses_all() -> None:
    driven = Driven([stored()])
    driven.unload()
    assert errors_of(driven.ask) == {ERROR.NOT_COORDINATOR}
    assert driven.coordinator.listed() == []


def test_coordinator_that_is_over_does_nothing_more() -> None:
    """Neither for appends and markers that end later, nor by itself."""
    driven = Driven(holds_markers=True)
    marked, waits = driven.begun(transactional_id="marked"), driven.begun(transactional_id="waits")
    driven.begun(transactional_id="open")
    driven.end(marked, commit=True)
    driven.holds = True
    driven.end(waits, commit=True)
    driven.unload()
    tried, marking = len(driven.tried), list(driven.marking)
    assert driven.coordinator.next_ms is None
    driven.settle()
    driven.mark()
    driven.wait(2 * TIMEOUT_MS)
    assert (len(driven.tried), driven.marking) == (tried, [])
    assert driven.written == marking
