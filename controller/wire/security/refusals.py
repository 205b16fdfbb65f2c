"""How long who logs in wrongly waits for the refusal, by the address that it comes from.

Rules
* The first refusal takes `FIRST_S`, each further one from the same address twice as long, up to a limit, until none
  came from there for `FORGOTTEN_S`. Who logs in rightly never waits, so nobody else at that address does.
* The connection stays taken while its refusal waits, also where the client has hung up: so connections per address
  times the delay bound how many passwords can be tried.
* Addresses of IPv6 count by their first 64 bits, which one customer has whole.
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
ADDRESSES_MAX: Final = 10_000  # that are remembered; the one that has been quiet for longest is forgotten
_DOUBLED_MAX: Final = 30
_NETWORK_BITS: Final = 64


def origin(peername: Any) -> str:
    """By what a client's connections and failures are counted: of what asyncio gives as `peername`."""
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
    """Of one gateway. `longest_s`: what no refusal takes longer than."""

    def __init__(self, longest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_s = longest_s
        self._clock = clock
        self._failed: OrderedDict[str, _Failed] = OrderedDict()

    def delay_s(self, address: str) -> float:
        """One more login from there has failed: how long it waits for the answer."""
        now_s = self._clock()
        known = self._failed.pop(address, None)
        times = 0 if known is None or now_s - known.last_s > FORGOTTEN_S else known.times
        self._failed[address] = _Failed(times + 1, now_s)
        if len(self._failed) > ADDRESSES_MAX:
            self._failed.popitem(last=False)
        return min(self._longest_s, FIRST_S * 2.0 ** min(times, _DOUBLED_MAX))
