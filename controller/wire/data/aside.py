"""Long work on records, in a thread of its own: batches are checked and searched there, in slices, and clients take
turns (`kedge.controller.runtime.turns`). The loop, the brokers, logins and the orders of controllers never wait for it.

Long loops of a handler on the loop itself are divided by `kedge.controller.wire.slices`.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from ...runtime.turns import Turns, Work, into

T = TypeVar("T")
_PAUSE_S: Final = 0.0002
"""A pause after a slice, in which other threads get the interpreter. Without it each of them would wait for 5 ms."""


class Aside:
    """The thread. It ends when this is no longer referenced."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._thread = ThreadPoolExecutor(1, "kedge-records")

    async def done(self, client: str, work: Work[T]) -> T:
        """The result of the work, which takes the turns of this client. It is given up when the caller is cancelled."""
        future: Future[T] = Future()
        self._turns.add(client, into(future, work))
        self._thread.submit(self._work)
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while self._turns.advance():
            time.sleep(_PAUSE_S)
