"""The addresses of a gateway: a common one, and one per broker id.

A client uses the address of a broker in Metadata also for that broker's settings and log directories, and some of these
requests have no broker id: only the address identifies the broker. With one address for all, kafkajs and Java's
log-dirs fail.

All listen at one address of one family, because clients get one port: for a name with several, an IPv4 one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ..model.values import Endpoint
from .calls import Address

Client = Callable[[int | None, asyncio.StreamReader, asyncio.StreamWriter], None]
"""Called with a new client, which called the address of this broker id (None: the common one), before any input is
read."""

OWN_LISTENER: Final = "KEDGE"
"""The listener of simulated brokers, by which gateways tell clients where these are. No remote broker can register it:
its address would get the logins of clients."""
KEPT_S: Final = 600.0
"""How long the address of an unregistered broker stays: it may come back, and clients remember addresses."""
GONE_MAX: Final = 100
"""How many of these addresses stay: each is a socket, and brokers can register under ever new ids."""

_TURNS: Final = 3  # of the loop, from accepting a connection to its callback: one creates the transport, one calls back

_ZERO: Final = re.compile(r"(0x)?0+(\.(0x)?0+){0,3}")  # all forms that resolvers accept
_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?")


class Listeners:
    """Listens at `host`; the common address at `port` (0: any free one), a broker's at `port` + 1 + its id where that
    is free, else at any. `advertised`: the host for clients, if it is not `host`. Raises ValueError where clients could
    not call it.
    `broker_listeners`: brokers that registered a listener of one of these names are reached at it, the first name
    first."""

    def __init__(
        self,
        host: str,
        port: int,
        client: Client,
        *,
        advertised: str | None = None,
        broker_listeners: Sequence[str] = (),
        has_controller_node: bool = False,
        kept_s: float = KEPT_S,
    ) -> None:
        self.host_for_clients = callable_host(host if advertised is None else advertised)
        self._host = host
        self._port = port
        self._broker_listeners = tuple(broker_listeners)
        self._asked_for: set[int] = set()
        self._client = client
        self._has_controller_node = has_controller_node
        self._kept_s = kept_s
        self._servers: dict[int | None, asyncio.Server] = {}
        self._missed_at: dict[int, float] = {}
        self._refused: dict[int, socket.socket] = {}  # bound to the port of a broker, and not listening
        self._lock = asyncio.Lock()
        self._is_over = False

    async def open(self) -> Address:
        """The common address. Raises OSError where it is taken, or the host is no name of this machine. May be called
        again after an error, and after `close`."""
        self._host = await _one_address(self._host)
        self._servers[None] = await self._listen(None, self._port)
        self._port = self._address(None).port if self._port else 0
        self._is_over = False
        return self._address(None)

    @property
    def controller(self) -> Address | None:
        """The common address, where clients see the controller as a node of its own."""
        return self._address(None) if self._has_controller_node else None

    async def close(self) -> None:
        """No client can connect any more; existing connections are not affected."""
        async with self._lock:
            self._is_over = True
            servers, self._servers = self._servers, {}
            self._missed_at.clear()
            for held in self._refused.values():
                held.close()
            self._refused.clear()
        await _end(list(servers.values()))

    async def of(
        self, broker_ids: tuple[int, ...], endpoints: Mapping[int, tuple[Endpoint, ...]] | None = None
    ) -> dict[int, Address]:
        """An address for each of all registered ids; opened where there was none, and closed for ids that have not been
        registered for long. `endpoints`: the listeners that the brokers registered."""
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
        """An address for each of these ids; other brokers are not affected. Raises ConnectionAbortedError once it is
        closed, OSError where one cannot be opened."""
        async with self._lock:
            if self._is_over:
                raise ConnectionAbortedError("no more addresses are opened, since the gateway is closed")
            missing = [b for b in broker_ids if b not in self._servers and b not in self._refused]
            # At once: each waits for a pass of the loop, which is long while many clients send. And also if the caller
            # is cancelled: a socket that listens must be known.
            opened = await asyncio.shield(asyncio.gather(*map(self._open_for, missing), return_exceptions=True))
            if (error := next((each for each in opened if each is not None), None)) is not None:
                raise error
            return {b: self._address(b) for b in broker_ids}

    async def keep(self, broker_ids: tuple[int, ...]) -> dict[int, Address]:
        """As `some`, for brokers that register this address themselves: it stays open even while they are not."""
        self._asked_for.update(broker_ids)
        return await self.some(broker_ids)

    async def refuse(self, broker: int) -> None:
        """Clients cannot connect to the address of this broker until `accept`. No other program gets it meanwhile."""
        await self.some((broker,))
        async with self._lock:
            if broker in self._servers:
                port = self._address(broker).port
                server = self._servers.pop(broker)
                self._missed_at.pop(broker, None)
                held = socket.socket(server.sockets[0].family)
                await _end([server])
                # For its connections that just ended; afterwards no other program may have the port, either.
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held.bind((self._host, port))
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
                self._refused[broker] = held

    async def accept(self, broker: int) -> None:
        """Clients can connect again. Nothing happens where they can."""
        async with self._lock:
            held = self._refused.get(broker)
            if held is not None:
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._servers[broker] = await asyncio.start_server(self._client_of(broker), sock=held)
                del self._refused[broker]

    async def _close_gone(self, registered: tuple[int, ...]) -> None:
        """Existing connections stay."""
        gone: list[asyncio.Server] = []
        now, present = asyncio.get_running_loop().time(), self._asked_for.union(registered)
        for broker in [each for each in self._servers if each is not None]:
            if broker in present:
                self._missed_at.pop(broker, None)
            else:
                self._missed_at.setdefault(broker, now)
        too_many = len(self._missed_at) - GONE_MAX
        for place, (broker, missed_at) in enumerate(list(self._missed_at.items())):  # the longest gone first
            if place < too_many or now - missed_at >= self._kept_s:
                del self._missed_at[broker]
                gone.append(self._servers.pop(broker))
        if gone:
            await _end(gone)

    async def _open_for(self, broker: int) -> None:
        server = await self._listen_near(broker)
        if self._is_over or broker in self._servers:  # its caller was cancelled, and did not wait for this
            server.close()
        else:
            self._servers[broker] = server

    async def _listen_near(self, broker: int) -> asyncio.Server:
        wanted = self._port + 1 + broker if self._port else 0
        if 0 < wanted <= 65535:
            try:
                return await self._listen(broker, wanted)
            except OSError:
                pass  # the port is taken; clients learn the address, so any other port will do
        return await self._listen(broker, 0)

    async def _listen(self, broker: int | None, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._client_of(broker), self._host, port)

    def _client_of(self, broker: int | None) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._client(broker, reader, writer)

        return client

    def _address(self, broker: int | None) -> Address:
        held = self._refused.get(broker) if broker is not None else None
        at = self._servers[broker].sockets[0] if held is None else held
        return Address(self.host_for_clients, at.getsockname()[1])


async def _end(servers: Sequence[asyncio.Server]) -> None:
    """No client is accepted any more, and the callbacks of accepted ones have run. Without the wait asyncio (to 3.11 at
    least) would neither call back nor close a connection that was just accepted, so its client would wait for ever."""
    for listening in [each for server in servers for each in server.sockets]:
        with suppress(RuntimeError):  # other loops than selectors' have no readers, and not that gap
            asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    for server in servers:
        server.close()


async def _one_address(host: str) -> str:
    """One address for a name; an IPv4 one if there are both, because sockets of two families may get two ports."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])
    return host


def callable_host(host: str) -> str:
    """The host, if clients can call it. Raises ValueError for all addresses of the machine, and for what is no host."""
    if is_every_address(host):
        raise ValueError(
            f"{host!r} is every address of this machine, so the host for clients must be given (advertised)"
        )
    if _NAME.fullmatch(host) is None:
        try:
            ipaddress.IPv6Address(host if host.isprintable() else "")  # a zone may contain anything
        except ValueError:
            raise ValueError(f"{host!r:.80} is no host that clients can call") from None
    return host


def is_every_address(host: str) -> bool:
    """Whether a socket that listens there accepts at all addresses of the machine."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return not host or _ZERO.fullmatch(host) is not None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_unspecified


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
