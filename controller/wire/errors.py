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

    def __init_subclass__(cls, *, kind: str | None = None, cuts_off: bool = False) -> None:
        """`kind` None: that of the class above."""
        if kind is not None:
            cls.kind, cls.cuts_off = kind, cuts_off


class Garbage(Refused, kind="garbage"):
    """A frame that is no request."""


class TooLarge(Refused, kind="too_large"):
    """A frame, or the lists of a request, beyond the limits."""


class UnknownApi(Refused, kind="unknown_api"):
    """An API, or a version of it, that is not offered: Kafka closes the connection, too."""


class TooSlow(Refused, kind="idle", cuts_off=True):
    """No frame came, or no answer was taken, for longer than a connection may be idle."""


class FrameTooSlow(Refused, kind="slow_frame", cuts_off=True):
    """A frame was begun, but was not complete in time."""


class LoginTooSlow(Refused, kind="slow_login", cuts_off=True):
    """A client did not log in in time."""


class HandshakeFailed(Refused, kind="tls_failed", cuts_off=True):
    """The TLS handshake failed: no valid certificate, no common cipher, too late, or no TLS at all."""


class HungUp(Refused, kind="hung_up"):
    """The client hung up before its answer."""


class NotLoggedIn(Refused, kind="not_logged_in"):
    """A request of a client that must log in first."""


class LoginOver(Refused, kind="login_over", cuts_off=True):
    """The client's user was removed, or it did not log in again in time."""


class DroppedByOrder(Refused, kind="dropped_by_order", cuts_off=True):
    """A test ordered that the client gets no answer (`kedge.controller.wire.faults`)."""


class LoginRefused(Refused, kind="login_refused"):
    """A wrong password, or an invalid login. `answer`: for the client, None where it cannot be sent."""

    def __init__(self, message: str, answer: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answer = answer
