"""Connections to the gateway of the active controller, which the clients of a stand-by use in turn.

* A connection is for one frame at a time, and returned when the answer is there. One whose frame was not answered is
  closed at once: a late answer would be taken for that of the next frame.
* There are `LINKS_MAX` at most for requests that may wait for the cluster, as many for all others, and a quarter of
  them for one client: however many clients a stand-by has, they take few connections of the active gateway from its
  own clients, and no heartbeat waits for a deletion.
* One that is idle for `IDLE_S` is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import attrs

from ..answers import Budget
from ..limits import SHARES
from .relay import Link, NotReached

LINKS_MAX: Final = 100
IDLE_S: Final = 5.0


@attrs.define(eq=False)
class Route:
    """A connection to the gateway of `controller_id`, where there is one. `idle`: closes it unless it is used."""

    controller_id: int | None = None
    link: Link | None = None
    idle: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self.link is not None:
            self.link.close()
        self.link = self.controller_id = None


class Links:
    """Of one gateway, on its loop."""

    def __init__(self) -> None:
        self._turns = {is_quick: Budget(LINKS_MAX, LINKS_MAX // SHARES) for is_quick in (False, True)}
        self._idle: list[Route] = []
        self._is_closed = False

    @asynccontextmanager
    async def lent(self, client: str, until: float, *, is_quick: bool = False) -> AsyncIterator[Route]:
        """A connection for one frame of this client; an error in the block closes it. `is_quick`: its request does not
        wait for the cluster. Raises NotReached where none is returned before `until`, of the loop's clock."""
        turns = self._turns[is_quick]
        try:
            async with asyncio.timeout_at(until):
                taken = await turns.take(1, client)
        except TimeoutError as error:
            raise NotReached("all connections to the active controller are in use") from error
        way = self._idle.pop() if self._idle else Route()
        if way.idle is not None:
            way.idle.cancel()
        try:
            yield way
        except BaseException:
            way.close()
            raise
        finally:
            turns.give(taken, client)
            self._returned(way)

    def close(self) -> None:
        """Those in use are closed when they are returned."""
        self._is_closed = True
        for way in list(self._idle):
            self._cut(way)

    def _returned(self, way: Route) -> None:
        if self._is_closed:
            way.close()
        elif way.link is not None:
            way.idle = asyncio.get_running_loop().call_later(IDLE_S, self._cut, way)
            self._idle.append(way)

    def _cut(self, way: Route) -> None:
        if way.idle is not None:
            way.idle.cancel()
        self._idle.remove(way)
        way.close()
