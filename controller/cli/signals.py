"""What signals do to commands that wait: they end a wait, and never a call into a library.

Python raises KeyboardInterrupt between any two steps of the main thread. Inside of a client's library, or of
`threading`, it may be swallowed, or leave a lock taken for good, and then the command does not end. What a handler does
here takes no lock that the main thread may hold.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class SignalEvent:
    """An Event that a signal handler may set while its own thread waits for it, of which `threading.Event` may stand
    still."""

    def __init__(self) -> None:
        self._is_set = False
        self._unset = threading.Lock()
        self._unset.acquire()

    def set(self) -> None:
        self._is_set = True
        with suppress(RuntimeError):  # it was set before
            self._unset.release()

    def wait(self, timeout_s: float) -> bool:
        if not self._is_set:
            self._unset.acquire(timeout=timeout_s)
        return self._is_set


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object], numbers: Iterable[int] = SIGNALS) -> Iterator[None]:
    """`handler` gets these signals for as long as the block runs."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def told_to_end() -> Iterator[SignalEvent]:
    """Set by the first SIGINT or SIGTERM; the second one ends the process at once."""
    told = SignalEvent()

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        told.set()

    with handled(end):
        yield told


class Interrupts:
    """The first Ctrl-C raises KeyboardInterrupt in a pause, or else at the next pause or check. The second one raises
    it wherever the main thread is."""

    def __init__(self) -> None:
        self._pauses = False
        self._is_due = False

    def pause(self, seconds: float) -> None:
        """Wait so long. Raises KeyboardInterrupt."""
        self._pauses = True
        try:
            self.check()
            time.sleep(seconds)
        finally:
            self._pauses = False

    def check(self) -> None:
        if self._is_due:
            raise KeyboardInterrupt

    def come(self, number: int, frame: FrameType | None) -> None:
        is_second, self._is_due = self._is_due, True
        if self._pauses or is_second:
            signal.default_int_handler(number, frame)


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """For as long as the block runs. Where Ctrl-C is ignored or has another handler, and on other threads than the main
    one, nothing is changed."""
    found = Interrupts()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield found
        return
    with handled(found.come, [signal.SIGINT]):
        yield found
