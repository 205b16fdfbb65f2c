"""The addresses of a gateway: one that everybody may begin at, and one per broker id.

A client goes to the address that Metadata gives for a broker, for that broker's settings and log directories too, and
some requests carry no broker id: the address alone tells it. With one address for all, kafkajs and Java's log-dirs
fail.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from controller.wire.calls import Address

Client = Callable[[int | None, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one client, who called the address of this broker id (None: the common one)."""

HANDSHAKE_S: Final = 10.0
"""How long one may take to agree on a cipher."""


class Listeners:
    """Listens at `host`; the common address at `port` (0: any free one), a broker's at `port` + 1 + its id where that
    is free, else at any. `elsewhere`: brokers that clients reach at an address of their own, not through us."""

    def __init__(
        self, host: str, port: int, client: Client, elsewhere: Mapping[int, Address], tls: ssl.SSLContext | None = None
    ) -> None:
        self._host = host
        self._port = port
        self._client = client
        self._elsewhere = dict(elsewhere)
        self._tls = tls
        self._servers: dict[int | None, asyncio.Server] = {}
        self._lock = asyncio.Lock()

    async def open(self) -> Address:
        """The common address. OSError where it is taken."""
        self._servers[None] = await self._listen(None, self._port)
        self._port = self._address(None).port if self._port else 0
        return self._address(None)

    async def close(self) -> None:
        """Nobody can connect any more; who is connected is not touched."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            server.close()

    async def of(self, broker_ids: tuple[int, ...]) -> dict[int, Address]:
        """An address for each id; opened where there was none."""
        async with self._lock:
            for broker in broker_ids:
                if broker not in self._servers and broker not in self._elsewhere:
                    self._servers[broker] = await self._listen_near(broker)
        return {b: self._elsewhere[b] if b in self._elsewhere else self._address(b) for b in broker_ids}

    async def _listen_near(self, broker: int) -> asyncio.Server:
        wanted = self._port + 1 + broker if self._port else 0
        if 0 < wanted <= 65535:
            try:
                return await self._listen(broker, wanted)
            except OSError:
                pass  # somebody else has it; clients are told where it is, so any other will do
        return await self._listen(broker, 0)

    async def _listen(self, broker: int | None, port: int) -> asyncio.Server:
        timeout_s = None if self._tls is None else HANDSHAKE_S

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._client(broker, reader, writer)

        return await asyncio.start_server(client, self._host, port, ssl=self._tls, ssl_handshake_timeout=timeout_s)

    def _address(self, broker: int | None) -> Address:
        return Address(self._host, self._servers[broker].sockets[0].getsockname()[1])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
