"""Connections to addresses that brokers registered: which addresses may be called, whatever a registration says.

* A name is resolved once, its addresses are checked, and one of them is called: a name that has another address by then
  leads nowhere else.
* Addresses that no broker has are never called: link-local ones (where clouds serve the credentials of a machine) and
  the others where clouds do, those of many receivers, 0.0.0.0. With `networks` only these are called.
* An IPv4 address within an IPv6 one counts as well, since a router or a tunnel may pass the connection on to it.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Any = ipaddress.IPv4Address | ipaddress.IPv6Address
_OF_CLOUDS: Final = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure
        "fd00:ec2::254",  # AWS
        "fd20:ce::254",  # Google
    )
)
_WITH_IPV4_LAST: Final = tuple(
    ipaddress.IPv6Network(text)
    for text in (
        "::/96",  # compatible addresses, of RFC 4291
        "64:ff9b::/96",  # NAT64, RFC 6052
        "64:ff9b:1::/48",  # NAT64 within a site, RFC 8215
    )
)


class NotAllowed(ConnectionError):
    """The address may not be called."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """From `10.0.0.0/8` and the like. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def connected(host: str, port: int, timeout_s: float, within: Sequence[Network] = ()) -> socket.socket:
    """A connection to the host. `within`: the networks that it has to be in; empty: any. Raises NotAllowed, or another
    OSError."""
    try:
        found = [each[4][0] for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except UnicodeError as error:  # a label that is too long, for one
        raise NotAllowed(f"{host!r:.80} is no name of a host") from error
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
    if any(_is_never(each) for each in (address, *_within(address))):
        return False
    return not within or any(address in network for network in within)


def _is_never(address: _Any) -> bool:
    return address.is_link_local or address.is_multicast or address.is_unspecified or address in _OF_CLOUDS


def _within(address: _Any) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses to which an IPv6 one may lead."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if any(address in network for network in _WITH_IPV4_LAST) and int(address) > 1:  # not :: and ::1
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        yield address.sixtofour
    yield from address.teredo or ()
