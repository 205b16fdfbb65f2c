"""Certificates: ours, and those of clients."""

from __future__ import annotations

import asyncio
import ssl
from os import PathLike
from typing import Any, Final

import attrs

from controller.wire.errors import HandshakeFailed

HANDSHAKE_S: Final = 10.0
"""How long one may take to agree on a cipher."""

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
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.load_cert_chain(self.certificate, self.key)
        if self.clients_ca is not None:
            made.load_verify_locations(self.clients_ca)
            made.verify_mode = ssl.CERT_REQUIRED
        return made


def as_context(tls: ssl.SSLContext | Tls | None) -> ssl.SSLContext | None:
    return tls.context() if isinstance(tls, Tls) else tls


async def agree(writer: asyncio.StreamWriter, context: ssl.SSLContext, within_s: float) -> None:
    """The client speaks TLS from here on. Nothing of it may have been read before. HandshakeFailed."""
    try:
        await writer.start_tls(context, ssl_handshake_timeout=within_s)
    except OSError as error:  # ssl.SSLError and TimeoutError are, too
        raise HandshakeFailed(f"no TLS with a client: {error!r:.200}") from error


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
