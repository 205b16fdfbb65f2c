"""Probes of a server that closed a connection, to say in one line which settings do not fit it.

Servers do so in silence: one that speaks TLS, or requires a certificate or a login.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from typing import Final

from ...wire.calls import Address
from ...wire.link import Link
from ...wire.security.client import HANDSHAKE

_ANSWER_S: Final = 2.0
_ALERT_S: Final = 0.5
_ASKS_FOR_LOGIN: Final = (0, 33)  # the server has that mechanism, or others
_NO_LOGIN: Final = 34  # ILLEGAL_SASL_STATE: the server has no login


def misfit(server: Address, context: ssl.SSLContext | None, mechanism: str | None) -> str:
    """What in --command-config does not fit a server that closed the connection; empty: nothing that can be seen."""
    if context is None and _speaks_tls(server):
        layer = "SASL_SSL" if mechanism else "SSL"
        return f"the server speaks TLS: set security.protocol={layer} in --command-config"
    try:
        if context is not None:
            with _connection(server, context) as connection:
                if refusal := _refusal(connection):
                    return refusal
        with closing(Link(server, _ANSWER_S, context, within=None)) as link:
            answer = link.ask(HANDSHAKE, link.version_of(HANDSHAKE), {"mechanism": mechanism or "PLAIN"})
    except OSError:
        return ""
    plain, has = "PLAINTEXT" if context is None else "SSL", ", ".join(answer.mechanisms)
    if mechanism is None and answer.error_code in _ASKS_FOR_LOGIN:
        return f"the server requires a login: set security.protocol=SASL_{plain} and sasl.mechanism to one of {has}"
    if mechanism is not None and answer.error_code == _NO_LOGIN:
        return f"the server has no login: set security.protocol={plain} in --command-config"
    if mechanism is not None and answer.error_code in _ASKS_FOR_LOGIN and mechanism not in answer.mechanisms:
        return f"sasl.mechanism: expected one of {has}, got {mechanism}"
    return ""


def _speaks_tls(server: Address) -> bool:
    """Whether it answers a TLS handshake, even with a refusal."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is sent to it, so its identity does not matter
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _connection(server, context).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # it wants a certificate of ours, perhaps
    except OSError:
        return False
    return True


def _connection(server: Address, context: ssl.SSLContext) -> socket.socket:
    connection = socket.create_connection((server.host, server.port), timeout=_ANSWER_S)
    try:
        return context.wrap_socket(connection, server_hostname=server.host)
    except BaseException:
        connection.close()
        raise


def _refusal(connection: socket.socket) -> str:
    """In TLS 1.3 a server checks the client certificate after the client's handshake; one that accepts it waits."""
    connection.settimeout(_ALERT_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return ""
    except ssl.SSLError as error:
        if alert := of_certificate(error):
            return alert
    except OSError:
        pass
    return "the server closes the connection after the TLS handshake; it may require ssl.keystore.location"


def of_certificate(error: ssl.SSLError) -> str:
    """What a TLS alert says about the client certificate; empty: nothing."""
    _, is_alert, alert = (error.reason or "").partition("ALERT_")
    if not is_alert or not ("CERTIFICATE" in alert or alert == "UNKNOWN_CA"):
        return ""
    if alert == "CERTIFICATE_REQUIRED":
        return "the server requires a client certificate: set ssl.keystore.location in --command-config"
    return f"the server rejects the certificate of ssl.keystore.location: {alert.replace('_', ' ').lower()}"
