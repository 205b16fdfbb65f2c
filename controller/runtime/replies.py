"""Futures of callers. Each is completed exactly once, whatever happens: success, error, deadline, demotion, close.

The loop completes them when a commit is published; demotion and close complete what is left, from another thread if the
loop is inside the store just then. Whoever comes second is ignored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import TypeVar

from controller.model.errors import ControllerError

T = TypeVar("T")


class WouldDeadlock(ControllerError, RuntimeError):
    """The thread that waits for a future is the one that has to complete it."""


class ReplyFuture(Future[T]):
    """A future of this controller. Waiting for it on the thread that drives the loop raises WouldDeadlock: in
    `poll_once` mode a callback that waits would wait for itself."""

    def __init__(self, is_driver: Callable[[], bool]) -> None:
        super().__init__()
        self._is_driver = is_driver

    def result(self, timeout: float | None = None) -> T:
        self._may_wait()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._may_wait()
        return super().exception(timeout)

    def _may_wait(self) -> None:
        if not self.done() and self._is_driver():
            raise WouldDeadlock("this thread drives the controller: let it return, then wait for the future")


class Outstanding:
    """Every future that is not completed yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Future[object], None] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def add(self, future: Future[object]) -> None:
        with self._lock:
            self._futures[future] = None

    def complete(self, future: Future[object] | None, outcome: object) -> None:
        """The future gets `outcome`: an exception is raised in whoever waits, anything else is the result."""
        if future is None:
            return
        with self._lock:
            self._futures.pop(future, None)
        try:
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
        except InvalidStateError:
            pass  # demoted, closed or cancelled meanwhile: the first answer stands

    def fail_all(self, error: Callable[[], BaseException]) -> int:
        """Complete everything with an error of its own; returns how many there were."""
        with self._lock:
            futures, self._futures = self._futures, {}
        for future in futures:
            self.complete(future, error())
        return len(futures)
