"""The bytes that answers hold of a budget, and answers that many clients share.

* The budget is taken once per answer, before its large part is built: an answer that had some and waited for more could
  wait for others in the same state.
* An answer returns its bytes when the block that sends it is left; a shared one does so when the last of its clients
  has left the block.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

import attrs

from .errors import TooSlow
from .protocol import BRIEF, Frame


class Budget:
    """Bytes or elements that the requests of one loop use together. `share`: what one client may hold of it, by
    whatever identifies the client; None: the whole. A request for more than is left waits, and later ones wait behind
    it, so that small amounts never starve a large one; a client that waits for its own share delays no other."""

    def __init__(self, whole: int, share: int | None = None) -> None:
        self._whole = whole
        self._left = whole
        self._overdrawn_by: object = None
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()
        self._share = share
        self._clients: dict[Hashable, Budget] = {}
        self._takes: Counter[Hashable] = Counter()

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for more than is left."""
        return self._turn.locked()

    @property
    def is_whole(self) -> bool:
        """Whether no request holds any of it."""
        return self._left == self._whole

    @asynccontextmanager
    async def share(self, size: int, client: Hashable = None) -> AsyncIterator[None]:
        """Hold `size` in the block; at most the whole budget, or the client's share."""
        taken = await self.take(size, client)
        try:
            yield
        finally:
            self.give(taken, client)

    async def take(self, size: int, client: Hashable = None, *, grows: object = None) -> int:
        """Returns the amount taken, to be given back: `size`, or the whole budget (the share) if that is less. `grows`:
        who holds some of it already and needs more."""
        if self._share is None or client is None:
            return await (self._taken(min(size, self._whole)) if grows is None else self._grown(size, grows))
        own = self._clients.get(client) or self._clients.setdefault(client, Budget(self._share))
        self._takes[client] += 1
        taken = 0
        try:
            taken = await own.take(size, grows=grows)
            return await (self._taken(taken) if grows is None else self._grown(taken, grows))
        except BaseException:
            self._gave(taken, client, grows)
            raise

    async def _taken(self, size: int) -> int:
        async with self._turn:
            while self._left < size:
                await self._change()
            self._left -= size
        return size

    async def _grown(self, size: int, grows: object) -> int:
        """Ahead of all that hold nothing yet."""
        while self._left < size and self._overdrawn_by not in {None, grows}:
            await self._change()
        if self._left < size:
            self._overdrawn_by = grows
        self._left -= size
        return size

    async def _change(self) -> None:
        self._returned.clear()
        await self._returned.wait()

    def give(self, size: int, client: Hashable = None, *, grew: object = None) -> None:
        """Return `size`, as one `take` returned it, to the budget. `grew`: who needs no more of it."""
        if self._share is not None and client is not None:
            self._gave(size, client, grew)
        if grew is not None and self._overdrawn_by is grew:
            self._overdrawn_by = None
        self._left += size
        self._returned.set()

    def _gave(self, size: int, client: Hashable, grew: object) -> None:
        self._clients[client].give(size, grew=grew)
        self._takes[client] -= 1
        if not self._takes[client]:
            del self._takes[client], self._clients[client]


class Growing:
    """What one frame holds of a budget while its bytes come: no more than twice of what has come, so that a client that
    only announces a large frame takes nothing from others.

    Where there is nothing left for the rest of a frame, one frame at a time may hold more than there is. Frames that
    wait for each other's bytes would wait for ever otherwise.
    """

    def __init__(self, budget: Budget, client: Hashable) -> None:
        self._budget = budget
        self._client = client
        self._pieces: list[int] = []

    async def hold(self, size: int) -> None:
        taken = await self._budget.take(size, self._client, grows=self if self._pieces else None)
        self._pieces.append(taken)

    def let_go(self) -> None:
        while self._pieces:
            self._budget.give(self._pieces.pop(), self._client, grew=self)


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
    * A client that hangs up takes nothing from the others. An answer for which no client waits any more is given up: a
      client that asks and hangs up again and again would fill the memory with its questions.
    """

    def __init__(self) -> None:
        self._being_made: Final[dict[Hashable, _Making]] = {}
        self._waiting: Final[dict[Hashable, _Making]] = {}

    async def get(self, question: Hashable, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """The result of `make`, possibly of an equal request; each caller must let it go. Raises what `make` raises.
        `make` is cancelled when its last caller is, and then holds nothing."""
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
            if not making.askers and making.made is None:
                making.task.cancel()
                if self._waiting.get(question) is making:
                    del self._waiting[question]
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
