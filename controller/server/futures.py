"""Futures that the thread of the brokers completes. The caller may have cancelled one; that is no error."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def complete(future: Future[T], result: T) -> None:
    """Set the result, unless the future is cancelled."""
    with suppress(InvalidStateError):
        future.set_result(result)


def fail(future: Future[Any], error: Exception) -> None:
    """Raise it to the caller, unless the future is cancelled or has its result."""
    with suppress(InvalidStateError):
        future.set_exception(error)


def result_of(work: Callable[[], T], soon: Callable[[Callable[[], None]], None]) -> Future[T]:
    """What `work` returns or raises. `soon`: has a call made by the thread that steps."""
    future: Future[T] = Future()
    soon(work_for(future, lambda: complete(future, work())))
    return future


def work_for(future: Future[Any], work: Callable[[], object]) -> Callable[[], None]:
    """`work` as a call for `Steps.soon`: what it raises is raised to the caller, by the future."""

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - it goes to the caller
            fail(future, error)

    return run
