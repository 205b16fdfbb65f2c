"""A share of something that there is so much of: bytes that are read, elements that are worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Budget:
    """Of one loop. Who asks for more than is left waits, and whoever asks after that waits behind: no large share is
    kept waiting by small ones for ever."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._left = whole
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody has asked for more than is left."""
        return self._turn.locked()

    @asynccontextmanager
    async def share(self, size: int) -> AsyncIterator[None]:
        """Holds `size` of it; of what is larger than the whole, the whole."""
        taken = await self.take(size)
        try:
            yield
        finally:
            self.give(taken)

    async def take(self, size: int) -> int:
        """How much was taken, and is to be given back: `size`, or the whole where that is less."""
        size = min(size, self._whole)
        async with self._turn:
            while self._left < size:
                self._returned.clear()
                await self._returned.wait()
            self._left -= size
        return size

    def give(self, size: int) -> None:
        """Back."""
        self._left += size
        self._returned.set()
