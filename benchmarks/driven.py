"""A controller under the driver of the run: its own threads, as a host embeds it, or `poll_once` on this thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter, sleep
from typing import Final, TypeVar

from benchmarks.cluster import settle
from benchmarks.hosts import MeasuredHost
from kedge import Controller

T = TypeVar("T")

_LOOK_S: Final = 0.001
_DEADLINE_S: Final = 1_200.0


class Driven:
    """With threads, the controller starts at the first wait, so brokers that it should load are registered before."""

    def __init__(self, controller: Controller, host: MeasuredHost, *, threads: bool) -> None:
        self.controller = controller
        self.host = host
        self._threads = threads
        self._started = False

    def until(self, reached: Callable[[], object]) -> None:
        """Wait until `reached()` is true: checked after each pass, or every millisecond while threads run."""
        if self._threads and not self._started:
            self._started = True
            self.controller.start()
        deadline = perf_counter() + _DEADLINE_S
        while not reached():
            if perf_counter() > deadline:
                raise TimeoutError(f"not reached within {_DEADLINE_S:.0f} s")
            if self._threads:
                sleep(_LOOK_S)
            else:
                self.controller.poll_once()

    def answer(self, asked: Future[T]) -> T:
        """Wait for a request; its result."""
        if self._threads and self._started:
            return asked.result(_DEADLINE_S)
        self.until(asked.done)
        return asked.result(0)

    def settle(self) -> None:
        """Wait until the controller leads and every broker that it registered has received everything once."""
        self.until(lambda: self.host.updated.issuperset(self.controller.broker_epochs))
        self.answer(self.controller.query(lambda _: None))
        if not self._threads:
            settle(self.controller)
