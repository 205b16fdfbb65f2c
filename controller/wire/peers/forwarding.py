"""A client's frames to the active controller's gateway, until one has answered."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Collection, Mapping
from typing import Final

from ....stores.base import StoreError
from ...host import Controller
from ...model.errors import NotController
from ...model.values import Endpoint
from ..calls import Address
from . import Peers
from .directory import AlreadyRunning, Directory
from .leading import Leading
from .links import Links, Route
from .relay import Broken, Link, Lost, NotActive, NotReached, Relayed

LOOKING_S: Final = 15.0
"""How long an active controller is looked for: a failover takes a session's time."""
_PAUSE_S: Final = 0.05
_KEEPING_S: Final = 1.0
log = logging.getLogger(__name__)


class Forwarding:
    """Of one gateway, on its loop."""

    def __init__(self, controller: Controller, peers: Peers, tls: ssl.SSLContext | None) -> None:
        self._controller = controller
        self._peers = peers
        self._directory = Directory(peers.store, controller.describe().controller_id)
        self._leading = Leading(controller)
        self.brokers: Mapping[int, Address] = {}
        """Of this process, where other controllers reach them."""
        self.links = Links()
        """For the frames of clients."""
        self._own: Address | None = None
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        if tls is not None and peers.tls is None:
            raise ValueError("Peers.tls is required, because the gateways use TLS")

    # --- the own address

    async def open(self, address: Address) -> None:
        """Other gateways find this one from now on, also in later sessions of its store. Where the store cannot be
        reached it is tried again. Raises AlreadyRunning where another process has a gateway under the same id; then
        nothing of it runs."""
        self._own = self.published(address)
        if self._peers.is_found:
            await self._publish()
            self._tasks = (asyncio.create_task(self._keep()),)
        self._tasks += (asyncio.create_task(self._leading.watch()),)

    def published(self, address: Address) -> Address:
        """The common address of this gateway, as others find it."""
        return Address(self._peers.host or address.host, address.port)

    async def beside(self, brokers: Mapping[int, Address]) -> None:
        """Other controllers log in at these addresses as gateways. Raises as `open`."""
        self.brokers = {**self.brokers, **brokers}
        if self._own is not None and self._peers.is_found:
            await self._publish()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.links.close()
        if self._tasks and self._peers.is_found:
            try:
                await asyncio.to_thread(self._directory.withdraw)
            except StoreError as error:
                log.info("the key of this gateway will be deleted with its session: %r", error)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_KEEPING_S)
            if not self._directory.is_published:
                try:
                    await self._publish()
                except AlreadyRunning as error:
                    log.warning("other gateways do not find this one; it will try again: %s", error)

    async def _publish(self) -> None:
        assert self._own is not None
        try:
            await asyncio.to_thread(self._directory.publish, self._own, self.brokers)
        except StoreError as error:
            log.warning("other gateways do not find this one; it will try again: %r", error)

    # --- the active controller

    async def endpoints(self, broker_ids: Collection[int]) -> dict[int, tuple[Endpoint, ...]]:
        """The listeners that brokers registered, as far as is known."""
        return await asyncio.to_thread(self._directory.endpoints, broker_ids)

    async def forward(
        self, links: Links, relayed: Relayed, *, reads: bool = False, is_quick: bool = False
    ) -> bytes | None:
        """The answer of the active controller. `reads`: the request changes nothing, so it may be sent twice.
        `is_quick`: as in `Links.lent`. Raises NotController where that is this one by now, or none was found in time or
        without the store: then nothing was done. Raises Refused where the client's connection must be closed."""
        now = asyncio.get_running_loop().time
        over = now() + self._peers.answer_s
        end = now() + LOOKING_S
        was_broken = False
        while not self._controller.is_active:
            asked: int | None = None
            waits_from = now()
            try:
                async with links.lent(relayed.client, over, is_quick=is_quick) as way:
                    end += now() - waits_from  # for other clients, not for a leader
                    link = await self._link(way, min(end, over))
                    asked = way.controller_id
                    return await self._in_time(asked, link, link.ask(relayed), over)
            except (NotReached, NotActive, Lost) as error:
                is_still = asked is None or self._leading.is_still(asked)
                is_again = reads and (not is_still or (isinstance(error, Broken) and not was_broken))
                if isinstance(error, Lost) and not is_again:
                    raise
                was_broken = was_broken or isinstance(error, Broken)
                if not is_still:  # another failover, with its own time limit
                    end = now() + LOOKING_S
            if now() > min(end, over) or self._controller.is_cut_off:
                break
            await asyncio.sleep(_PAUSE_S)
        raise NotController("there is no active controller, or its gateway is not reached")

    async def _in_time(
        self, active_id: int | None, link: Link, answer: Awaitable[bytes | None], over: float
    ) -> bytes | None:
        """The answer, awaited while that controller leads, until `over` at most. Then raises NotReached where it cannot
        have done anything, else Lost."""
        try:
            async with self._leading.while_still(active_id, over):
                return await answer
        except TimeoutError as error:
            if link.is_unsent:
                raise NotReached(f"controller {active_id} did not take the whole request") from error
            raise Lost(f"controller {active_id} no longer leads, or does not answer") from error

    async def _link(self, way: Route, end: float) -> Link:
        """To the active controller, as far as is known. Raises NotReached, also where it stops leading."""
        active = self._controller.active_id
        if way.link is not None and way.controller_id == active and way.link.is_open:
            return way.link
        way.close()
        try:
            async with self._leading.while_still(active, end):
                address = None if active is None else await asyncio.to_thread(self._directory.find, active)
                if address is None:
                    raise NotReached(f"controller {active} has no gateway")
                link = await Link.to(address, self._peers.secret, self._peers.tls)
        except (StoreError, TimeoutError) as error:
            raise NotReached(f"the address of controller {active} was not found in time: {error!r}") from error
        way.link, way.controller_id = link, active
        return link
