"""The input of one client, and whether the client is still there while its request waits.

* Only reading shows that a client hung up. So during a long request its further input is read, up to `_AHEAD`, and
  kept: pipelined requests lose nothing.
* A client that sends no more may still read, so what is done soon is answered. A request that is not done after
  `PATIENCE_S` is given up if its client hung up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from .errors import HungUp

PATIENCE_S: Final = 1.0
_AHEAD: Final = 64 * 1024  # bytes


class Incoming:
    """Of one connection, on its loop. `read` and `exactly` equal those of the reader."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._ahead = b""

    async def read(self, size: int) -> bytes:
        if not self._ahead:
            return await self._reader.read(size)
        found, self._ahead = self._ahead[:size], self._ahead[size:]
        return found

    async def exactly(self, size: int) -> bytes:
        found, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(found) == size:
            return found
        try:
            return found + await self._reader.readexactly(size - len(found))
        except asyncio.IncompleteReadError as error:
            raise asyncio.IncompleteReadError(found + error.partial, size) from error

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """The work in this block ends with HungUp when the client hangs up; nothing else may read meanwhile."""
        watching: asyncio.Task[None] | None = None

        def begin() -> None:
            nonlocal watching
            watching = loop.create_task(self._watch(waiting))

        loop = asyncio.get_running_loop()
        timer = loop.call_later(PATIENCE_S, begin)
        waiting = asyncio.timeout(None)
        try:
            async with waiting:
                try:
                    yield
                finally:
                    timer.cancel()
                    if watching is not None:
                        watching.cancel()
                        await asyncio.wait([watching])
        except TimeoutError:
            if waiting.expired():
                raise HungUp("the client hung up while its request waited") from None
            raise

    async def _watch(self, waiting: asyncio.Timeout) -> None:
        while len(self._ahead) < _AHEAD:
            try:
                more = await self._reader.read(_AHEAD)
            except OSError:
                more = b""
            if not more:
                waiting.reschedule(asyncio.get_running_loop().time())
                return
            self._ahead += more
