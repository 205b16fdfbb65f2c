"""Where callbacks run: a thread per broker, or the caller's thread. A simulation has its own executor.

The dispatcher makes sure that there is one call at a time per broker.
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
    """Runs callbacks. A call never raises; it reports its own errors."""

    def submit(self, broker: int, call: Call) -> None: ...

    def close(self, timeout_s: float) -> None: ...


class InlineExecutor:
    """Runs calls at once on the thread that drives the loop: `poll_once` mode."""

    def submit(self, broker: int, call: Call) -> None:  # noqa: ARG002 - the calls of all brokers run here
        call()

    def close(self, timeout_s: float) -> None:
        """Does nothing, since there are no other threads."""


class ThreadExecutor:
    """A daemon thread per broker, so that no broker waits for another; it ends when nothing came for `idle_s`, as after
    the death of its broker, or between two tries to reach it. A thread that is stuck in the host's code is left behind
    on close."""

    def __init__(self, name: str, idle_s: float = 1.0) -> None:
        self._name = name
        self._idle_s = idle_s
        self._lanes: dict[int, tuple[queue.SimpleQueue[Call | None], threading.Thread]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, broker: int, call: Call) -> None:
        with self._lock:
            if not self._closed:  # it may have been closed while the loop waited for the store
                self._lane(broker).put(call)

    def _lane(self, broker: int) -> queue.SimpleQueue[Call | None]:
        if broker not in self._lanes:
            calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
            thread = threading.Thread(
                target=self._work, args=(broker, calls), name=f"{self._name}-broker-{broker}", daemon=True
            )
            self._lanes[broker] = (calls, thread)
            thread.start()
        return self._lanes[broker][0]

    def close(self, timeout_s: float) -> None:
        """Each thread ends after its present call; waits at most `timeout_s` for all of them."""
        with self._lock:
            self._closed = True
            lanes, self._lanes = self._lanes, {}
        for calls, _ in lanes.values():
            calls.put(None)
        deadline_s = time.monotonic() + timeout_s
        for _, thread in lanes.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline_s - time.monotonic()))

    def _work(self, broker: int, calls: queue.SimpleQueue[Call | None]) -> None:
        while (call := self._next(broker, calls)) is not None:
            with contextlib.suppress(SystemExit):  # exit() in a callback ends only that callback
                call()

    def _next(self, broker: int, calls: queue.SimpleQueue[Call | None]) -> Call | None:
        try:
            return calls.get(timeout=self._idle_s)
        except queue.Empty:
            with self._lock:
                if not calls.empty():
                    return calls.get()
                self._lanes.pop(broker, None)
                return None
