"""The state that each ZooKeeper server reports: the four-letter word `srvr`, over a separate connection.

Rules
* `srvr` is enabled by default. If an administrator has disabled it, the server says so; its version is then unknown,
  and this is not a problem of the server.
* Only the word is sent: no credentials, and no session is opened.
"""

from __future__ import annotations

import re
import socket
import time
from typing import Final

from ..base import StoreError
from ..probing import ServerState
from .seams import Handler
from .url import Address

_VERSION: Final = re.compile(r"Zookeeper version: ([0-9]+(?:\.[0-9]+)*)")
_MODE: Final = re.compile(r"Mode: (\w+)")
_ANSWER_BYTES_MAX: Final = 10_000
_EACH_S_MAX: Final = 2.0


def states(address: Address, timeout_s: float) -> tuple[ServerState, ...]:
    """One state for each host, in the order of the url."""
    deadline_s = time.monotonic() + timeout_s
    return tuple(_state(address, host, deadline_s) for host in address.hosts)


def _state(address: Address, host: str, deadline_s: float) -> ServerState:
    left_s = min(_EACH_S_MAX, deadline_s - time.monotonic())
    if left_s <= 0:
        return ServerState(host, problem="not queried: no time was left")
    try:
        said = _srvr(address, host, left_s)
    except (OSError, StoreError) as error:
        return ServerState(host, problem=f"does not answer: {type(error).__name__}")
    version, mode = _VERSION.search(said), _MODE.search(said)
    if "not currently serving requests" in said:
        return ServerState(host, problem="serves no requests: it is not part of a quorum")
    return ServerState(host, version and version[1], mode and mode[1])


def _srvr(address: Address, host: str, timeout_s: float) -> str:
    name, _, port = host.rpartition(":")
    name = name.strip("[]")
    handler = Handler(timeout_s, address.tls)
    with handler.create_connection((name, int(port)), hostname=name) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(b"srvr")
        if address.tls is None:
            connection.shutdown(socket.SHUT_WR)
        said = b""
        while len(said) < _ANSWER_BYTES_MAX and (some := connection.recv(_ANSWER_BYTES_MAX)):
            said += some
    return said.decode("utf-8", "replace")
