"""Connections to addresses that brokers registered: which addresses may be called, whatever a registration says.

* A name is resolved once, its addresses are checked, and one of them is called: a name that has another address by then
  leads nowhere else.
* Addresses that no broker has are never called: link-local ones (where clouds serve the credentials of a machine),
  those of many receivers, 0.0.0.0. With `networks` only these are called.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NotAllowed(ConnectionError):
    """The address may not be called."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """From `10.0.0.0/8` and the like. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def connected(host: str, port: int, timeout_s: float, within: Sequence[Network] = ()) -> socket.socket:
    """A connection to the host. `within`: the networks that it has to be in; empty: any. Raises NotAllowed, or another
    OSError."""
    found = [each[4][0] for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [str(each) for each in dict.fromkeys(found) if _is_allowed(str(each), within)]
    if not allowed:
        raise NotAllowed(f"{host} has no address that brokers may have: {', '.join(map(str, dict.fromkeys(found)))}")
    for address in allowed[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), timeout_s)
    return socket.create_connection((allowed[-1], port), timeout_s)


def _is_allowed(text: str, within: Sequence[Network]) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    address = (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    return not within or any(address in network for network in within)
