"""The inbox, the work queue beside it, and the futures of callers."""

from __future__ import annotations

import threading

import pytest

from kedge import NewTopic, NotController, Settings, TopicPartition
from kedge.controller.model.events import DeletionKeyRead, PartitionDue
from kedge.controller.model.records import KeyAt
from kedge.controller.runtime.inbox import Inbox, Item, WorkQueue
from kedge.controller.runtime.jobs import Job
from kedge.controller.runtime.replies import Outstanding, Reply, WouldDeadlock
from kedge.controller.runtime.submit import Overloaded
from tests.kit.waiting import until
from tests.runtime.world import Cluster, cluster_of_three


def job(name: str) -> Job:
    return Job(PartitionDue(0, name, 0))


def names(queue: WorkQueue, count: int) -> list[str]:
    found = [queue.next() for _ in range(count)]
    return [one.event.topic for one in found if one is not None and isinstance(one.event, PartitionDue)]


def test_fresh_and_expanded_jobs_take_turns() -> None:
    """A large request does not hold up small ones, nor the other way round."""
    queue = WorkQueue()
    queue.fresh.extend(job(f"f{i}") for i in range(3))
    queue.expanded.extend(job(f"e{i}") for i in range(3))
    assert names(queue, 7) == ["f0", "e0", "f1", "e1", "f2", "e2"]
    assert not queue.is_ready()


def test_events_decided_again_come_first_and_in_their_order() -> None:
    """Otherwise the end of a death could overtake a part of it."""
    queue = WorkQueue()
    queue.fresh.append(job("f"))
    queue.expanded.append(job("e"))
    queue.put_back([job("a"), job("b")])
    queue.put_back([job("0")])
    assert names(queue, 5) == ["0", "a", "b", "f", "e"]


def test_values_of_keys_come_before_events_decided_again_and_after_earlier_reads() -> None:
    """Decided again, a request raises a leader epoch, and what a leader wrote under the former one would be lost."""
    queue = WorkQueue()
    first, second = (Job(DeletionKeyRead(0, name, KeyAt(name, 1))) for name in "rs")
    queue.put_back([job("a"), job("b")])
    queue.read([first])
    queue.read([second])
    assert [queue.next() for _ in range(2)] == [first, second]
    assert names(queue, 2) == ["a", "b"]


def test_a_delayed_job_waits_100_ms_then_200_and_never_over_10_s() -> None:
    """Times are those of the clock that never goes back."""
    queue, one, waits = WorkQueue(), job("a"), []
    for _ in range(9):
        queue.delay(one, 0)
        waits.append(queue.next_due_ms())
        queue.wake_delayed(waits[-1] - 1)  # type: ignore[operator]
        assert queue.next() is None
        queue.wake_delayed(waits[-1])  # type: ignore[arg-type]
        assert queue.next() is one
    assert waits == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]


def test_a_full_inbox_refuses_requests_and_takes_what_may_not_be_lost() -> None:
    """Hints and outcomes are put, requests are offered."""
    inbox = Inbox(2)
    assert inbox.offer(job("a"), job("b"))
    assert not inbox.offer(job("c"))
    inbox.put(job("d"))
    assert len(inbox.take(10, 0)) == 3
    assert inbox.offer(job("e"))


@pytest.mark.parametrize("by", ["put", "offer", "wake"])
def test_waiter_for_an_item_is_woken(by: str) -> None:
    """By an item, or by `wake`; a reader that was not woken would still wait when the test gives up."""
    inbox, one = Inbox(2), job("a")
    wakers = {"put": lambda: inbox.put(one), "offer": lambda: inbox.offer(one), "wake": inbox.wake}
    taken: list[list[Item]] = []
    waiter = threading.Thread(target=lambda: taken.append(inbox.take(1, 60)), daemon=True)
    waiter.start()
    until(lambda: inbox._is_waiting)  # noqa: SLF001 - else no reader has to be woken
    wakers[by]()
    waiter.join(10)
    assert taken == [[] if by == "wake" else [one]]


def test_a_controller_with_a_full_inbox_says_so() -> None:
    """Nothing of the call is taken in."""
    cluster = cluster_of_three(settings=Settings(inbox_max=1))
    first = cluster.move([4, 5, 6])
    assert isinstance(cluster.move([5, 6, 4]).exception(0), Overloaded)
    assert cluster.done(first).target_replicas == (4, 5, 6)


