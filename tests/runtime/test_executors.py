"""The pool of threads in which callbacks run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from kedge.controller.runtime.executors import FEW, ThreadExecutor
from tests.kit.waiting import until

MANY = 3 * FEW


def _wait(event: threading.Event) -> None:
    event.wait()


@pytest.fixture
def executor() -> Iterator[ThreadExecutor]:
    pool = ThreadExecutor("pool")
    yield pool
    pool.close(60)


def test_stuck_callbacks_do_not_stop_other_brokers(executor: ThreadExecutor) -> None:
    stuck, called = threading.Event(), threading.Event()
    for broker in range(MANY):
        executor.submit(broker, partial(_wait, stuck))
    executor.submit(MANY, called.set)
    assert called.wait(60)
    stuck.set()


def test_quick_callbacks_of_many_brokers_share_few_threads(executor: ThreadExecutor) -> None:
    names: list[str] = []
    for broker in range(MANY):
        executor.submit(broker, lambda: names.append(threading.current_thread().name))
        until(lambda: len(names) == broker + 1)  # noqa: B023
    assert len({thread for thread in threading.enumerate() if thread.name == "pool-callbacks"}) <= 2


def test_callbacks_of_a_broker_run_in_order_one_at_a_time(executor: ThreadExecutor) -> None:
    running, seen = threading.Lock(), list[int]()

    def call(number: int) -> None:
        assert running.acquire(blocking=False)
        seen.append(number)
        running.release()

    for number in range(100):
        executor.submit(7, partial(call, number))
    executor.close(60)
    assert seen == list(range(100))


def test_callback_that_ends_its_thread_stops_no_other(
    executor: ThreadExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exceptions that are none of `Exception` reach `threading.excepthook`, as in a thread of their own."""
    raised: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_type))

    def interrupt() -> None:
        raise KeyboardInterrupt

    for broker in range(2):
        called = threading.Event()
        executor.submit(broker, interrupt)
        executor.submit(broker, called.set)
        assert called.wait(60)
    assert raised == [KeyboardInterrupt] * 2


def test_thread_that_cannot_be_started_loses_no_later_call(
    executor: ThreadExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have no thread left for a while."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    called, running = threading.Event(), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            executor.submit(1, called.set)
    executor.submit(1, partial(_wait, running))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        executor.submit(2, called.set)  # waits for the one thread
    running.set()
    assert called.wait(60)
