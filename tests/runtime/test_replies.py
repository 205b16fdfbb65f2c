"""Futures of the controller do all that the standard library's do, though what waiting needs is made late."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, InvalidStateError, as_completed, wait
from concurrent.futures import TimeoutError as FutureTimeoutError

import pytest

from controller.runtime.replies import Outstanding, ReplyFuture


def _elsewhere(*, waits: bool) -> bool:
    """Another thread drives, whether this one waits or not."""
    del waits
    return False


def _future() -> ReplyFuture[int]:
    return ReplyFuture(_elsewhere)


def test_whoever_waits_before_the_answer_gets_it() -> None:
    """From threads that came before it was there, each its own copy of the one answer."""
    future, heard, begun = _future(), [], threading.Barrier(4)

    def ask() -> None:
        begun.wait(10)
        heard.append(future.result(10))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    future.settle(7)
    for thread in threads:
        thread.join(10)
    assert heard == [7, 7, 7]


@pytest.mark.parametrize("watched", [False, True])
def test_a_callback_is_called_once_added_before_or_after(*, watched: bool) -> None:
    """In the order in which they were added, whether somebody waits for the future as well or not."""
    future, heard = _future(), []
    if watched:
        with pytest.raises(FutureTimeoutError):
            future.result(0)
    future.add_done_callback(lambda f: heard.append(("first", f.result())))
    future.add_done_callback(lambda f: heard.append(("second", f.result())))
    future.settle(7)
    future.settle(8)
    future.add_done_callback(lambda f: heard.append(("late", f.result())))
    assert heard == [("first", 7), ("second", 7), ("late", 7)]


def test_a_callback_that_was_added_before_somebody_waited_is_kept() -> None:
    """Waiting makes the condition; what stood there before moves with it."""
    future, heard = _future(), []
    future.add_done_callback(lambda f: heard.append(f.result()))
    with pytest.raises(FutureTimeoutError):
        future.exception(0)
    future.settle(7)
    assert heard == [7]


def test_wait_and_as_completed_take_them_together_with_others() -> None:
    """The functions of the standard library, on answers that are there and that come."""
    there, comes, fails = _future(), _future(), _future()
    there.settle(1)
    assert wait([there, comes, fails], 0).done == {there}
    threading.Timer(0, comes.settle, [2]).start()
    threading.Timer(0, fails.settle, [ValueError("no")]).start()
    assert set(as_completed([there, comes, fails], 10)) == {there, comes, fails}
    assert isinstance(fails.exception(), ValueError)
    with pytest.raises(ValueError, match="no"):
        fails.result()


def test_a_cancelled_one_stays_cancelled() -> None:
    """The answer that comes too late is dropped, whoever gives it."""
    future = _future()
    assert future.cancel()
    future.settle(7)
    assert future.cancelled()
    assert future.done()
    with pytest.raises(CancelledError):
        future.result(0)
    with pytest.raises(InvalidStateError):
        future.set_result(7)


def test_asyncio_waits_for_it() -> None:
    """By `asyncio.wrap_future`, answered from another thread."""

    async def ask() -> int:
        future = _future()
        wrapped = asyncio.wrap_future(future)
        threading.Timer(0, future.settle, [7]).start()
        return await asyncio.wait_for(wrapped, 10)

    assert asyncio.run(ask()) == 7


def test_what_nobody_waits_for_makes_no_condition() -> None:
    """Ten thousand of them are one object each for the collector."""
    outstanding, future = Outstanding(), _future()
    outstanding.add([future])
    future.add_done_callback(lambda _: None)
    outstanding.complete(future, 7)
    assert (future.done(), future.cancelled(), future.result(), future.exception()) == (True, False, 7, None)
    assert not future.is_watched
