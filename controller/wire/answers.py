"""What answers hold of a budget of bytes, and answers that many clients share.

* The budget is taken once per answer, before the large part of it is made: an answer that has some and waits for more
  would wait for others that do the same.
* An answer gives back what it holds when the block that sends it is left. A shared one does so when the last of those
  who asked for it has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

import attrs

from controller.wire.errors import TooSlow
from controller.wire.protocol import BRIEF, Frame


class Budget:
    """Bytes or elements that the requests of one loop share. A request for more than is left waits, and every later one
    waits behind it, so that small shares never keep a large one waiting for ever."""

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
        """Holds `size` in the block; of what is larger than the whole, the whole."""
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


class Room:
    """What one answer holds of `budget`. `wait_s`: how long it may wait for other answers to be sent."""

    def __init__(self, budget: Budget, wait_s: float) -> None:
        self._budget = budget
        self._wait_s = wait_s
        self._held = 0

    async def take(self, size: int) -> None:
        """So many bytes are held from now on, unless some are held already, or they are few. TooSlow."""
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

    def let_go(self) -> None:
        """Nothing is held any more. Idempotent."""
        held, self._held = self._held, 0
        if held:
            self._budget.give(held)


@attrs.define(eq=False)
class Answer:
    """A frame with its size, and the room that it holds until each of its `holders` has called `let_go`. `frame` None:
    the client asked for no answer. `room` may be that of a shared answer, of which this is one client's copy."""

    frame: Frame | None
    room: Room | Answer | None = None
    holders: int = 1

    @property
    def is_wanted(self) -> bool:
        """Whether others wait for the room that it holds."""
        return self.room is not None and self.room.is_wanted

    def let_go(self) -> None:
        """One holder fewer."""
        self.holders -= 1
        if self.holders <= 0 and self.room is not None:
            self.room.let_go()


@attrs.define(eq=False)
class _Making:
    """An answer on its way. `askers`: who waits for it; afterwards the answer counts its holders itself."""

    task: asyncio.Task[Answer] = attrs.field(init=False)
    askers: int = 0
    made: Answer | None = None

    def left(self) -> None:
        """One asker does not wait any more, and never will have the answer."""
        if self.made is None:
            self.askers -= 1
        else:
            self.made.let_go()


class Shared:
    """Answers that many clients ask for at once, of one loop. Each is made once.

    * Who asks while the answer is being made gets the next one, and shares that with everybody who asks until it
      begins. So an answer is never older than its question; one of a question is being made, and one waits.
    * Who hangs up takes nothing from the others; what is being made is made.
    """

    def __init__(self) -> None:
        self._being_made: Final[dict[Hashable, _Making]] = {}
        self._waiting: Final[dict[Hashable, _Making]] = {}

    async def get(self, question: Hashable, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """What `make` gives, or that of somebody else with the same question; to be let go by each who got it. Raises
        what `make` raises."""
        making = self._waiting.get(question)
        if making is None:
            making = self._waiting[question] = _Making()
            making.task = asyncio.create_task(self._make(question, make))
            making.task.add_done_callback(_seen)
        making.askers += 1
        try:
            return await asyncio.shield(making.task)
        except BaseException:
            making.left()
            raise

    async def _make(self, question: Hashable, make: Callable[[], Awaitable[Answer]]) -> Answer:
        if (before := self._being_made.get(question)) is not None:
            await asyncio.wait([before.task])
        making = self._being_made[question] = self._waiting.pop(question)
        try:
            answer = making.made = await make()
        finally:
            if self._being_made.get(question) is making:
                del self._being_made[question]
        answer.holders = making.askers + 1
        answer.let_go()  # its maker
        return answer


def _seen(task: asyncio.Task[Answer]) -> None:
    """An error that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()
