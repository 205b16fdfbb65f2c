"""A transactional id gets its producers and partitions, is loaded, is read, and expires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.turn import Answered
from kedge.controller.transactions import Coordinator
from kedge.controller.transactions.records import EPOCH_MAX, NO_EPOCH, NO_ID, NO_TIME, State, Stored, TransactionRecord
from kedge.controller.transactions.replies import Described, Identified, Listed
from kedge.controller.transactions.requests import Describe, TransactionSettings
from tests.transactions.driving import (
    FIRST_ID,
    ID,
    LAST_EPOCH,
    OTHER,
    TIMEOUT_MS,
    TP,
    Driven,
    Producer,
    all_requests,
    errors_of,
    stored,
    take_over,
)

ERROR: Final = CoordinatorError
EXPIRATION_MS: Final = 200_000
CHECK_MS: Final = 10_000
FENCED: Final = Identified(ERROR.PRODUCER_FENCED)
CHANGING: Final = Identified(ERROR.CONCURRENT_TRANSACTIONS)


def identified(producer_epoch: int, producer_id: int = FIRST_ID) -> Identified:
    """The answer that gives a producer its id and epoch."""
    return Identified(ERROR.NONE, producer_id, producer_epoch)


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


def test_each_transactional_id_has_its_own_producer_id() -> None:
    driven = Driven()
    assert driven.initialize(transactional_id="a") == identified(0)
    assert driven.initialize(transactional_id="b") == identified(0, FIRST_ID + 1)


def test_next_producer_gets_the_next_epoch() -> None:
    driven = Driven()
    assert [driven.initialize() for _ in range(3)] == [identified(0), identified(1), identified(2)]


def test_producer_is_answered_when_its_epoch_is_committed() -> None:
    driven = Driven(holds=True)
    assert driven.initialize(ticket="a") is None
    driven.settle()
    assert driven.heard["a"] == identified(0)


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


def test_producer_of_another_id_is_fenced() -> None:
    driven = loaded(5)
    assert driven.initialize(Producer(FIRST_ID - 1, 5)) == FENCED


def test_producer_of_a_forgotten_transactional_id_begins_as_a_new_one() -> None:
    """Its transactional id has expired, say."""
    driven = Driven()
    assert driven.initialize(Producer(7, 3)) == identified(0)
    assert driven.now().last_epoch == NO_EPOCH


# --- epochs are used up


def test_last_epoch_is_given_out() -> None:
    driven = loaded(LAST_EPOCH - 1)
    assert driven.initialize() == identified(LAST_EPOCH)


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


def test_next_producer_is_answered_when_the_abort_is_committed() -> None:
    driven = Driven()
    driven.begun()
    driven.holds = True
    assert driven.initialize(ticket="next") is None
    driven.settle()
    assert driven.heard["next"] == CHANGING


def test_former_producer_is_fenced_while_its_transaction_is_aborted() -> None:
    driven = Driven(holds_markers=True)
    producer = driven.begun()
    driven.initialize()
    assert driven.add(producer, OTHER) is ERROR.PRODUCER_FENCED


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


def test_partition_is_added_when_it_is_committed() -> None:
    driven = Driven()
    producer = driven.producer()
    driven.holds = True
    assert driven.add(producer, TP, ticket="added") is None
    assert driven.now().partitions == frozenset()
    driven.settle()
    assert driven.heard["added"] == Answered(ERROR.NONE)


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


def test_transaction_may_begin_without_partitions() -> None:
    driven = Driven()
    assert driven.add(driven.producer()) is ERROR.NONE
    assert driven.now().state is State.ONGOING


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


def test_partition_is_not_verified_after_the_transaction() -> None:
    driven = Driven()
    producer = driven.begun(TP, version=1)
    driven.end(producer, commit=True)
    assert driven.verify(producer, TP) is ERROR.TRANSACTION_ABORTABLE


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


def test_transactional_id_is_described_as_it_is_stored() -> None:
    record = stored(State.ONGOING, TP, OTHER)
    assert record.stored is not None
    assert Driven([record]).ask(Describe(ID)) == Described(record.stored)


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


def test_loaded_producer_goes_on() -> None:
    first = Driven()
    producer = first.begun(TP)
    driven = take_over(first)
    assert driven.add(producer, OTHER) is ERROR.NONE
    assert driven.now().partitions == {TP, OTHER}


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


# --- transactional ids expire


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


def test_two_ids_expire_at_once() -> None:
    ids = ("a", "b")
    driven = Driven(
        [stored(transactional_id=one) for one in ids], expiration_ms=EXPIRATION_MS, expiration_check_ms=CHECK_MS
    )
    driven.wait(EXPIRATION_MS)
    assert driven.log[2:] == [TransactionRecord(one, None) for one in ids]
