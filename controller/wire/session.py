"""One connection, as the service that answers its frames sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import attrs

from controller.wire.answers import Answer
from controller.wire.peers.forwarding import Way
from controller.wire.security.sasl import Login
from controller.wire.security.users import GATEWAY

LOGIN_BYTES: Final = 4096
"""Of a frame of somebody who did not log in yet: tokens of PLAIN and SCRAM are a few hundred bytes. Kafka's 512 KiB
(sasl.server.max.receive.size) are for Kerberos."""


@attrs.define
class Session:
    """One connection (`connection.Client`). `server` makes answers of its frames, which have `frame_bytes` at most.
    `broker_id`: whose address it called. `known`: who it is by its certificate, or where nobody has to say so; `login`:
    how it says so otherwise, and `must_log_in` whether it has to; `has_gateways`: other gateways log in, too. `way`: to
    where its frames are passed on. `address`: where it comes from (`security.refusals.origin`)."""

    server: Callable[[Session, bytes], AbstractAsyncContextManager[Answer]]
    frame_bytes: int
    broker_id: int | None
    known: str
    login: Login | None = None
    must_log_in: bool = False
    has_gateways: bool = False
    address: str = ""
    way: Way = attrs.field(factory=Way)
    software: str = ""
    """The client's library, as ApiVersions named it."""

    @property
    def principal(self) -> str | None:
        """None until it said so."""
        if self.login is not None and self.login.principal is not None:
            return self.login.principal
        return None if self.must_log_in else self.known

    @property
    def is_gateway(self) -> bool:
        """Whether it logged in as another gateway, which takes the secret that only these know."""
        return self.has_gateways and self.login is not None and self.login.principal == f"User:{GATEWAY}"

    @property
    def is_known(self) -> bool:
        return self.principal is not None

    @property
    def request_bytes(self) -> int:
        return self.frame_bytes if self.is_known else min(self.frame_bytes, LOGIN_BYTES)

    def serve(self, frame: bytes) -> AbstractAsyncContextManager[Answer]:
        """The answer to a frame without its size; what it holds is given back when the block is left."""
        return self.server(self, frame)