def test_future_is_completed_once_by_the_first() -> None:
    """Success after demotion, demotion after success, either after a cancel of the caller's."""
    outstanding = Outstanding()
    for first, second in ((1, 2), (ValueError("a"), 2), (1, ValueError("b"))):
        reply: Reply[object] = Reply(_elsewhere)
        outstanding.add([reply])
        outstanding.complete(reply, first)
        outstanding.complete(reply, second)
        assert reply.future().exception() is (first if isinstance(first, ValueError) else None)
    cancelled: Reply[object] = Reply(_elsewhere)
    outstanding.add([cancelled])
    cancelled.future().cancel()
    assert outstanding.fail_all(lambda: ValueError("c")) == 1
    assert len(outstanding) == 0


@pytest.mark.slow
def test_many_threads_complete_one_future_once() -> None:
    """The first one counts, and no call raises."""
    outstanding = Outstanding()
    for _ in range(50):
        reply: Reply[object] = Reply(_elsewhere)
        heard: list[object] = []
        reply.future().add_done_callback(lambda f, heard=heard: heard.append(f.result()))  # type: ignore[misc]
        outstanding.add([reply])
        threads = [threading.Thread(target=outstanding.complete, args=(reply, i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(heard) == 1


def test_a_cancelled_request_is_not_decided_and_not_kept() -> None:
    """As long as its turn has not come."""
    cluster = cluster_of_three()
    future = cluster.move([4, 5, 6])
    assert future.cancel()
    cluster.run()
    assert cluster.partition().move is None
    assert cluster.controller.describe().waiting_requests == 0


def test_a_request_that_was_failed_by_a_demotion_is_not_decided_by_the_next_term() -> None:
    """Its caller heard NOT_CONTROLLER."""
    cluster = cluster_of_three()
    future = cluster.move([4, 5, 6])
    loop = cluster.controller._loop  # noqa: SLF001 - as the thread that watches sessions does
    inbox = loop.services.inbox
    late = inbox.take(10, 0)
    loop.lose("as if")
    assert isinstance(future.exception(0), NotController)
    cluster.run()
    inbox.put(*late)  # from a caller that was held up between its look at the lead and the inbox
    cluster.run()
    assert cluster.controller.is_active
    assert cluster.partition().move is None


def test_waiting_on_the_thread_that_drives_is_an_error_not_a_deadlock() -> None:
    """A done future may be read anywhere."""
    reply: Reply[int] = Reply(_here)
    mine = reply.future()
    with pytest.raises(WouldDeadlock):
        mine.result(10)
    with pytest.raises(WouldDeadlock):
        mine.exception()
    reply.settle(1)
    assert mine.result() == 1


@pytest.mark.slow
def test_a_small_request_is_answered_while_a_large_one_is_worked_off() -> None:
    """Batches take from both."""
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


def test_who_asks_after_a_request_sees_what_became_of_it() -> None:
    """In the same pass, where all that waits is decided in one batch."""
    cluster = cluster_of_three()
    move = cluster.move([4, 5, 6])
    listed = cluster.controller.admin.list_partition_reassignments()
    cluster.controller.poll_once()
    assert move.done()
    assert list(listed.result(0)) == [TopicPartition("t", 0)]


def test_who_asks_while_much_is_decided_waits_for_no_batch() -> None:
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


def _elsewhere(*, waits: bool) -> bool:
    """Another thread drives, whether this one waits or not."""
    del waits
    return False


def _here(*, waits: bool) -> bool:
    """The thread that waits drives."""
    del waits
    return True


@pytest.mark.checklist(85, 86, 87, 121)
def test_the_listing_shows_what_runs_as_it_was_when_asked() -> None:
    """By partitions, by topics, or all; idle and unknown ones are absent; no store is read for it."""
    cluster = cluster_of_three()
    cluster.create("u", (1, 2), (1, 2))
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.move([2, 3], "u", 1))
    cluster.leave(5)
    t0, u0, u1 = TopicPartition("t", 0), TopicPartition("u", 0), TopicPartition("u", 1)
    admin = cluster.controller.admin
    cluster.run()
    calls = len(cluster.store.calls)
    everything = cluster.done(admin.list_partition_reassignments())
    assert set(everything) == {t0, u1}
    assert set(cluster.done(admin.list_partition_reassignments([t0, u0, TopicPartition("no", 0)]))) == {t0}
    assert set(cluster.done(admin.list_partition_reassignments(topics=["u", "no"]))) == {u1}
    assert len(cluster.store.calls) == calls
    move = everything[t0]
    assert (move.replicas, move.target_replicas, move.adding, move.removing) == (
        (1, 2, 3),
        (4, 5, 6),
        (4, 5, 6),
        (1, 2, 3),
    )
    assert [(w.broker, w.down) for w in move.waiting_on] == [(4, False), (5, True), (6, False)]
    cluster.done(cluster.move(None))
    assert everything[t0].target_replicas == (4, 5, 6)
    assert repr(everything).startswith("Listing({")
    with pytest.raises(KeyError):
        everything[u0]
