"""To which of several servers a process is connected, as the kernel says: no client is asked."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from pathlib import Path

_ESTABLISHED = "01"


def connected_to(pid: int, addresses: Iterable[str]) -> set[str]:
    """Those of the `addresses` (HOST:PORT, of IPv4) to which the process holds a connection."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            sockets.add(str(descriptor.readlink()))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, _, remote, state, *rest = line.split()
            if state == _ESTABLISHED and f"socket:[{rest[5]}]" in sockets:
                found.add(_address(remote))
    return found & set(addresses)


def _address(remote: str) -> str:
    """Of the kernel's hexadecimal form; of an IPv4 address in an IPv6 one, too."""
    host, port = remote.split(":")
    return f"{socket.inet_ntoa(bytes.fromhex(host[-8:])[::-1])}:{int(port, 16)}"
