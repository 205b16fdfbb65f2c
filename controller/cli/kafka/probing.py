"""Probes of servers: before kafka-python connects, and after it failed, to say why in one line.

kafka-python reports most failures as "Unable to bootstrap" after its whole timeout, and leaves its sockets open.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from ...model import numerals
from .errors import NotConnected

_PAUSE_S: Final = 0.1
_ANSWER_S: Final = 2.0
_ALERT_S: Final = 0.5
_SASL_HANDSHAKE: Final = 17
_DESCRIBE_CLUSTER: Final = 60
_ANSWER_MIN: Final = 10
_ANSWER_MAX: Final = 10_000
_ASKS_FOR_LOGIN: Final = (0, 33)  # the server has that mechanism, or others
_NO_LOGIN: Final = 34  # ILLEGAL_SASL_STATE: the server has no login


def await_server(servers: Sequence[str], context: ssl.SSLContext | None, deadline_s: float) -> None:
    """Waits until one of them accepts connections. Raises NotConnected at the deadline, or when TLS cannot work."""
    while True:
        problems = [problem for server in servers if (problem := _problem(server, context, deadline_s))]
        if len(problems) < len(servers):
            return
        if time.monotonic() >= deadline_s:
            raise NotConnected("; ".join(problems))
        time.sleep(_PAUSE_S)


def misfit(server: str, context: ssl.SSLContext | None, mechanism: str | None) -> str:
    """What in --command-config does not fit a server that closed the connection; empty: nothing that can be seen."""
    layer = "SASL_{}" if mechanism else "{}"
    if context is None and _speaks_tls(server):
        return f"the server speaks TLS: set security.protocol={layer.format('SSL')} in --command-config"
    try:
        with _connection(server, context) as connection:
            if context is not None and (refusal := _refusal(connection)):
                return refusal
        with _connection(server, context) as connection:
            code, offered = _shake_hands(connection, mechanism or "PLAIN")
        is_let_in = mechanism is None and code in _ASKS_FOR_LOGIN and _answers_strangers(server, context)
    except (OSError, UnicodeError, ValueError, struct.error):
        return ""
    plain = "PLAINTEXT" if context is None else "SSL"
    if is_let_in:  # the mechanisms are for gateways of other controllers
        return ""
    if mechanism is None and code in _ASKS_FOR_LOGIN:
        has = ", ".join(offered)
        return f"the server requires a login: set security.protocol=SASL_{plain} and sasl.mechanism to one of {has}"
    if mechanism is not None and code == _NO_LOGIN:
        return f"the server has no login: set security.protocol={plain} in --command-config"
    if mechanism is not None and code in _ASKS_FOR_LOGIN and mechanism not in offered:
        return f"sasl.mechanism: expected one of {', '.join(offered)}, got {mechanism}"
    return ""


def _answers_strangers(server: str, context: ssl.SSLContext | None) -> bool:
    """Whether a client without a login gets an answer, or has to wait for it. A server that requires a login closes the
    connection; a gateway of Kedge may offer mechanisms without requiring them, for gateways of other controllers."""
    try:
        with _connection(server, context) as connection:
            _asked(connection, struct.pack(">hhih", _DESCRIBE_CLUSTER, 0, 1, -1) + bytes(3))
    except (TimeoutError, ValueError):  # no answer yet, or a long one
        return True
    except (OSError, struct.error):
        return False
    return True


def _speaks_tls(server: str) -> bool:
    """Whether it answers a TLS handshake, even with a refusal."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is sent to it, so its identity does not matter
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _connection(server, context).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # it wants a certificate of ours, perhaps
    except (OSError, UnicodeError, ValueError):
        return False
    return True


def _connection(server: str, context: ssl.SSLContext | None) -> socket.socket:
    host, port = _host_and_port(server)
    connection = socket.create_connection((host, port), timeout=_ANSWER_S)
    try:
        return connection if context is None else context.wrap_socket(connection, server_hostname=host)
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
        if alert := _of_certificate(error):
            return alert
    except OSError:
        pass
    return "the server closes the connection after the TLS handshake; it may require ssl.keystore.location"


def _of_certificate(error: ssl.SSLError) -> str:
    """What a TLS alert says about the client certificate; empty: nothing."""
    _, is_alert, alert = (error.reason or "").partition("ALERT_")
    if not is_alert or not ("CERTIFICATE" in alert or alert == "UNKNOWN_CA"):
        return ""
    if alert == "CERTIFICATE_REQUIRED":
        return "the server requires a client certificate: set ssl.keystore.location in --command-config"
    return f"the server rejects the certificate of ssl.keystore.location: {alert.replace('_', ' ').lower()}"


def _shake_hands(connection: socket.socket, mechanism: str) -> tuple[int, list[str]]:
    """SaslHandshake, version 1: Kafka's code, and the mechanisms that it has."""
    name = mechanism.encode()
    header = struct.pack(">hhih", _SASL_HANDSHAKE, 1, 1, -1)
    answer = _asked(connection, header + struct.pack(">h", len(name)) + name)
    _, code, count = struct.unpack_from(">ihi", answer)
    offered, at = [], 10
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, at)
        offered.append(answer[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return code, offered


def _asked(connection: socket.socket, frame: bytes) -> bytes:
    """The answer to a request, from its correlation id on. ValueError: it is none of Kafka's."""
    connection.sendall(struct.pack(">i", len(frame)) + frame)
    with connection.makefile("rb") as answered:
        (size,) = struct.unpack(">i", answered.read(4))
        if not _ANSWER_MIN <= size <= _ANSWER_MAX:
            raise ValueError(f"no answer of Kafka's: {size} bytes")
        return answered.read(size)


def _host_and_port(server: str) -> tuple[str, int]:
    host, _, given = server.rpartition(":")
    port = numerals.whole(given, 1, 65_535)
    assert port is not None  # checked with the option
    return host.strip("[]"), port


def _problem(server: str, context: ssl.SSLContext | None, deadline_s: float) -> str:
    """Empty: it is there."""
    host, port = _host_and_port(server)
    left_s = max(0.1, deadline_s - time.monotonic())
    try:
        with closing(socket.create_connection((host, port), timeout=left_s)) as connection:
            if context is not None:
                context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        raise NotConnected(f"{server}: the certificate of the server is not trusted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise NotConnected(f"{server}: {_of_certificate(error) or f'TLS failed: {error.reason or error}'}") from None
    except (OSError, UnicodeError) as error:
        return f"{server}: {getattr(error, 'strerror', None) or error}"
    return ""
