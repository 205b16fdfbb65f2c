"""Which connection of a gateway gives way when there is no room for a new one.

Rules
* A connection that has not logged in gives way first, as at sshd (MaxStartups). First of all these come those from
  addresses without a login in the past; of them, the oldest one from the address that has the most. A client from such
  an address displaces none that is logging in from a known one.
* Where all have logged in, or none has to, the address with the most connections gives way to addresses with at least
  two fewer: with the connection that is idle for longest, at last with one in work. So addresses have equal shares in
  the end.
* Of its own connections an address displaces those that have not logged in, and those that were idle for `IDLE_S`:
  clients that are served do not displace each other.
* A delayed refusal of a login is work: otherwise a client could try the next password at once.
* Gateways that logged in as such do not give way, and there is room for them wherever anything can give way.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from .limits import Limits
from .session import Session

IDLE_S: Final = 10.0
"""More than members of groups take between two heartbeats (3 s)."""
KNOWN_MAX: Final = 10_000  # addresses; beyond that the one with the oldest login is forgotten


@attrs.define(eq=False)
class Client:
    """A connected client. `came_at`: by the monotonic clock. `session`: set after the TLS handshake, if any. `task`:
    serves it; cancelled, it hangs up. `is_leaving`: it gave way."""

    address: str
    came_at: float = attrs.field(factory=time.monotonic)
    session: Session | None = None
    task: asyncio.Task[None] | None = None
    is_leaving: bool = False

    @property
    def is_known(self) -> bool:
        return self.session is not None and self.session.is_known

    @property
    def is_gateway(self) -> bool:
        return self.session is not None and self.session.is_gateway

    @property
    def is_busy(self) -> bool:
        return self.session is not None and self.session.is_busy

    @property
    def used_at(self) -> float:
        """When its last request was answered, or when it came."""
        return self.came_at if self.session is None else max(self.came_at, self.session.used_at)


class Admission:
    """Of one gateway, on its loop."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._known: OrderedDict[str, bool] = OrderedDict()  # address -> whether a gateway logged in there

    def makes_room(self, address: str, clients: Iterable[Client]) -> Client | str | None:
        """The one of these clients that gives way to a new client from this address; None: there is room; the kind of
        refusal (`Gateway.counts`): none of them may be closed."""
        present = [each for each in clients if not each.is_leaving]
        others = [each for each in present if not each.is_gateway]
        own = [each for each in others if each.address == address]
        if len(own) >= self._limits.connections_per_client:
            return self._of_own(own) or "too_many_from_one"
        if len(present) < self._limits.connections:
            return None
        for each in present:
            if each.is_known:
                self._remember(each)
        return self._of_new(address, others) or self._of_most(address, others) or self._of_own(own) or "too_many"

    def left(self, client: Client) -> None:
        """The client is gone. Its address is known from now on if it had logged in."""
        if client.is_known:
            self._remember(client)

    def _remember(self, client: Client) -> None:
        self._known[client.address] = client.is_gateway or self._known.get(client.address, False)
        self._known.move_to_end(client.address)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    def _of_new(self, address: str, others: Sequence[Client]) -> Client | None:
        new = [each for each in others if not (each.is_known or each.is_busy)]
        found = [each for each in new if each.address not in self._known] or (new if address in self._known else [])
        most = _most(found)
        return min((each for each in found if each.address == most), key=_age, default=None)

    def _of_most(self, address: str, others: Sequence[Client]) -> Client | None:
        most = _most(others)
        there = [each for each in others if each.address == most]
        here = sum(each.address == address for each in others)
        if len(there) <= here + 1 and not self._known.get(address, False):
            return None
        return min(there, key=lambda each: (each.is_busy, each.used_at), default=None)

    def _of_own(self, own: Sequence[Client]) -> Client | None:
        idle = [each for each in own if not each.is_busy]
        new = [each for each in idle if not each.is_known]
        if new:
            return min(new, key=_age)
        longest = min(idle, key=lambda each: each.used_at, default=None)
        return longest if longest is not None and self._clock() - longest.used_at >= IDLE_S else None


def _most(clients: Sequence[Client]) -> str | None:
    counted = Counter(each.address for each in clients).most_common(1)
    return counted[0][0] if counted else None


def _age(client: Client) -> float:
    return client.came_at
