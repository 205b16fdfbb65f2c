"""Long work on the loop of a gateway, in slices: other clients go on in between, however long a list is.

* In each pass of the event loop, long requests continue for `SLICE_S`: one of them, or some that need only a part of
  it. A client can send hundreds of long requests at once. If each of them continued in every pass, a pass would take
  seconds.
* Clients take turns (`CLIENT`, `kedge.controller.runtime.turns`). The requests of one client continue in their order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from ..runtime.turns import Turns, at_once

T = TypeVar("T")
SLICE_S: Final = 0.003
FEW: Final = 20
"""Rows that are worked on at once: what most requests have."""
PART: Final = 1000
"""Rows that the controller looks up at a time, because it has other work in between."""
CLIENT: Final[ContextVar[str]] = ContextVar("CLIENT", default="")
"""The client that the work of this task is for."""


async def sliced(rows: Iterable[T]) -> AsyncIterator[T]:
    """Yields the rows. After the first `FEW` rows, and then every `SLICE_S`, it waits for the turn of this client."""
    until_s = None
    for number, row in enumerate(rows):
        if number == FEW or (until_s is not None and time.monotonic() >= until_s):
            await turn()
            until_s = time.monotonic() + SLICE_S
        yield row


async def in_parts(rows: Iterable[T]) -> AsyncIterator[list[T]]:
    """Yields the rows in lists of up to `PART`. The rows are read as by `sliced`."""
    part: list[T] = []
    async for row in sliced(rows):
        part.append(row)
        if len(part) == PART:
            yield part
            part = []
    if part:
        yield part


async def turn(part: float = 1.0) -> None:
    """Wait for the turn of this client. Then the caller may use the event loop for about this part of `SLICE_S`."""
    await _queue().turn(part)


class _Queue:
    """The long work of one loop that waits for its turn."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._is_called = False
        self._left = 0.0  # of this pass's slice

    async def turn(self, part: float) -> None:
        """It is the caller's turn."""
        waiting = asyncio.get_running_loop().create_future()
        self._turns.add(CLIENT.get(), at_once(partial(self._wake, waiting, part)))
        self._call()
        await waiting

    def _call(self) -> None:
        if not self._is_called and self._turns:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._is_called, self._left = False, 1.0
        while self._left > 0 and self._turns.advance():
            pass
        self._call()

    def _wake(self, waiting: asyncio.Future[None], part: float) -> None:
        if not waiting.done():  # it may have been cancelled
            waiting.set_result(None)
            self._left -= part


_QUEUES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]] = WeakKeyDictionary()


def _queue() -> _Queue:
    return _QUEUES.setdefault(asyncio.get_running_loop(), _Queue())
