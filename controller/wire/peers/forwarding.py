"""A client's frames to whoever leads just now, until somebody has answered."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Final

import attrs

from controller.host import Controller
from controller.model.errors import NotController
from controller.wire.calls import Address
from controller.wire.errors import Refused
from controller.wire.peers import Peers
from controller.wire.peers.directory import Directory
from controller.wire.peers.relay import Link, NotActive, NotReached
from stores.base import StoreError

LOOKING_S: Final = 15.0
"""How long somebody is looked for who leads: a failover takes a session's time."""
_PAUSE_S: Final = 0.05
_KEEPING_S: Final = 1.0
log = logging.getLogger(__name__)


@attrs.define
class Way:
    """Of one client: its connection to the gateway of `controller_id`, where there is one."""

    controller_id: int | None = None
    link: Link | None = None

    def close(self) -> None:
        if self.link is not None:
            self.link.close()
        self.link = self.controller_id = None


class Forwarding:
    """Of one gateway, on its loop."""

    def __init__(self, controller: Controller, peers: Peers, tls: ssl.SSLContext | None) -> None:
        self._controller = controller
        self._peers = peers
        self._directory = Directory(peers.store, controller.describe().controller_id)
        self._keeping: asyncio.Task[None] | None = None
        if tls is not None and peers.tls is None:
            raise ValueError("gateways speak TLS: how others are reached is to be said (Peers.tls)")

    # --- being found

    async def open(self, address: Address) -> None:
        """Others find this gateway from now on, also in later sessions of its store. Where the store cannot be reached
        now it is tried again."""
        found = Address(self._peers.host or address.host, address.port)
        await self._publish(found)
        self._keeping = asyncio.create_task(self._keep(found))

    async def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            try:
                await asyncio.to_thread(self._directory.withdraw)
            except StoreError as error:
                log.info("the key of this gateway goes with its session: %r", error)

    async def _keep(self, address: Address) -> None:
        while True:
            await asyncio.sleep(_KEEPING_S)
            if not self._directory.is_published:
                await self._publish(address)

    async def _publish(self, address: Address) -> None:
        try:
            await asyncio.to_thread(self._directory.publish, address)
        except StoreError as error:
            log.warning("other gateways do not find this one, it is tried again: %r", error)

    # --- finding

    async def forward(self, way: Way, frame: bytes, principal: str, broker_id: int | None) -> bytes | None:
        """The answer of whoever leads. NotController where that is this one, by now, or nobody was found in time: in
        both cases nothing was done. Refused where the client is to be hung up on."""
        end = asyncio.get_running_loop().time() + LOOKING_S
        while not self._controller.is_active:
            try:
                link = await self._link(way)
                return await link.ask(frame, principal, broker_id)
            except (NotReached, NotActive):
                way.close()
            except Refused:
                way.close()
                raise
            if asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(_PAUSE_S)
        raise NotController("nobody leads, or nobody who leads is reached")

    async def _link(self, way: Way) -> Link:
        """To whoever leads, as far as the controller knows. NotReached."""
        active = self._controller.active_id
        if way.link is not None and way.controller_id == active and way.link.is_open:
            return way.link
        way.close()
        try:
            address = None if active is None else await asyncio.to_thread(self._directory.find, active)
        except StoreError as error:
            raise NotReached(f"the store does not say where it is: {error!r}") from error
        if address is None:
            raise NotReached(f"controller {active} has no gateway")
        way.link, way.controller_id = await Link.to(address, self._peers.secret, self._peers.tls), active
        return way.link
