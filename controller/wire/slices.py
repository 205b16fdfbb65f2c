"""Long work on the loop of a gateway, in slices: other clients go on in between, however long a list is.

* In each pass of the loop one piece of long work goes on, for `SLICE_S`. A slice for each of them in every pass would
  keep the loop as long as there are pieces: a client can send hundreds of long requests at once.
* Clients take turns (`CLIENT`), and the pieces of one client are done in their order.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
SLICE_S: Final = 0.003
FEW: Final = 20
"""Rows that are worked on at once: what most requests have."""
CLIENT: Final[ContextVar[str]] = ContextVar("CLIENT", default="")
"""The client that the work of this task is for."""


async def sliced(rows: Iterable[T]) -> AsyncIterator[T]:
    """The rows. Behind the first few, and whenever the work on them has taken `SLICE_S`, other work goes on first."""
    until_s = None
    for number, row in enumerate(rows):
        if number == FEW or (until_s is not None and time.monotonic() >= until_s):
            await turn()
            until_s = time.monotonic() + SLICE_S
        yield row


async def turn() -> None:
    """Other work goes on first, and then a piece of the caller's that takes about `SLICE_S`."""
    await _queue().turn()


class _Queue:
    """The long work of one loop."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # the next client first
        self._is_called = False

    async def turn(self) -> None:
        """It is the caller's turn."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(CLIENT.get(), deque()).append(waiting)
        self._call()
        await waiting

    def _call(self) -> None:
        if not self._is_called and self._waiting:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._is_called = False
        client, waiting = self._waiting.popitem(last=False)
        first = waiting.popleft()
        if waiting:
            self._waiting[client] = waiting
        if not first.done():  # it may have been cancelled
            first.set_result(None)
        self._call()


_QUEUES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]] = WeakKeyDictionary()


def _queue() -> _Queue:
    return _QUEUES.setdefault(asyncio.get_running_loop(), _Queue())
