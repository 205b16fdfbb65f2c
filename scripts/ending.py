"""End a run of scripts/test by a signal: every process that it started ends, too; the exit code names the signal.

Rules
* Children are interrupted first, so that pytest takes its fixtures down, and killed with all that descends from them
  when that takes too long. Ctrl-C at a terminal has interrupted them already; a second time would cut that short.
* Servers are in sessions of their own, so a process group does not reach them. This process adopts what its children
  leave behind (Linux), and finds descendants by their parents in /proc.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

GRACE_S = 10.0
_POLL_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36


class Ending:
    """`begun` is true once a signal came: no process is started any more."""

    def __init__(self, clean: Callable[[], None]) -> None:
        self.begun = False
        self._clean = clean
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def _end(self, number: int, _: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        self.begun = True
        if number == signal.SIGTERM:
            _send(descendants(deepest=1), signal.SIGINT)
        _wait(GRACE_S)
        while left := descendants():
            _send(left, signal.SIGKILL)
            _wait(_POLL_S)
        self._clean()
        sys.stderr.write(f"scripts/test: ended by {signal.Signals(number).name}\n")
        sys.stderr.flush()
        os._exit(128 + number)  # threads that wait for parts would keep the interpreter


def descendants(*, deepest: int | None = None) -> set[int]:
    """The processes that this one started, and those that they started, and so on, `deepest` levels down."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.parent.name))
    found: set[int] = set()
    level, depth = [os.getpid()], 0
    while level and depth != deepest:
        level = [child for parent in level for child in children.get(parent, ())]
        found.update(level)
        depth += 1
    return found


def _send(processes: set[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _wait(seconds: float) -> None:
    """Until no descendant is left, or for so long."""
    deadline_s = time.monotonic() + seconds
    while descendants() and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
