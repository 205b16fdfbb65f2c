"""A reply is small; the future made of it does all that the standard library's do."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future, InvalidStateError, as_completed, wait
from concurrent.futures import TimeoutError as FutureTimeoutError

import pytest

from kedge.controller.runtime.replies import Outstanding, Reply


def _elsewhere(*, waits: bool) -> bool:
    """Another thread drives, whether this one waits or not."""
    del waits
    return False


def _reply() -> Reply[int]:
    return Reply(_elsewhere)


def test_waiter_from_before_the_answer_gets_it() -> None:
    """From threads that came before it was there, each its own copy of the one answer."""
    reply, heard, begun = _reply(), [], threading.Barrier(4)
    future = reply.future()

    def ask() -> None:
        begun.wait(10)
        heard.append(future.result(10))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    reply.settle(7)
    for thread in threads:
        thread.join(10)
    assert heard == [7, 7, 7]


def test_a_callback_is_called_once_added_before_or_after() -> None:
    """In the order in which they were added, those of the reply and those of its future."""
    reply, heard = _reply(), []
    reply.add_done_callback(lambda r: heard.append(("reply", r.outcome)))
    future = reply.future()
    with pytest.raises(FutureTimeoutError):
        future.result(0)
    future.add_done_callback(lambda f: heard.append(("first", f.result())))
    future.add_done_callback(lambda f: heard.append(("second", f.result())))
    reply.settle(7)
    reply.settle(8)
    future.add_done_callback(lambda f: heard.append(("late", f.result())))
    reply.add_done_callback(lambda r: heard.append(("late reply", r.outcome)))
    assert heard == [("reply", 7), ("first", 7), ("second", 7), ("late", 7), ("late reply", 7)]


def test_wait_and_as_completed_take_them_together_with_others() -> None:
    """The functions of the standard library, on answers that are there and that come."""
    replies = [_reply() for _ in range(3)]
    there, comes, fails = (reply.future() for reply in replies)
    replies[0].settle(1)
    assert wait([there, comes, fails], 0).done == {there}
    threading.Timer(0, replies[1].settle, [2]).start()
    threading.Timer(0, replies[2].settle, [ValueError("no")]).start()
    assert set(as_completed([there, comes, fails], 10)) == {there, comes, fails}
    assert isinstance(fails.exception(), ValueError)
    with pytest.raises(ValueError, match="no"):
        fails.result()


def test_a_cancelled_one_stays_cancelled() -> None:
    """The answer that comes too late of any thread is dropped; waiting callers learn of the end at once."""
    reply = _reply()
    future = reply.future()
    assert (future.cancel(), future.cancel()) == (True, True)
    assert wait([future], 10).done == {future}
    reply.settle(7)
    assert isinstance(reply.error, CancelledError)
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result(0)
    with pytest.raises(InvalidStateError):
        future.set_result(7)


def test_an_answered_one_cannot_be_cancelled() -> None:
    reply = _reply()
    future = reply.future()
    reply.settle(7)
    assert not future.cancel()
    assert future.result() == reply.outcome == 7


def test_caller_that_sets_the_result_itself_affects_no_other() -> None:
    reply, others = _reply(), _reply()
    future, other = reply.future(), others.future()
    future.set_result(1)
    outstanding = Outstanding()
    outstanding.complete_all([(reply, 7), (others, 7)])
    assert (future.result(), other.result()) == (1, 7)


def test_asyncio_waits_for_it() -> None:
    """By `asyncio.wrap_future`, answered from another thread."""

    async def ask() -> int:
        reply = _reply()
        wrapped = asyncio.wrap_future(reply.future())
        threading.Timer(0, reply.settle, [7]).start()
        return await asyncio.wait_for(wrapped, 10)

    assert asyncio.run(ask()) == 7


def test_a_reply_has_no_future_before_one_is_asked_for() -> None:
    """Ten thousand of them are one small object each for the collector."""
    outstanding, reply = Outstanding(), _reply()
    outstanding.add([reply])
    assert not hasattr(reply, "__dict__")
    assert reply.callbacks == ()
    outstanding.complete(reply, 7)
    assert (reply.done(), reply.error, reply.outcome) == (True, None, 7)
    assert isinstance(reply.future(), Future)
