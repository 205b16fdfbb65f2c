"""How long the refusal of a wrong login is delayed, by the client's address.

* The first refusal takes `FIRST_S`, each further one from the same address twice as long, up to a limit, until none
  came from there for `FORGOTTEN_S`. A correct login is never delayed, so other clients at that address are not
  affected.
* The connection stays open while its refusal waits, also if the client has hung up: so connections per address times
  the delay limit how many passwords can be tried.
* Addresses of IPv6 count by their first 64 bits, because one customer has all addresses below them.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import attrs

FIRST_S: Final = 0.1  # as Kafka's connection.failed.authentication.delay.ms
FORGOTTEN_S: Final = 600.0
ADDRESSES_MAX: Final = 10_000  # remembered; beyond that the one without failures for longest is forgotten
_DOUBLED_MAX: Final = 30
_NETWORK_BITS: Final = 64


def origin(peername: Any) -> str:
    """The key by which a client's connections and failures are counted, from asyncio's `peername`."""
    if not isinstance(peername, tuple):
        return ""
    found = ipaddress.ip_address(str(peername[0]).partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((int(found), _NETWORK_BITS), strict=False))
    return str(found)


@attrs.define
class _Failed:
    times: int
    last_s: float


class Refusals:
    """Of one gateway. `longest_s`: the longest delay of a refusal."""

    def __init__(self, longest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_s = longest_s
        self._clock = clock
        self._failed: OrderedDict[str, _Failed] = OrderedDict()

    def delay_s(self, address: str) -> float:
        """Count one more failed login from there; returns the delay of its answer."""
        now_s = self._clock()
        known = self._failed.pop(address, None)
        times = 0 if known is None or now_s - known.last_s > FORGOTTEN_S else known.times
        self._failed[address] = _Failed(times + 1, now_s)
        if len(self._failed) > ADDRESSES_MAX:
            self._failed.popitem(last=False)
        return min(self._longest_s, FIRST_S * 2.0 ** min(times, _DOUBLED_MAX))
