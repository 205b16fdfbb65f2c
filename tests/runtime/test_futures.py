"""The future of a request does all that the standard library's do, and is answered once."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future, InvalidStateError, as_completed, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import pytest

from kedge import (
    NewTopic,
    NoReassignmentInProgress,
    NotController,
    Overloaded,
    Settings,
    TopicPartition,
    UnknownTopicOrPartition,
)
from tests.runtime.world import Cluster, cluster_of_three

T0 = TopicPartition("t", 0)


def test_threads_that_wait_get_the_answer() -> None:
    cluster, begun = cluster_of_three(), threading.Barrier(4)
    future, heard = cluster.move([4, 5, 6]), list[Any]()

    def ask() -> None:
        begun.wait(10)
        heard.append(future.result(10).target_replicas)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    cluster.run()
    for thread in threads:
        thread.join(10)
    assert heard == [(4, 5, 6)] * 3


def test_callback_is_called_once_added_before_or_after() -> None:
    cluster, heard = cluster_of_three(), list[str]()
    future = cluster.move([4, 5, 6])
    with pytest.raises(FutureTimeoutError):
        future.result(0)
    for name in ("first", "second"):
        future.add_done_callback(lambda _, name=name: heard.append(name))  # type: ignore[misc]
    cluster.run()
    future.add_done_callback(lambda _: heard.append("late"))
    assert heard == ["first", "second", "late"]


def test_wait_and_as_completed_take_answers_and_errors() -> None:
    cluster = cluster_of_three()
    done = cluster.move([4, 5, 6])
    cluster.run()
    accepted, refused = cluster.move([4, 5]), cluster.move(None, "t", 9)
    assert wait([done, accepted, refused], 0).done == {done}
    cluster.run()
    assert set(as_completed([done, accepted, refused], 10)) == {done, accepted, refused}
    with pytest.raises(UnknownTopicOrPartition):
        refused.result(0)


def test_cancelled_request_stays_cancelled_and_is_not_decided() -> None:
    """As long as its turn has not come; an answered one cannot be cancelled."""
    cluster = cluster_of_three()
    future = cluster.move([4, 5, 6])
    assert (future.cancel(), future.cancel()) == (True, True)
    assert wait([future], 10).done == {future}
    cluster.run()
    assert cluster.partition().move is None
    assert cluster.controller.describe().waiting_requests == 0
    with pytest.raises(CancelledError):
        future.result(0)
    with pytest.raises(InvalidStateError):
        future.set_result(7)
    answered = cluster.move(None)
    assert isinstance(cluster.error(answered), NoReassignmentInProgress)
    assert not answered.cancel()


def test_result_that_a_caller_sets_affects_no_other() -> None:
    cluster = cluster_of_three()
    answers = cluster.controller.admin.create_topics({name: NewTopic(1, 1) for name in "ab"})
    mine: Future[Any] = answers["a"]
    mine.set_result(1)
    cluster.run()
    assert (mine.result(0), answers["b"].result(0).name) == (1, "b")


# --- who is answered when


def test_controller_with_a_full_inbox_says_so() -> None:
    cluster = cluster_of_three(settings=Settings(inbox_max=1))
    first = cluster.move([4, 5, 6])
    assert isinstance(cluster.move([5, 6, 4]).exception(0), Overloaded)
    assert cluster.done(first).target_replicas == (4, 5, 6)


def test_request_that_a_demotion_failed_is_not_decided_later() -> None:
    """Its caller got NOT_CONTROLLER; the same controller leads again."""
    cluster = cluster_of_three()
    future = cluster.move([4, 5, 6])
    cluster.store.expire()
    cluster.wait(1_000)
    assert isinstance(future.exception(0), NotController)
    assert cluster.controller.is_active
    assert cluster.partition().move is None


@pytest.mark.slow
def test_small_request_is_answered_while_a_large_one_runs() -> None:
    cluster = Cluster(settings=Settings(commit_decisions_max=10))
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create("m", *[(1, 2, 3)] * 500)
    plan = {TopicPartition("m", p): [4, 5, 6] for p in range(500)}
    large = cluster.controller.admin.alter_partition_reassignments(plan)
    small = cluster.controller.admin.create_topics({"s": NewTopic(1, 1)})["s"]
    for _ in range(5):
        cluster.controller.poll_once()
    assert small.done()
    assert not all(future.done() for future in large.values())
    assert len(cluster.done(large.all())) == 500


def test_listing_shows_the_requests_before_it() -> None:
    """In the same pass, where all that waits is decided in one batch."""
    cluster = cluster_of_three()
    move = cluster.move([4, 5, 6])
    listed = cluster.controller.admin.list_partition_reassignments()
    cluster.controller.poll_once()
    assert move.done()
    assert list(listed.result(0)) == [T0]


def test_listing_does_not_wait_for_a_large_request() -> None:
    """A host may look at the answer in the callbacks of the very next pass; it is of what is committed by then."""
    cluster = Cluster(settings=Settings(commit_decisions_max=10))
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create("m", *[(1, 2, 3)] * 50)
    cluster.controller.admin.alter_partition_reassignments({TopicPartition("m", p): [4, 5, 6] for p in range(50)})
    cluster.controller.poll_once()
    listed = cluster.controller.admin.list_partition_reassignments()
    cluster.controller.poll_once()
    assert len(listed.result(0)) == 10
    assert cluster.controller.describe().reassigning_partitions == 20


@pytest.mark.checklist(85, 86, 87, 121)
def test_listing_is_of_the_moment_of_the_request() -> None:
    """By partitions, by topics, or all; idle and unknown ones are absent; no store is read for it."""
    cluster = cluster_of_three()
    cluster.create("u", (1, 2), (1, 2))
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.move([2, 3], "u", 1))
    cluster.leave(5)
    u0, u1 = TopicPartition("u", 0), TopicPartition("u", 1)
    admin = cluster.controller.admin
    cluster.run()
    calls = len(cluster.store.calls)
    everything = cluster.done(admin.list_partition_reassignments())
    assert set(everything) == {T0, u1}
    assert set(cluster.done(admin.list_partition_reassignments([T0, u0, TopicPartition("no", 0)]))) == {T0}
    assert set(cluster.done(admin.list_partition_reassignments(topics=["u", "no"]))) == {u1}
    assert len(cluster.store.calls) == calls
    move = everything[T0]
    assert (move.replicas, move.target_replicas) == ((1, 2, 3), (4, 5, 6))
    assert (move.adding, move.removing) == ((4, 5, 6), (1, 2, 3))
    assert [(waited.broker, waited.down) for waited in move.waiting_on] == [(4, False), (5, True), (6, False)]
    cluster.done(cluster.move(None))
    assert everything[T0].target_replicas == (4, 5, 6)
    assert repr(everything).startswith("Listing({")
    with pytest.raises(KeyError):
        everything[u0]
