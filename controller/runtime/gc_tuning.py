"""Python's garbage collector, tuned for many long-lived objects, which it would scan again and again in vain.

The process has one collector, which belongs to the host: it is only changed while the host allows it (`tuned`,
`Controller(tune_gc=True)`). If a process has several controllers, the collector is off while any of them loads, and is
restored after the last of them.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Rest:
    """How many callers allow tuning, how many blocks want the collector off, whether it was on before the first of
    those, and since when cycles are not freed."""

    def __init__(self) -> None:
        self.lock: Final = threading.Lock()
        self.allowed = 0
        self.blocks = 0
        self.was_on = False
        self.since_s = 0.0


_REST: Final = _Rest()
TURN_S: Final = 0.0005
OFF_S: Final = 60.0
"""For so long blocks that overlap may keep the collector off; the next one collects."""
YOUNG: Final = 50_000  # new objects that trigger a collection of the youngest generation
_YOUNG_OF_PYTHON: Final = 2_000  # Python's default is 700, or 2,000 in later versions; a higher one was set on purpose


@contextmanager
def tuned() -> Iterator[None]:
    """In the block, anything in this process may tune the collector."""
    with _REST.lock:
        _REST.allowed += 1
    try:
        yield
    finally:
        with _REST.lock:
            _REST.allowed -= 1


@contextmanager
def short_turns() -> Iterator[None]:
    """In the block, a thread that computes hands the interpreter over after `TURN_S` (Python's default is 5 ms): a
    thread that answers a client waits for it at each call of the system."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)


@contextmanager
def collector_off() -> Iterator[None]:
    """The collector is off in the block, if tuning is allowed. For work of a second or two: cycles are not freed."""
    if not _REST.allowed:
        yield
        return
    now_s = time.monotonic()
    with _REST.lock:
        is_late = _REST.blocks > 0 and now_s - _REST.since_s >= OFF_S
        if _REST.blocks == 0:
            _REST.was_on = gc.isenabled()
            gc.disable()
        if _REST.blocks == 0 or is_late:
            _REST.since_s = now_s
        _REST.blocks += 1
    try:
        if is_late:
            gc.collect()
        yield
    finally:
        with _REST.lock:
            _REST.blocks -= 1
            if _REST.blocks == 0 and _REST.was_on:
                gc.enable()


def many_stay() -> None:
    """Exempt all present objects from collection for good, after a large load, and collect new ones less often, unless
    the process has set its own threshold."""
    if not _REST.allowed:
        return
    gc.freeze()
    young, *older = gc.get_threshold()
    if 0 < young <= _YOUNG_OF_PYTHON:
        gc.set_threshold(YOUNG, *older)


def give_back() -> None:
    """After large requests: collect, if tuning is allowed, and return the free memory of the C library to the system.
    Python's lists of free objects, which only a full collection empties, keep its blocks of a megabyte, and glibc keeps
    most of what buffers of megabytes used, for as long as the process lives."""
    if _REST.allowed:
        gc.collect()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
