"""Logins of clients: SASL, as Kafka carries it.

    handshake   the client names a mechanism
    step        tokens of that mechanism are exchanged, until it succeeds or fails

Tokens are carried in two ways: after SaslHandshake 1 in SaslAuthenticate, after SaslHandshake 0 as separate frames
without a header (`is_raw`). A failed login stays failed: the connection is closed. With a lifetime the client logs in
again before it is over (KIP-368), as the same user by the same mechanism; otherwise its next request ends the
connection.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from scramp import ScramMechanism

from ..answers import Budget
from .users import PART_BYTES_MAX, SCRAM, Users

PLAIN: Final = "PLAIN"
MECHANISMS: Final = (PLAIN, *SCRAM)
UNSUPPORTED_MECHANISM: Final = 33
ILLEGAL_STATE: Final = 34
FAILED: Final = 58
_THREADS: Final = max(1, (os.cpu_count() or 1) // 2)
_HASHING: Final = ThreadPoolExecutor(_THREADS, "kedge-logins")
"""Of logins alone, which so wait for no other work, and leave processors to those who have logged in."""
_KIND: Final = "User:"


class LoginFailed(Exception):
    """`code`: Kafka's error; the message is sent to the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Turns:
    """Of the logins of one loop that are hashed: an address has one thread at a time, so that a flood of guesses from
    one address delays no login from another by more than one of them."""

    def __init__(self) -> None:
        self._threads = Budget(_THREADS, 1)

    async def hashed(self, address: str, work: Callable[[], bool]) -> bool:
        """The result of `work`, from a thread."""
        async with self._threads.share(1, address):
            working = asyncio.get_running_loop().run_in_executor(_HASHING, work)
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                await asyncio.wait([working])  # it cannot be stopped, so the next one from there waits for it
                raise


class Login:
    """Of one connection. `lifetime_ms`: how long it is valid; 0: as long as the connection. `turns`: of all logins
    on the loop; `address`: of the client, which has one of them at a time."""

    def __init__(
        self,
        users: Users,
        lifetime_ms: int = 0,
        clock: Callable[[], float] = time.monotonic,
        turns: Turns | None = None,
        address: str = "",
    ) -> None:
        self._users = users
        self._clock = clock
        self._turns = turns or Turns()
        self._address = address
        self._ends_s = math.inf
        self.is_running = False
        """Whether a mechanism was chosen, and its tokens are not complete."""
        self._mechanism: str | None = None
        self._server: Any = None
        self.lifetime_ms = lifetime_ms
        self.name = ""
        """The name that the client claims, before it is verified."""
        self.principal: str | None = None
        self.is_raw = False

    @property
    def is_removed(self) -> bool:
        return self.principal is not None and not self._users.has(self.principal.removeprefix(_KIND))

    @property
    def is_expired(self) -> bool:
        return self._clock() >= self._ends_s

    @property
    def may_begin(self) -> bool:
        """Whether the client may choose a mechanism now."""
        return self._mechanism is None or (self.principal is not None and self.lifetime_ms > 0)

    def handshake(self, mechanism: str, version: int) -> None:
        """The client chose a mechanism. Raises LoginFailed where it is unsupported, or was chosen before."""
        if not self.may_begin or (self.principal is not None and (mechanism != self._mechanism or version == 0)):
            raise LoginFailed(ILLEGAL_STATE, "a mechanism was chosen before on this connection")
        if mechanism not in MECHANISMS:
            raise LoginFailed(UNSUPPORTED_MECHANISM, f"{mechanism!r:.40} is none of {', '.join(MECHANISMS)}")
        self._mechanism, self._server, self.is_running, self.is_raw = mechanism, None, True, version == 0

    async def step(self, token: bytes) -> bytes:
        """The token for the client. `principal` is set when the login has succeeded. Raises LoginFailed for a wrong
        password, or an invalid token."""
        if not self.is_running:
            raise LoginFailed(ILLEGAL_STATE, "no mechanism was chosen, or the login is over")
        if self._mechanism == PLAIN:
            return await self._plain(token)
        return self._scram(token)

    async def _plain(self, token: bytes) -> bytes:
        """RFC 4616: the identity to act as, the user, the password. Acting as another user is not supported."""
        try:
            _require_short(token.split(b"\0"))
            acts_as, self.name, password = token.decode().split("\0")
        except ValueError:
            raise LoginFailed(FAILED, "Authentication failed: no token of SASL/PLAIN") from None
        if acts_as not in {"", self.name}:
            raise LoginFailed(FAILED, "Authentication failed: Client requested an authorization id that is another's")
        if not await self._turns.hashed(self._address, partial(self._users.is_password, self.name, password)):
            raise LoginFailed(FAILED, "Authentication failed: Invalid username or password")
        return self._done()

    def _scram(self, token: bytes) -> bytes:
        """RFC 5802, two steps. The error does not say which part was wrong."""
        try:
            _require_short(_parts(token))
            if self._server is None:
                self._server = ScramMechanism(self._mechanism).make_server(self._salted)
                self._server.set_client_first(token.decode())
                return bytes(self._server.get_server_first().encode())
            self._server.set_client_final(token.decode())
            last = bytes(self._server.get_server_final().encode())
        except Exception as error:
            raise LoginFailed(
                FAILED,
                "Authentication failed during authentication due to invalid credentials with SASL mechanism "
                f"{self._mechanism}",
            ) from error
        self._done()
        return last

    def _salted(self, name: str) -> tuple[bytes, bytes, bytes, int]:
        assert self._mechanism is not None
        self.name = name
        found = self._users.credential(name, self._mechanism)
        return (found.salt, found.stored_key, found.server_key, found.iterations)

    def _done(self) -> bytes:
        found = f"{_KIND}{self.name}"
        if self.principal not in {None, found}:
            raise LoginFailed(FAILED, "Authentication failed: this connection belongs to another user")
        self.principal, self.is_running, self.is_raw = found, False, False
        if self.lifetime_ms:
            self._ends_s = self._clock() + self.lifetime_ms / 1000
        return b""


def _parts(token: bytes) -> list[bytes]:
    """The parts of a SCRAM token, without `n=` and the like, with an escaped comma or equals sign as one byte."""
    return [part[2:].replace(b"=2C", b",").replace(b"=3D", b"=") for part in token.split(b",")]


def _require_short(parts: list[bytes]) -> None:
    """Raises ValueError for a part that is longer than any valid one."""
    if max(map(len, parts)) > PART_BYTES_MAX:
        raise ValueError(f"a token with more than {PART_BYTES_MAX} bytes in a part of it")
