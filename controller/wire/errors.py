"""Why a gateway closes a connection. Each kind is counted under its name (`Gateway.counts`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Refused(Exception):
    """The connection is closed; nothing else is touched."""

    kind: ClassVar[str] = "refused"
    cuts_off: ClassVar[bool] = False
    """Whether the client gets no time to take what was written to it."""
    last: bytes | None = None
    """A frame that the client gets first."""
    delay_s: float = 0.0
    """How long it waits for that, and for the end."""


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
    """Nothing came, or was taken, for longer than a connection may stand idle."""

    kind = "idle"
    cuts_off = True


class FrameTooSlow(Refused):
    """A frame was begun, and not all of it came in time."""

    kind = "slow_frame"
    cuts_off = True


class LoginTooSlow(Refused):
    """A client that has to say who it is did not in time."""

    kind = "slow_login"
    cuts_off = True


class HandshakeFailed(Refused):
    """A client that did not agree with us on TLS: no certificate that is good, no cipher, not in time, or no TLS."""

    kind = "tls_failed"
    cuts_off = True


class HungUp(Refused):
    """The client did not wait for its answer."""

    kind = "hung_up"


class NotLoggedIn(Refused):
    """A request of a client that has to say first who it is."""

    kind = "not_logged_in"


class LoginRefused(Refused):
    """A wrong password, or what is no login. `answer`: what the client is told, None where there is no way to."""

    kind = "login_refused"

    def __init__(self, message: str, answer: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answer = answer
