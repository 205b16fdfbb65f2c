"""Transactions in processes that host brokers: leaders that verify, markers, and partitions of other processes."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kedge.controller.coordinators import TRANSACTIONS_TOPIC, CoordinatorError
from kedge.controller.model.logs import Appended, EndMarker, LogError
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.server import transactions
from kedge.controller.transactions.records import State
from kedge.controller.transactions.replies import Identified
from kedge.controller.transactions.requests import AddPartitions, End, Initialize
from tests.transactions.processes import Process, batch

pytestmark = pytest.mark.slow

HERE: Final = TopicPartition("here", 0)
THERE: Final = TopicPartition("there", 0)
BOTH: Final = TopicPartition("both", 0)
WAITS: Final[dict[str, Any]] = {"acks": -1, "timeout_ms": 1_000}
ELSEWHERE: Final = "All partitions of a transaction must be on brokers of the coordinator's process."


@pytest.fixture(name="rig")
def made_rig() -> Rig:
    """The coordinator is on broker 1, and so is the first topic; the second is on broker 2."""
    rig = Rig()
    for topic, replicas in ((TRANSACTIONS_TOPIC, [1]), (HERE.topic, [1]), (THERE.topic, [2]), (BOTH.topic, [1, 2])):
        rig.create_topic(topic, replicas=[replicas])
    return rig


@pytest.fixture(name="first")
def made_first(rig: Rig) -> Process:
    return Process(rig, 1)


@pytest.fixture(name="second")
def made_second(rig: Rig) -> Process:
    return Process(rig, 2, 3)


@pytest.fixture(name="producer")
def made_producer(first: Process) -> Identified:
    return first.initialized()


def write(process: Process, producer: Identified, tp: TopicPartition, version: int = 12) -> Appended:
    """What Produce of this version answers."""
    return process.run(process.verifying.append(None, tp, batch(producer), ("t", version), **WAITS))


def end_offset(process: Process, tp: TopicPartition) -> int:
    return process.result(process.logs.bounds(None, tp)).end_offset


def added(producer: Identified, *partitions: TopicPartition) -> AddPartitions:
    return AddPartitions("t", producer.producer_id, producer.producer_epoch, partitions)


# --- a marker between the guard and the batch


@pytest.mark.parametrize("is_commit", [True, False])
def test_batch_is_refused_behind_a_marker(first: Process, producer: Identified, is_commit: bool) -> None:
    """Its leader asked before the marker whether the transaction includes the partition. It would begin a transaction
    that never ends."""
    who = (producer.producer_id, producer.producer_epoch)
    guard = first.result(first.logs.guard(None, HERE, *who)).guard
    assert guard is not None
    ended = first.transactions.end(None, HERE, *who, EndMarker(is_commit, 0))
    assert first.result(ended).error is LogError.NONE
    late = first.logs.append(None, HERE, batch(producer), **WAITS, guard=guard)
    assert first.result(late).error is LogError.INVALID_TXN_STATE
    assert end_offset(first, HERE) == 1


@pytest.mark.parametrize("version", [11, 12])
@pytest.mark.parametrize("ends_at", range(8))
def test_no_batch_begins_a_transaction_that_has_ended(
    first: Process, producer: Identified, version: int, ends_at: int
) -> None:
    """At whatever step of its verification the transaction ends."""
    is_newer = version == 12
    if not is_newer:
        first.result(first.transactions.ask(None, added(producer, HERE)))

    def end(number: int) -> None:
        if number == ends_at:
            first.end(producer, 2 if is_newer else 0)

    first.run(first.verifying.append(None, HERE, batch(producer), ("t", version), **WAITS), end)
    bounds = first.result(first.logs.bounds(None, HERE))
    assert bounds.stable_offset == bounds.end_offset or first.state() is State.ONGOING


@pytest.mark.parametrize("calls", range(6))
def test_coordinator_writes_nothing_under_a_later_epoch(rig: Rig, first: Process, calls: int) -> None:
    """Its successor on the same broker may have read the log before. At whatever step the leader epoch rises."""
    replica = rig.brokers[1].replica(TopicPartition(TRANSACTIONS_TOPIC, 0))
    assert replica is not None
    before = replica.log.end_offset
    asked = first.transactions.ask(None, Initialize("late", 60_000))
    first.drain(calls)
    is_written = replica.log.end_offset > before
    replica.leader_epoch += 1
    first.transactions.step()
    is_done = first.result(asked).error is CoordinatorError.NONE
    for _ in range(3):
        first.step()
    assert (replica.log.end_offset > before) == (is_written or is_done)


# --- partitions of other processes


@pytest.mark.parametrize("version", [11, 12])
def test_leader_of_another_process_refuses_with_the_cause(second: Process, producer: Identified, version: int) -> None:
    """At once, and with an error that producers do not retry: it cannot ask the coordinator."""
    assert write(second, producer, THERE, version) == Appended(LogError.INVALID_REQUEST, message=ELSEWHERE)
    assert end_offset(second, THERE) == 0


def test_partition_with_replicas_in_both_processes_is_refused(first: Process, producer: Identified) -> None:
    """Its leader may be in the other one tomorrow."""
    assert write(first, producer, BOTH) == Appended(LogError.INVALID_REQUEST, message=ELSEWHERE)
    answer = first.result(first.transactions.ask(None, added(producer, HERE, BOTH)))
    assert answer.error is CoordinatorError.INVALID_REQUEST


def test_client_of_another_process_looks_for_the_coordinator(second: Process, producer: Identified) -> None:
    asked = [added(producer, THERE), End("t", producer.producer_id, producer.producer_epoch, is_commit=True)]
    answers = [second.result(second.transactions.ask(None, each)) for each in asked]
    assert {answer.error for answer in answers} == {CoordinatorError.NOT_COORDINATOR}


def test_producer_retries_while_the_coordinator_is_down(rig: Rig, second: Process, producer: Identified) -> None:
    """As in one process: producers retry."""
    rig.mishaps.kill_broker(1, at_once=True)
    rig.until(lambda: rig.leader(TopicPartition(TRANSACTIONS_TOPIC, 0)) is None)
    assert write(second, producer, THERE) == Appended(LogError.NOT_ENOUGH_REPLICAS)


# --- markers


def test_partition_that_no_broker_knows_gets_its_marker_when_one_does(
    rig: Rig, first: Process, producer: Identified
) -> None:
    """Such as one whose state key cannot be read for a while. It is not deleted as long as a broker has a replica."""
    assert not write(first, producer, HERE).error
    known = {broker: broker.metadata.pop(HERE) for broker in rig.brokers.values()}
    asked = End("t", producer.producer_id, producer.producer_epoch, is_commit=True)
    assert not first.result(first.transactions.ask(None, asked)).error
    for _ in range(50):
        first.step()
    assert first.state() is State.PREPARE_COMMIT
    for broker, said in known.items():
        broker.metadata[HERE] = said
    first.until_complete()
    assert end_offset(first, HERE) == 2


def test_few_markers_are_written_at_a_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many that wait for a replica. The others have their turn when these are done."""
    monkeypatch.setattr(transactions, "MARKERS_MAX", 3)
    tps = rig.create_topic("wide", replicas=[[1, 2]] * 10)
    process = Process(rig, 1, 2)
    producer = process.initialized()
    process.result(process.transactions.ask(None, added(producer, *tps)))
    rig.mishaps.pause_broker(2)
    asked = End("t", producer.producer_id, producer.producer_epoch, is_commit=True)
    process.result(process.transactions.ask(None, asked))
    assert process.state() is State.PREPARE_COMMIT
    assert sum(end_offset(process, tp) for tp in tps) == 3
    rig.mishaps.resume_broker(2)
    process.until_complete()
    assert [end_offset(process, tp) for tp in tps] == [1] * 10
