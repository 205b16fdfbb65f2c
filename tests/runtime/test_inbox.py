"""The order in which waiting jobs are decided, and the reader of the inbox."""

from __future__ import annotations

import threading

import pytest

from kedge.controller.model.events import DeletionKeyRead, PartitionDue
from kedge.controller.model.records import KeyAt
from kedge.controller.runtime.inbox import Inbox, Item, WorkQueue
from kedge.controller.runtime.jobs import Job
from tests.kit.waiting import until


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
