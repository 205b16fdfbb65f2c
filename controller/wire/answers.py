"""The bytes that answers hold of a budget, and answers that many clients share.

* The budget is taken once per answer, before its large part is built: an answer that had some and waited for more could
  wait for others in the same state.
* An answer returns its bytes when the block that sends it is left; a shared one does so when the last of its clients
  has left the block.
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
    """Bytes or elements that the requests of one loop share. A request for more than is left waits, and later ones wait
    behind it, so that small shares never starve a large one."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._left = whole
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for more than is left."""
        return self._turn.locked()

    @asynccontextmanager
    async def share(self, size: int) -> AsyncIterator[None]:
        """Hold `size` in the block; at most the whole budget."""
        taken = await self.take(size)
        try:
            yield
        finally:
            self.give(taken)

    async def take(self, size: int) -> int:
        """Returns the amount taken, to be given back: `size`, or the whole budget if that is less."""
        size = min(size, self._whole)
        async with self._turn:
            while self._left < size:
                self._returned.clear()
                await self._returned.wait()
            self._left -= size
        return size

    def give(self, size: int) -> None:
        """Return `size` to the budget."""
        self._left += size
        self._returned.set()


class Room:
    """The bytes that one answer holds of `budget`. `wait_s`: how long it may wait for other answers to be sent."""

    def __init__(self, budget: Budget, wait_s: float) -> None:
        self._budget = budget
        self._wait_s = wait_s
        self._held = 0

    async def take(self, size: int) -> None:
        """Hold this many bytes from now on, unless it holds some or they are few. Raises TooSlow."""
        if self._held or size <= BRIEF:
            return
        try:
            async with asyncio.timeout(self._wait_s):
                self._held = await self._budget.take(size)
        except TimeoutError as error:
            raise TooSlow(f"there was no room for an answer for {self._wait_s} s") from error

    @property
    def is_wanted(self) -> bool:
        """Whether others wait while this holds bytes."""
        return self._held > 0 and self._budget.is_waited_for

    def let_go(self) -> None:
        """Return everything. Idempotent."""
        held, self._held = self._held, 0
        if held:
            self._budget.give(held)


@attrs.define(eq=False)
class Answer:
    """A frame with its size, and the room that it holds until each of its `holders` has called `let_go`. `frame` None:
    the client requested no answer. `room` may be a shared answer, of which this is one client's copy."""

    frame: Frame | None
    room: Room | Answer | None = None
    holders: int = 1

    @property
    def is_wanted(self) -> bool:
        """Whether others wait for the room that it holds."""
        return self.room is not None and self.room.is_wanted

    def let_go(self) -> None:
        """Remove one holder; the last one returns the room."""
        self.holders -= 1
        if self.holders <= 0 and self.room is not None:
            self.room.let_go()


@attrs.define(eq=False)
class _Making:
    """An answer that is being built. `askers`: number of waiting clients; afterwards the answer counts its holders."""

    task: asyncio.Task[Answer] = attrs.field(init=False)
    askers: int = 0
    made: Answer | None = None

    def left(self) -> None:
        """One client no longer waits, and will not get the answer."""
        if self.made is None:
            self.askers -= 1
        else:
            self.made.let_go()


class Shared:
    """Answers that many clients of one loop request at once. Each is built once.

    * A request that comes while the answer is being built gets the next one, and shares it with all that come before
      that begins. So an answer is never older than its request; per question one is being built, and one waits.
    * A client that hangs up takes nothing from the others; its answer is still built.
    """

    def __init__(self) -> None:
        self._being_made: Final[dict[Hashable, _Making]] = {}
        self._waiting: Final[dict[Hashable, _Making]] = {}

    async def get(self, question: Hashable, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """The result of `make`, possibly of an equal request; each caller must let it go. Raises what `make` raises."""
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
        answer.let_go()  # the share of its maker
        return answer


def _seen(task: asyncio.Task[Answer]) -> None:
    """Retrieve the error of a task without waiters, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()
