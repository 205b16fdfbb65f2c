"""A first knock at the servers, before kafka-python does: whether one is there, and whether TLS with it works.

kafka-python answers both with the same "Unable to bootstrap", after its whole time, and leaves its sockets open.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from controller.cli.kafka.errors import NotConnected

_PAUSE_S: Final = 0.1
_TLS_S: Final = 2.0


def await_server(servers: Sequence[str], context: ssl.SSLContext | None, deadline_s: float) -> None:
    """One of them takes connections. Raises NotConnected at the deadline, or when TLS cannot work, with the reasons."""
    while True:
        said = [problem for server in servers if (problem := _problem(server, context, deadline_s))]
        if len(said) < len(servers):
            return
        if time.monotonic() >= deadline_s:
            raise NotConnected("; ".join(said))
        time.sleep(_PAUSE_S)


def speaks_tls(server: str) -> bool:
    """Whether it answers a hello of TLS by TLS, whatever it thinks of us; asked where plain text was hung up on."""
    host, port = _host_and_port(server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is told to it, so it need not prove who it is
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with closing(socket.create_connection((host, port), timeout=_TLS_S)) as connection:
            context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # it wants a certificate of ours, perhaps
    except (OSError, UnicodeError, ValueError):
        return False
    return True


def _host_and_port(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    return host.strip("[]"), int(port)


def _problem(server: str, context: ssl.SSLContext | None, deadline_s: float) -> str:
    """Empty: it is there."""
    host, port = _host_and_port(server)
    left_s = max(0.1, deadline_s - time.monotonic())
    try:
        with closing(socket.create_connection((host, port), timeout=left_s)) as connection:
            if context is not None:
                context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        raise NotConnected(f"{server}: its certificate is not accepted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise NotConnected(f"{server}: no TLS with it: {error.reason or error}") from None
    except (OSError, UnicodeError) as error:
        return f"{server}: {getattr(error, 'strerror', None) or error}"
    return ""
