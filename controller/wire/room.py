"""What answers hold of a budget of bytes, from before they are written until they are taken.

* It is asked for once per answer, before the large part of it is made: an answer that has some and waits for more would
  wait for others that do the same.
* One answer may go to many: what it holds returns when the last of them has let it go.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from controller.wire.budget import Budget
from controller.wire.errors import TooSlow
from controller.wire.protocol import BRIEF


class Room:
    """Of one answer; `wait_s`: how long it may wait for others to be taken. Who sends the answer keeps a reference to
    this, and it returns what it holds when nobody does."""

    def __init__(self, budget: Budget, wait_s: float) -> None:
        self._budget = budget
        self._wait_s = wait_s
        self._loop = asyncio.get_running_loop()
        self._held = 0

    async def take(self, size: int) -> None:
        """So many bytes are held from now on, unless there are some already, or they are few. TooSlow."""
        if self._held or size <= BRIEF:
            return
        try:
            async with asyncio.timeout(self._wait_s):
                self._held = await self._budget.take(size)
        except TimeoutError as error:
            raise TooSlow(f"no room for an answer for {self._wait_s} s") from error

    @property
    def is_wanted(self) -> bool:
        """Whether others wait for what this holds."""
        return self._held > 0 and self._budget.is_waited_for

    def __del__(self) -> None:
        if self._held:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(self._budget.give, self._held)  # whoever collects it
