"""One connection, as seen by the service that answers its frames."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import attrs

from .answers import Answer
from .errors import LoginOver
from .peers.relay import client_of
from .security import ANONYMOUS
from .security.sasl import Login
from .security.users import GATEWAY

LOGIN_BYTES: Final = 4096
"""The limit of a frame before the login: tokens of PLAIN and SCRAM are a few hundred bytes. Kafka's 512 KiB
(sasl.server.max.receive.size) are for Kerberos."""


@attrs.define
class Session:
    """One connection. `server` answers its frames, which have at most `frame_bytes`. `broker_id`:
    the broker whose address it called. `known`: its identity by a certificate, or without a login; `login`: its login,
    and `must_log_in` whether that is required; `has_gateways`: other gateways log in, too. `address`: of the client
    (`security.refusals.origin`)."""

    server: Callable[[Session, bytes], AbstractAsyncContextManager[Answer]]
    frame_bytes: int
    broker_id: int | None
    known: str
    login: Login | None = None
    must_log_in: bool = False
    has_gateways: bool = False
    address: str = ""
    software: str = ""
    """The client's library, as ApiVersions named it."""
    is_busy: bool = False
    """Whether a frame is in work, or the last one, after which the connection is closed."""
    mute_ms: int = 0
    """How long the next request waits after the present answer was sent."""
    used_at: float = 0.0
    """When the last frame was answered, by the monotonic clock."""
    logged_in: Callable[[], None] = lambda: None
    """Called when the client has logged in."""
    goes_on: asyncio.Event | None = None
    """Not set while the broker is paused: it takes no frame, and sends no answer."""

    @property
    def principal(self) -> str | None:
        """The client's identity; None before its login."""
        if self.login is not None and self.login.principal is not None:
            return self.login.principal
        return None if self.must_log_in else self.known

    @property
    def is_gateway(self) -> bool:
        """Whether it logged in as another gateway, which requires the gateways' secret."""
        return self.has_gateways and self.login is not None and self.login.principal == f"User:{GATEWAY}"

    @property
    def is_known(self) -> bool:
        """Whether it has logged in, or need not."""
        return self.principal is not None

    def require_login(self) -> None:
        """Raises LoginOver where its login is no longer valid."""
        if self.is_removed or (self.login is not None and self.login.is_expired):
            raise LoginOver(f"the login of {self.principal} is over")

    @property
    def is_removed(self) -> bool:
        return self.login is not None and self.login.is_removed

    @property
    def holder(self) -> str:
        """Who holds what its requests use: a user, or an address where there are no users."""
        principal = self.principal
        return self.address if principal in {None, ANONYMOUS} else f"{principal}"

    def holder_of(self, frame: bytes) -> str:
        """Who holds what a frame uses that begins like this: the client of another gateway, if that one logged in.
        Otherwise anybody could name more and more clients, and have the share of each. Raises Garbage."""
        return (client_of(frame) if self.is_gateway else None) or self.holder

    @property
    def request_bytes(self) -> int:
        """The size limit of its next frame."""
        return self.frame_bytes if self.is_known else min(self.frame_bytes, LOGIN_BYTES)

    @asynccontextmanager
    async def serve(self, frame: bytes) -> AsyncIterator[Answer]:
        """The answer to a frame without its size; what it holds is given back when the block is left."""
        self.is_busy, before = True, self.principal
        await self._awake()
        async with self.server(self, frame) as answer:
            await self._awake()
            yield answer
        self.is_busy, self.used_at = False, time.monotonic()
        if self.principal != before:
            self.logged_in()

    async def _awake(self) -> None:
        if self.goes_on is not None:
            await self.goes_on.wait()
