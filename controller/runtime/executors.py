"""Where callbacks run: in a pool of threads, or on the caller's thread. A simulation has its own executor.

The dispatcher makes sure that there is one call at a time per broker.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

Call: TypeAlias = Callable[[], None]
FEW: Final = 4  # brokers whose calls run at once
STUCK_S: Final = 0.1
THREADS_MAX: Final = 256


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
    """Works off the calls of each broker one after the other, in a small pool of daemon threads: a thread for each of
    many brokers would cost more to wake than most calls take. Calls of up to `FEW` brokers run at once, besides those
    that have run for `STUCK_S`. A broker whose turn has not come for that long gets a further thread, up to
    `THREADS_MAX`. A thread ends when nothing came for `idle_s`. One that is stuck in the host's code is left behind on
    close."""

    def __init__(self, name: str, idle_s: float = 1.0) -> None:
        self._name = name
        self._idle_s = idle_s
        self._calls: dict[int, deque[Call]] = {}  # of brokers with calls that wait or run
        self._turns: deque[tuple[int, float]] = deque()  # brokers whose next call may run, and since when
        self._changed = threading.Condition()
        self._threads: set[threading.Thread] = set()
        self._began_s: dict[int, float] = {}  # when the call that runs began, by broker
        self._closed = False

    def submit(self, broker: int, call: Call) -> None:
        with self._changed:
            if self._closed:  # while the loop waited for the store
                return
            calls = self._calls.get(broker)
            if calls is not None:
                calls.append(call)
                return
            self._calls[broker] = deque((call,))
            self._may_run(broker)

    def _may_run(self, broker: int) -> None:
        """A thread that waits takes the broker, or a new one. RuntimeError if the process can have no thread at all."""
        self._turns.append((broker, time.monotonic()))
        if len(self._began_s) < len(self._threads):
            self._changed.notify()
        elif len(self._threads) < THREADS_MAX:
            try:
                self._start_thread()
            except RuntimeError:
                if not self._threads:  # otherwise one of them takes it
                    self._turns.pop()
                    del self._calls[broker]
                    raise

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=f"{self._name}-callbacks", daemon=True)
        thread.start()
        self._threads.add(thread)

    def close(self, timeout_s: float) -> None:
        """No further calls are taken; waits at most `timeout_s` for those that were submitted."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        deadline_s = time.monotonic() + timeout_s
        while threads := [one for one in self._running_threads() if one is not threading.current_thread()]:
            threads[0].join(max(0.0, deadline_s - time.monotonic()))
            if threads[0].is_alive():
                return

    def _running_threads(self) -> list[threading.Thread]:
        with self._changed:
            return list(self._threads)

    def _work(self) -> None:
        while (broker := self._next()) is not None:
            try:
                self._calls[broker][0]()
            except SystemExit:
                pass  # exit() in a callback ends only that callback
            except BaseException:  # noqa: BLE001 - as in a thread of its own: reported, and other brokers go on
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                self._done(broker)

    def _next(self) -> int | None:
        """The broker whose next call this thread runs; None: the thread ends."""
        with self._changed:
            ends_s = time.monotonic() + self._idle_s
            while (wait_s := self._wait_s(ends_s)) > 0:
                self._changed.wait(wait_s)
            if not self._turns:
                self._threads.discard(threading.current_thread())
                return None
            broker, _ = self._turns.popleft()
            self._began_s[broker] = time.monotonic()
            if self._turns and len(self._began_s) == len(self._threads) < THREADS_MAX:
                with contextlib.suppress(RuntimeError):  # the process can have no more
                    self._start_thread()  # so that there is one to notice that all others are stuck
            return broker

    def _wait_s(self, ends_s: float) -> float:
        """How long a thread waits for a turn, or for its end."""
        if not self._turns:
            return 0.0 if self._closed else ends_s - time.monotonic()
        now_s = time.monotonic()
        quick = sum(now_s - began_s < STUCK_S for began_s in self._began_s.values())
        return self._turns[0][1] + STUCK_S - now_s if quick >= FEW else 0.0

    def _done(self, broker: int) -> None:
        with self._changed:
            del self._began_s[broker]
            calls = self._calls[broker]
            calls.popleft()
            if calls:
                self._may_run(broker)
            else:
                del self._calls[broker]
