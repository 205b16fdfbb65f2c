"""Where callbacks run: a thread per broker, or the caller's own thread. A simulation brings its own.

One call at a time per broker is the dispatcher's doing; an executor only takes the call somewhere else.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

Call: TypeAlias = Callable[[], None]


class Executor(Protocol):
    """Runs calls to brokers. A call never raises; it reports for itself."""

    def submit(self, broker: int, call: Call) -> None: ...

    def close(self, timeout_s: float) -> None: ...


class InlineExecutor:
    """On the thread that drives the loop, at once: `poll_once` mode."""

    def submit(self, broker: int, call: Call) -> None:  # noqa: ARG002 - every broker's calls run here
        call()

    def close(self, timeout_s: float) -> None:
        """Nothing runs beside the caller."""


class ThreadExecutor:
    """A daemon thread per broker, so that no broker waits for another; a thread that is stuck in a host's code stays
    behind when closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lanes: dict[int, tuple[queue.SimpleQueue[Call | None], threading.Thread]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, broker: int, call: Call) -> None:
        with self._lock:
            if not self._closed:  # closed while the loop was inside the store: nobody is told any more
                self._lane(broker).put(call)

    def _lane(self, broker: int) -> queue.SimpleQueue[Call | None]:
        if broker not in self._lanes:
            calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
            thread = threading.Thread(target=_work, args=(calls,), name=f"{self._name}-broker-{broker}", daemon=True)
            self._lanes[broker] = (calls, thread)
            thread.start()
        return self._lanes[broker][0]

    def close(self, timeout_s: float) -> None:
        """The threads end after the call that they are in; waits `timeout_s` for all of them at most."""
        with self._lock:
            self._closed = True
            lanes, self._lanes = self._lanes, {}
        for calls, _ in lanes.values():
            calls.put(None)
        deadline_s = time.monotonic() + timeout_s
        for _, thread in lanes.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline_s - time.monotonic()))


def _work(calls: queue.SimpleQueue[Call | None]) -> None:
    while (call := calls.get()) is not None:
        with contextlib.suppress(SystemExit):  # a host that says exit() in a callback ends that callback
            call()
