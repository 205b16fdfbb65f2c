"""An answer that many ask for at once is made once.

* Who asks while the answer is being made gets the next one, and shares that with everybody who asks until it begins. So
  an answer is never older than its question, and of one question one is in the making and one waits.
* Who hangs up takes nothing from the others; what is being made is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Of one loop."""

    def __init__(self) -> None:
        self._being_made: dict[Hashable, asyncio.Task[T]] = {}
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, question: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """What `make` gives, or that of somebody else with the same question. Raises what `make` raises."""
        task = self._waiting.get(question)
        if task is None:
            task = self._waiting[question] = asyncio.create_task(self._make(question, make))
            task.add_done_callback(_seen)
        return await asyncio.shield(task)

    async def _make(self, question: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        if (before := self._being_made.get(question)) is not None:
            await asyncio.wait([before])
        task = self._being_made[question] = self._waiting.pop(question)
        try:
            return await make()
        finally:
            if self._being_made.get(question) is task:
                del self._being_made[question]


def _seen(task: asyncio.Task[T]) -> None:
    """An error that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()
