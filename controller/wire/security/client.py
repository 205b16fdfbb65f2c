"""Logins at other servers: SASL, from the client's side."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Final

import attrs
from scramp import ScramClient
from scramp.utils import ScramException

from ..messages import messages_of
from ..protocol import Messages
from .sasl import MECHANISMS, PLAIN
from .users import ITERATIONS_MAX, ITERATIONS_MIN

HANDSHAKE: Final = messages_of("SaslHandshake", range(1, 2))  # 0: tokens without a header
AUTHENTICATE: Final = messages_of("SaslAuthenticate", range(3))


class NotLetIn(Exception):
    """The other side refuses the login, or does not prove that it knows the password."""


@attrs.frozen
class Credentials:
    """A user for logins. Raises ValueError for a mechanism other than PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512."""

    name: str
    password: str = attrs.field(repr=False)
    mechanism: str = attrs.field(default="SCRAM-SHA-512", validator=attrs.validators.in_(MECHANISMS))


def logging_in(credentials: Credentials) -> Generator[tuple[Messages, Mapping[str, Any]], Any, None]:
    """The requests to send, one after the other; each answer is passed to `send`. Raises NotLetIn."""
    mechanism = credentials.mechanism
    answer = yield HANDSHAKE, {"mechanism": mechanism}
    if answer.error_code:
        raise NotLetIn(f"{mechanism} is none of {', '.join(answer.mechanisms) or 'no mechanisms':.200}")
    if mechanism == PLAIN:
        token = f"\0{credentials.name}\0{credentials.password}"
        _taken((yield AUTHENTICATE, {"auth_bytes": token.encode()}))
        return
    try:
        scram = ScramClient([mechanism], credentials.name, credentials.password)
        first = _taken((yield AUTHENTICATE, {"auth_bytes": scram.get_client_first().encode()}))
        scram.set_server_first(first)
        _require_iterations(int(scram.iterations))
        last = _taken((yield AUTHENTICATE, {"auth_bytes": scram.get_client_final().encode()}))
        scram.set_server_final(last)
    except (ScramException, ValueError) as error:  # also of what is no base64, number or UTF-8
        raise NotLetIn(f"the login by {mechanism} failed: {error!r:.200}") from error


def _require_iterations(count: int) -> None:
    """The other side chooses them before it has proved anything: with many it would choose the work, and with few it
    could find the password from the proof that it gets."""
    if not ITERATIONS_MIN <= count <= ITERATIONS_MAX:
        raise NotLetIn(f"{count} iterations are required, {ITERATIONS_MIN} to {ITERATIONS_MAX} are supported")


def _taken(answer: Any) -> str:
    if answer.error_code:
        raise NotLetIn(f"error {answer.error_code}: {answer.error_message or 'without a reason':.200}")
    return bytes(answer.auth_bytes).decode()
