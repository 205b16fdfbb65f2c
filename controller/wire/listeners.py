"""The addresses of a gateway: one that everybody may begin at, and one per broker id.

A client goes to the address that Metadata gives for a broker, for that broker's settings and log directories too, and
some requests carry no broker id: the address alone tells it. With one address for all, kafkajs and Java's log-dirs
fail.

All listen at one address of one family, as clients are told one port: of a name with several, an IPv4 one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from controller.model.values import Endpoint
from controller.wire.calls import Address

Client = Callable[[int | None, asyncio.StreamReader, asyncio.StreamWriter], None]
"""Takes one client, who called the address of this broker id (None: the common one), before anything of it is read."""

KEPT_S: Final = 600.0
"""How long the address of a broker stays that is not registered: it may come back, and clients remember addresses."""

_TURNS: Final = 3  # of the loop, from accepting somebody to telling of him: one makes the transport, one more tells

_ZERO: Final = re.compile(r"(0x)?0+(\.(0x)?0+){0,3}")  # as resolvers read it, too
_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?")


class Listeners:
    """Listens at `host`; the common address at `port` (0: any free one), a broker's at `port` + 1 + its id where that
    is free, else at any. `elsewhere`: brokers that clients reach at an address of their own, not through us.
    `advertised`: the host that clients are told, where that is not `host`. ValueError where it would be none that can
    be called. `broker_listeners`: brokers that registered a listener of one of these names are told at that, of
    several at the first one of these."""

    def __init__(
        self,
        host: str,
        port: int,
        client: Client,
        elsewhere: Mapping[int, Address],
        *,
        advertised: str | None = None,
        broker_listeners: Sequence[str] = (),
        kept_s: float = KEPT_S,
    ) -> None:
        self._told = callable_host(host if advertised is None else advertised)
        self._host = host
        self._port = port
        self._broker_listeners = tuple(broker_listeners)
        self._asked_for: set[int] = set()
        self._client = client
        self._elsewhere = dict(elsewhere)
        self._kept_s = kept_s
        self._servers: dict[int | None, asyncio.Server] = {}
        self._missed_at: dict[int, float] = {}
        self._lock = asyncio.Lock()
        self._is_over = False

    async def open(self) -> Address:
        """The common address. OSError where it is taken, or the host is no name of this machine."""
        self._host = await _one_address(self._host)
        self._servers[None] = await self._listen(None, self._port)
        self._port = self._address(None).port if self._port else 0
        return self._address(None)

    async def close(self) -> None:
        """Nobody can connect any more; who is connected is not touched."""
        async with self._lock:
            self._is_over = True
            servers, self._servers = self._servers, {}
        await _end(list(servers.values()))

    async def of(
        self, broker_ids: tuple[int, ...], endpoints: Mapping[int, tuple[Endpoint, ...]] | None = None
    ) -> dict[int, Address]:
        """An address for each id, which are all that are registered; opened where there was none, and closed of those
        that have not been registered for long. `endpoints`: what they registered that they listen at."""
        own = {
            b: Address(e.host, e.port)
            for name in reversed(self._broker_listeners)
            for b, given in (endpoints or {}).items()
            for e in given
            if e.listener == name
        }
        async with self._lock:
            await self._close_gone(broker_ids)
        return own | await self.some(tuple(b for b in broker_ids if b not in own))

    async def some(self, broker_ids: tuple[int, ...]) -> dict[int, Address]:
        """An address for each id, of which there may be more. ConnectionAbortedError once it is closed."""
        async with self._lock:
            if self._is_over:
                raise ConnectionAbortedError("no more addresses are opened, since the gateway is closed")
            for broker in broker_ids:
                if broker not in self._servers and broker not in self._elsewhere:
                    self._servers[broker] = await self._listen_near(broker)
            return {b: self._elsewhere[b] if b in self._elsewhere else self._address(b) for b in broker_ids}

    async def keep(self, broker_ids: tuple[int, ...]) -> dict[int, Address]:
        """As `some`, of brokers that register themselves that they listen there: it stays, registered or not."""
        self._asked_for.update(broker_ids)
        return await self.some(broker_ids)

    async def _close_gone(self, registered: tuple[int, ...]) -> None:
        """Who is connected there stays so."""
        gone: list[asyncio.Server] = []
        now, present = asyncio.get_running_loop().time(), self._asked_for.union(registered)
        for broker in [each for each in self._servers if each is not None]:
            if broker in present:
                self._missed_at.pop(broker, None)
            elif now - self._missed_at.setdefault(broker, now) >= self._kept_s:
                del self._missed_at[broker]
                gone.append(self._servers.pop(broker))
        if gone:
            await _end(gone)

    async def _listen_near(self, broker: int) -> asyncio.Server:
        wanted = self._port + 1 + broker if self._port else 0
        if 0 < wanted <= 65535:
            try:
                return await self._listen(broker, wanted)
            except OSError:
                pass  # somebody else has it; clients are told where it is, so any other will do
        return await self._listen(broker, 0)

    async def _listen(self, broker: int | None, port: int) -> asyncio.Server:
        def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._client(broker, reader, writer)

        return await asyncio.start_server(client, self._host, port)

    def _address(self, broker: int | None) -> Address:
        return Address(self._told, self._servers[broker].sockets[0].getsockname()[1])


async def _end(servers: Sequence[asyncio.Server]) -> None:
    """Nobody is accepted any more, and whoever was is told of. Of one who was accepted when a server is closed asyncio
    (to 3.11 at least) tells nobody, nor does it hang up on him: he would wait for ever."""
    for listening in [each for server in servers for each in server.sockets]:
        with suppress(RuntimeError):  # other loops than selectors' have no readers, and not that gap
            asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    for server in servers:
        server.close()


async def _one_address(host: str) -> str:
    """Of a name with addresses of both families an IPv4 one: sockets of two families may get two ports."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])
    return host


def callable_host(host: str) -> str:
    """The host, which clients can be told. ValueError for all addresses of the machine, and what is no host."""
    if is_every_address(host):
        raise ValueError(
            f"{host!r} is every address of this machine: the one that clients call is asked for (advertised)"
        )
    if _NAME.fullmatch(host) is None:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"{host!r:.80} is no host that clients can call") from None
    return host


def is_every_address(host: str) -> bool:
    """Whether one who listens there listens at all addresses of the machine."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return not host or _ZERO.fullmatch(host) is not None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_unspecified


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
