"""The active controller, as the own controller knows it, polled for all requests that wait for another gateway: once
for all of them, because a controller does not report such a change, and hundreds may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from ...host import Controller

LOOK_S: Final = 0.05


class Leading:
    """Of one gateway, on its loop."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waiting: dict[asyncio.Timeout, int | None] = {}

    def is_still(self, active_id: int | None) -> bool:
        """Whether that controller leads, and not this one. None: no controller that this one knows."""
        return not self._controller.is_active and self._controller.active_id == active_id

    @asynccontextmanager
    async def while_still(self, active_id: int | None, until: float) -> AsyncIterator[None]:
        """Raises TimeoutError when that is no longer so, or at `until`, of the loop's clock; the work in the block is
        then cancelled. It is noticed while `watch` runs."""
        async with asyncio.timeout_at(until) as timeout:
            self._waiting[timeout] = active_id
            try:
                yield
            finally:
                self._waiting.pop(timeout, None)

    async def watch(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self._look()

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for timeout, active_id in list(self._waiting.items()):
            if not self.is_still(active_id):
                del self._waiting[timeout]
                if not timeout.expired():
                    timeout.reschedule(now)
