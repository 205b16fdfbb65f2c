"""The thread in which the brokers run, and its schedule.

* A step follows `TICK_S` after the last one while anything moves or requests arrive, else `IDLE_S`; a long step is
  followed by an equally long pause.
* Requests are executed at once, between two steps: by the thread that has them, since a change of threads takes longer
  than most requests. Once this thread works or was woken, it executes them, those of a burst together. Long ones are
  executed in short slices, in which clients take turns; the first slice may be in the thread of the caller.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

TICK_S: Final = 0.005
IDLE_S: Final = 0.05
_BUSY_STEPS: Final = 20  # steps without work before it counts as idle
_GAP_S: Final = 0.0002
_PAUSE_S: Final = 1.0  # after a step that failed
log = logging.getLogger(__name__)


class Steps:
    """`step`: advances the time; returns whether anything moved. `answered`: works on requests for some ms, after new
    ones were executed; returns whether any work is left. Both, and the requests themselves, are called under `lock`."""

    def __init__(self, lock: threading.RLock, step: Callable[[], bool], answered: Callable[[], bool]) -> None:
        self._lock, self._step, self._answered = lock, step, answered
        self._woken = threading.Event()
        self._asked: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._quiet_steps = 0
        self._stepped_s, self._took_s = time.monotonic(), 0.0
        self.is_over = False

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._live, name="kedge-brokers", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """When this returns no step is running, and none will follow."""
        self.is_over = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Run a step soon, because something happened."""
        self._woken.set()

    def soon(self, call: Callable[[], None]) -> None:
        """The call is made now, or by the thread before its next step."""
        self._asked.append(call)
        if self._woken.is_set() and not self.is_over:
            return  # the thread is about to run, and takes the requests of a burst together
        is_more = True
        # A call that is requested under the lock follows what is done there.
        if not self._lock._is_owned() and self._lock.acquire(blocking=False):  # type: ignore[attr-defined]  # noqa: SLF001
            try:
                is_more = self._serve()
            except Exception:
                log.exception("a request to the simulated brokers failed")
            finally:
                self._lock.release()
        if is_more or self._asked or self._quiet_steps:
            self._woken.set()

    def _live(self) -> None:
        due_s = time.monotonic()
        while not self.is_over:
            was_woken = self._woken.wait(max(0.0, due_s - time.monotonic()))
            self._woken.clear()
            try:
                with self._lock:
                    is_more = self._serve()
                    if was_woken:
                        self._quiet_steps = 0
                        due_s = min(due_s, self._stepped_s + max(TICK_S, self._took_s))
                    if time.monotonic() >= due_s:
                        self._timed()
                        pause_s = TICK_S if self._quiet_steps < _BUSY_STEPS else IDLE_S
                        due_s = self._stepped_s + max(pause_s, self._took_s)
                if is_more:
                    time.sleep(_GAP_S)  # callbacks of controllers wait for the lock
                    self._woken.set()
            except Exception:
                log.exception("a step of the simulated brokers failed")
                time.sleep(_PAUSE_S)

    def _serve(self) -> bool:
        for _ in range(len(self._asked)):
            self._asked.popleft()()
        return self._answered()

    def _timed(self) -> None:
        began_s = time.monotonic()
        self._quiet_steps = 0 if self._step() else self._quiet_steps + 1
        self._stepped_s = time.monotonic()
        self._took_s = self._stepped_s - began_s
