"""Certificates: the gateway's, and those of clients.

asyncio drops the connection of a failed handshake, and with it the alert that OpenSSL has written: a client with a
refused certificate would only see the end of the connection. Here the failure is held back until the alert is sent and
the client had a moment to read it.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from os import PathLike
from typing import Any, Final

import attrs

from ....stores.reading import require_private
from ..errors import HandshakeFailed

HANDSHAKE_S: Final = 10.0
"""The time limit of a handshake."""
ALERT_S: Final = 0.1
"""How long a refused client may read the alert, before its connection is closed."""

# Names of attributes as RFC 2253 abbreviates them, and Java with it; others are not abbreviated.
_SHORT: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


@attrs.frozen
class Tls:
    """PEM files. `certificate` (with its chain) and `key` are the gateway's; with `clients_ca` clients need a
    certificate that it signed, and are identified by its subject."""

    certificate: str | PathLike[str]
    key: str | PathLike[str]
    clients_ca: str | PathLike[str] | None = None

    def context(self) -> ssl.SSLContext:
        """Raises OSError (ssl.SSLError is one) for files that are missing, or do not belong together, and for a key
        that other users may read or change."""
        made = _Context(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.load_cert_chain(self.certificate, self.key)
        require_private(self.key)
        if self.clients_ca is not None:
            made.load_verify_locations(self.clients_ca)
            made.verify_mode = ssl.CERT_REQUIRED
        return made


def as_context(tls: ssl.SSLContext | Tls | None) -> ssl.SSLContext | None:
    return tls.context() if isinstance(tls, Tls) else tls


async def agree(writer: asyncio.StreamWriter, context: ssl.SSLContext, within_s: float) -> None:
    """Start TLS with the client, before anything was read from it. Raises HandshakeFailed; the client got the reason by
    an alert, where the context is one of `Tls`."""
    ending = _Ending(writer.transport)
    _ENDING.set(ending)
    try:
        await writer.start_tls(context, ssl_handshake_timeout=within_s)
    except OSError as error:  # ssl.SSLError and TimeoutError are, too
        raise HandshakeFailed(f"the TLS handshake with a client failed: {ending.why or error!r:.200}") from error


class _Ending:
    """The end of one client's handshake. `why`: the error, if it failed."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.why: ssl.SSLError | None = None

    def soon(self, why: ssl.SSLError) -> None:
        """End it as if the client hung up, unless the client does so before."""
        self.why = why
        asyncio.get_running_loop().call_later(ALERT_S, self._now)

    def _now(self) -> None:
        protocol = self._transport.get_protocol()
        if not self._transport.is_closing() and isinstance(protocol, asyncio.BufferedProtocol | asyncio.Protocol):
            protocol.eof_received()


_ENDING: ContextVar[_Ending | None] = ContextVar("_ENDING", default=None)
"""Of the client whose handshake runs: asyncio creates its SSL object in the context of the task that began it."""


class _Handshake(ssl.SSLObject):
    ending: _Ending | None
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        """After a failure it never ends by itself: further input is dropped."""
        if self.ending is None or self.ending.why is None:
            try:
                return super().do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                if self.ending is None or not self.outgoing.pending:
                    raise
                self.ending.soon(error)
        self.incoming.read()
        raise ssl.SSLWantReadError  # asyncio then writes the pending output, which is the alert


class _Context(ssl.SSLContext):
    sslobject_class = _Handshake

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **options)
        assert isinstance(made, _Handshake)
        made.ending, made.incoming, made.outgoing = _ENDING.get(), incoming, outgoing
        return made


def principal(certificate: Any) -> str:
    """The subject from `SSLObject.getpeercert()`: `User:CN=alice,O=x`, the last name first, as in RFC 2253."""
    names = (
        "+".join(f"{_SHORT.get(k, k)}={_escaped(v)}" for k, v in each) for each in reversed(certificate["subject"])
    )
    return f"User:{','.join(names)}"


def _escaped(value: str) -> str:
    text = "".join(f"\\{c}" if c in ',+"\\<>;' else c for c in value)
    if text.startswith(("#", " ")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if text.endswith(" ") and len(text) > 1 else text
