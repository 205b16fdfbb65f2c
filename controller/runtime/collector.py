"""Python's collector, where many objects are made that stay: looking at them again and again finds nothing.

There is one collector for a process, which belongs to whoever embeds: nothing is done to it while nobody has said that
it may be (`tuned`, `Controller(tune_gc=True)`). There may be several controllers in a process: it rests as long as any
of them has work of that kind, and is as it was before once the last of them is through.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Rest:
    """How many say that it may be tuned, how many blocks want it off, and whether it was on when the first of those
    began."""

    def __init__(self) -> None:
        self.lock: Final = threading.Lock()
        self.allowed = 0
        self.blocks = 0
        self.was_on = False


_REST: Final = _Rest()
YOUNG: Final = 50_000  # more objects than before, from which on Python looks for cycles among the new ones
_YOUNG_OF_PYTHON: Final = 2_000  # that of Python is 700, or 2,000 in later versions; who sets it knows why


@contextmanager
def tuned() -> Iterator[None]:
    """It may be tuned inside the block, by whatever runs in this process."""
    with _REST.lock:
        _REST.allowed += 1
    try:
        yield
    finally:
        with _REST.lock:
            _REST.allowed -= 1


@contextmanager
def collector_off() -> Iterator[None]:
    """It rests inside the block. For work of a second or two: nothing that goes in circles is freed meanwhile."""
    if not _REST.allowed:
        yield
        return
    with _REST.lock:
        if _REST.blocks == 0:
            _REST.was_on = gc.isenabled()
            gc.disable()
        _REST.blocks += 1
    try:
        yield
    finally:
        with _REST.lock:
            _REST.blocks -= 1
            if _REST.blocks == 0 and _REST.was_on:
                gc.enable()


def many_stay() -> None:
    """So much was loaded that looking at it again costs more than it may find: all that there is now is left alone for
    good, and what is made from now on is looked at less often, unless the process has settled that for itself."""
    if not _REST.allowed:
        return
    gc.freeze()
    young, *older = gc.get_threshold()
    if 0 < young <= _YOUNG_OF_PYTHON:
        gc.set_threshold(YOUNG, *older)
