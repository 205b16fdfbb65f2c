"""Why a gateway closes a connection. Each kind is counted under its name (`Gateway.counts`)."""

from __future__ import annotations

from typing import ClassVar


class Refused(Exception):
    """The connection is closed; nothing else is touched."""

    kind: ClassVar[str] = "refused"


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
