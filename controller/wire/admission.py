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
* A part of the connections of an address is kept for clients that are logging in (`RESERVED`). Who logs in beyond the
  rest displaces one of the user that has the most there, who has at least two more: users that share an address have
  equal shares in the end.
* A delayed refusal of a login is work: otherwise a client could try the next password at once.
* Gateways that logged in as such do not give way as long as they have no more than half of all connections, and there
  is room for them wherever anything can give way.

Connections are counted by address when they come, log in and go: a flood of new ones comes while there is no room, and
must not cost a look at all of them for each.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from .limits import Limits
from .security import ANONYMOUS
from .session import Session

IDLE_S: Final = 10.0
"""More than members of groups take between two heartbeats (3 s)."""
KNOWN_MAX: Final = 10_000  # addresses; beyond that the one with the oldest login is forgotten
RESERVED: Final = 8  # one in so many connections of an address, for clients that are logging in


@attrs.define(eq=False)
class Client:
    """A connected client. `broker_id`: the broker whose address it called. `came_at`: by the monotonic clock.
    `session`: set after the TLS handshake, if any. `task`: serves it; cancelled, it hangs up."""

    address: str
    came_at: float = attrs.field(factory=time.monotonic)
    session: Session | None = None
    task: asyncio.Task[None] | None = None
    broker_id: int | None = None

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

    @property
    def user(self) -> str:
        """Empty: it needed no identity."""
        principal = None if self.session is None else self.session.principal
        return "" if principal in {None, ANONYMOUS} else f"{principal}"


@attrs.define(eq=False)
class _There:
    """The connections of one address but those of gateways, in the order in which they came. `new`: before the login;
    `known`: after it. `served_until`: until then none of these can have been idle for long."""

    new: dict[Client, None] = attrs.field(factory=dict)
    known: dict[Client, None] = attrs.field(factory=dict)
    served_until: float = 0.0

    def __len__(self) -> int:
        return len(self.new) + len(self.known)

    @property
    def oldest(self) -> Client | None:
        """Of those that are logging in, and not in work."""
        return next((each for each in self.new if not (each.is_known or each.is_busy)), None)


class Admission:
    """Of one gateway, on its loop. A client that `came` must have `left` in the end; one that gave way is not counted
    from then on."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._known: OrderedDict[str, bool] = OrderedDict()  # address -> whether a gateway logged in there
        self._there: dict[str, _There] = {}
        self._gateways: dict[Client, None] = {}
        self._size = 0

    def makes_room(self, address: str) -> Client | str | None:
        """The one that gives way to a new client from this address; None: there is room; the kind of refusal
        (`Gateway.counts`): none of them may be closed."""
        own = self._there.get(address) or _There()
        if len(own) >= self._limits.connections_per_client:
            return self._given(self._of_own(own)) or "too_many_from_one"
        if self._size < self._limits.connections:
            return None
        found = self._of_new(address) or self._of_gateways() or self._of_most(address, len(own)) or self._of_own(own)
        return self._given(found) or "too_many"

    def came(self, client: Client) -> None:
        """It is served from now on."""
        self._there.setdefault(client.address, _There()).new[client] = None
        self._size += 1

    def logged_in(self, client: Client) -> Client | None:
        """The client has logged in, or need not. The one that gives way to it: possibly the client itself."""
        there = self._there.get(client.address) or _There()
        if client not in there.new and client not in there.known:  # it gave way meanwhile
            return None
        self._remember(client)
        there.new.pop(client, None)
        if client.is_gateway:
            there.known.pop(client, None)
            self._gateways[client] = None
            self._forget(client.address)
            return None
        there.known[client] = None
        most = self._limits.connections_per_client
        if not client.user or len(there.known) <= most - most // RESERVED:
            return None
        return self._given(self._of_users(client, there.known))

    def left(self, client: Client) -> None:
        """The client is gone. Its address is known from now on if it had logged in."""
        self._given(client)
        if client.is_known:
            self._remember(client)

    def _given(self, client: Client | None) -> Client | None:
        """The client, which counts no more. Idempotent."""
        if client is None:
            return None
        there = self._there.get(client.address) or _There()
        for each in (there.new, there.known, self._gateways):
            if client in each:
                del each[client]
                self._size -= 1
        self._forget(client.address)
        return client

    def _forget(self, address: str) -> None:
        if not self._there.get(address, True):
            del self._there[address]

    def _remember(self, client: Client) -> None:
        self._known[client.address] = client.is_gateway or self._known.get(client.address, False)
        self._known.move_to_end(client.address)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    def _of_new(self, address: str) -> Client | None:
        new = {each: there for each, there in self._there.items() if there.new}
        strangers = [there for each, there in new.items() if not (there.known or each in self._known)]
        return _oldest(strangers) or (_oldest(new.values()) if address in self._known else None)

    def _of_gateways(self) -> Client | None:
        most = (self._limits.connections + 1) // 2
        return _idlest(self._gateways) if len(self._gateways) > most else None

    def _of_most(self, address: str, here: int) -> Client | None:
        there = max(self._there.values(), key=len, default=_There())
        if len(there) <= here + 1 and not self._known.get(address, False):
            return None
        return _idlest((*there.new, *there.known))

    def _of_own(self, own: _There) -> Client | None:
        now = self._clock()
        if own.oldest is not None or now < own.served_until:
            return own.oldest
        longest = _idlest(own.known)
        since = now if longest is None or longest.is_busy else longest.used_at
        own.served_until = since + IDLE_S
        return longest if now >= own.served_until else None

    def _of_users(self, client: Client, known: Iterable[Client]) -> Client:
        users: dict[str, list[Client]] = {}
        for each in known:
            users.setdefault(each.user, []).append(each)
        most, own = max(users.values(), key=len), users[client.user]
        if len(most) > len(own):
            return _idlest(most) or client
        longest = _idlest(own)
        is_idle = longest is not None and not longest.is_busy and self._clock() - longest.used_at >= IDLE_S
        return longest if longest is not None and is_idle else client


def _oldest(found: Iterable[_There]) -> Client | None:
    """Of the address with the most that are logging in and of which one may give way."""
    by_number = sorted(found, key=lambda there: -len(there.new))
    return next((oldest for there in by_number if (oldest := there.oldest) is not None), None)


def _idlest(clients: Iterable[Client]) -> Client | None:
    return min(clients, key=lambda each: (each.is_busy, each.used_at), default=None)
