"""Why a gateway closes a connection. Each kind is counted under its name (`Gateway.counts`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Refused(Exception):
    """The connection is closed; no other is affected."""

    kind: ClassVar[str] = "refused"
    cuts_off: ClassVar[bool] = False
    """Whether the connection ends at once, without time for the client to read what was written."""
    last: bytes | None = None
    """A frame that is sent before the connection is closed."""
    delay_s: float = 0.0
    """How long that frame and the end are delayed."""


class Garbage(Refused):
    """A frame that is no request."""

    kind = "garbage"


class TooLarge(Refused):
    """A frame, or the lists of a request, beyond the limits."""

    kind = "too_large"


class UnknownApi(Refused):
    """An API, or a version of it, that is not offered: Kafka closes the connection, too."""

    kind = "unknown_api"


class TooSlow(Refused):
    """No frame came, or no answer was taken, for longer than a connection may be idle."""

    kind = "idle"
    cuts_off = True


class FrameTooSlow(Refused):
    """A frame was begun, but was not complete in time."""

    kind = "slow_frame"
    cuts_off = True


class LoginTooSlow(Refused):
    """A client did not log in in time."""

    kind = "slow_login"
    cuts_off = True


class HandshakeFailed(Refused):
    """The TLS handshake failed: no valid certificate, no common cipher, too late, or no TLS at all."""

    kind = "tls_failed"
    cuts_off = True


class HungUp(Refused):
    """The client hung up before its answer."""

    kind = "hung_up"


class NotLoggedIn(Refused):
    """A request of a client that must log in first."""

    kind = "not_logged_in"


class LoginOver(Refused):
    """The client's user was removed, or it did not log in again in time."""

    kind = "login_over"
    cuts_off = True


class LoginRefused(Refused):
    """A wrong password, or an invalid login. `answer`: for the client, None where it cannot be sent."""

    kind = "login_refused"

    def __init__(self, message: str, answer: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answer = answer
