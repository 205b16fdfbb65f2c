"""Certificates: ours, and those of clients.

asyncio drops the connection of a handshake that failed, and with it the alert that OpenSSL has written: a client whose
certificate is refused would see the end of the connection alone. Here the failure is held back until the alert has gone
out and the client had a moment to read it.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from os import PathLike
from typing import Any, Final

import attrs

from controller.wire.errors import HandshakeFailed

HANDSHAKE_S: Final = 10.0
"""How long one may take to agree on a cipher."""
ALERT_S: Final = 0.1
"""How long a client that is refused may take to read why, before it is hung up on."""

# Names of attributes as RFC 2253 abbreviates them, and Java with it; others are written as they are.
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
    """PEM files. `certificate` (with its chain) and `key` are ours; with `clients_ca` clients need a certificate that
    it signed, and are known by its subject."""

    certificate: str | PathLike[str]
    key: str | PathLike[str]
    clients_ca: str | PathLike[str] | None = None

    def context(self) -> ssl.SSLContext:
        """OSError (ssl.SSLError is one) for files that are not there, or do not fit each other."""
        made = _Context(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.load_cert_chain(self.certificate, self.key)
        if self.clients_ca is not None:
            made.load_verify_locations(self.clients_ca)
            made.verify_mode = ssl.CERT_REQUIRED
        return made


def as_context(tls: ssl.SSLContext | Tls | None) -> ssl.SSLContext | None:
    return tls.context() if isinstance(tls, Tls) else tls


async def agree(writer: asyncio.StreamWriter, context: ssl.SSLContext, within_s: float) -> None:
    """The client speaks TLS from here on. Nothing of it may have been read before. HandshakeFailed; the client was
    told why by an alert, where the context is one of `Tls`."""
    ending = _Ending(writer.transport)
    _ENDING.set(ending)
    try:
        await writer.start_tls(context, ssl_handshake_timeout=within_s)
    except OSError as error:  # ssl.SSLError and TimeoutError are, too
        raise HandshakeFailed(f"no TLS with a client: {ending.why or error!r:.200}") from error


class _Ending:
    """How the handshake of one client ends. `why`: what was wrong with it."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.why: ssl.SSLError | None = None

    def soon(self, why: ssl.SSLError) -> None:
        """As if the client hung up, unless it does so itself before."""
        self.why = why
        asyncio.get_running_loop().call_later(ALERT_S, self._now)

    def _now(self) -> None:
        protocol = self._transport.get_protocol()
        if not self._transport.is_closing() and isinstance(protocol, asyncio.BufferedProtocol | asyncio.Protocol):
            protocol.eof_received()


_ENDING: ContextVar[_Ending | None] = ContextVar("_ENDING", default=None)
"""Of the client whose handshake runs: asyncio asks a context for it in the context of who began it."""


class _Handshake(ssl.SSLObject):
    ending: _Ending | None
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        """Once failed it never ends by itself: what still comes is dropped."""
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
        raise ssl.SSLWantReadError  # asyncio then writes what is to go out, which is the alert


class _Context(ssl.SSLContext):
    sslobject_class = _Handshake

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **options)
        assert isinstance(made, _Handshake)
        made.ending, made.incoming, made.outgoing = _ENDING.get(), incoming, outgoing
        return made


def principal(certificate: Any) -> str:
    """Of what `SSLObject.getpeercert()` gives: `User:CN=alice,O=x`, the last name first, as RFC 2253 has it."""
    names = (
        "+".join(f"{_SHORT.get(k, k)}={_escaped(v)}" for k, v in each) for each in reversed(certificate["subject"])
    )
    return f"User:{','.join(names)}"


def _escaped(value: str) -> str:
    text = "".join(f"\\{c}" if c in ',+"\\<>;' else c for c in value)
    if text.startswith(("#", " ")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if text.endswith(" ") and len(text) > 1 else text
