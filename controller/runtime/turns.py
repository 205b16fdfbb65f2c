"""Long work of many clients, done in slices.

* A piece of work is a generator that yields after each small part of it (some 0.1 ms).
* Clients take turns: each gets one slice, however much the others want. The pieces of one client are done one after the
  other, so a client with many of them delays only itself.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]

SLICE_S: Final = 0.002


class Turns:
    """Any thread may add work; one thread at a time advances it. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pieces: OrderedDict[str, deque[Work[None]]] = OrderedDict()  # the next client first

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, client: str, work: Work[None]) -> None:
        """Do this after all that the client has added before. `work` must not raise."""
        with self._lock:
            self._pieces.setdefault(client, deque()).append(work)

    def advance(self) -> bool:
        """Give the next client its slice; returns False where no client has work."""
        with self._lock:
            if not self._pieces:
                return False
            client, pieces = next(iter(self._pieces.items()))
            self._pieces.move_to_end(client)
        if self._is_over(pieces[0]):
            with self._lock:
                pieces.popleft()
                if not pieces:
                    del self._pieces[client]
        return True

    def _is_over(self, work: Work[None]) -> bool:
        end_s = self._clock() + SLICE_S
        return all(self._clock() < end_s for _ in work)


def finished(work: Work[T]) -> T:
    """The result of all of the work, done at once."""
    try:
        while True:
            next(work)
    except StopIteration as ended:
        result: T = ended.value
        return result


def at_once(call: Callable[[], object]) -> Work[None]:
    """The call as a piece that is done in one slice."""
    call()
    yield


def into(future: Future[T], work: Work[T]) -> Work[None]:
    """`work`, whose result or error the future gets. It ends early when the future is cancelled."""
    try:
        while not future.cancelled():
            next(work)
            yield
    except StopIteration as ended:
        with suppress(InvalidStateError):
            future.set_result(ended.value)
    except Exception as error:  # noqa: BLE001 - the future has it
        with suppress(InvalidStateError):
            future.set_exception(error)
