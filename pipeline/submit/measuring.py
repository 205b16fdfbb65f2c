"""How far the copies of a wave are: the bytes of each new replica, against those that its leader has.

Sizes cost one request to each broker that sends or receives in an open move. So they are read every `READ_S` seconds,
and for a tenth of the time at most; in between, the last reading holds. What is complete is not asked for again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import attrs

from ...controller.model.copying import UNKNOWN, Copies, Copy, slowest, together
from ...controller.model.values import NO_LEADER
from .cluster import Name, Replica
from .route import Route, Time
from .standing import Standing

READ_S: Final = 5.0
_SHARE: Final = 10


@attrs.define
class Measuring:
    """The copies of one wave, by the new replica; and what each broker `received`, since its copies share its rate."""

    way: Route
    time: Time
    copies: dict[Replica, Copy] = attrs.field(factory=dict)
    received: dict[int, Copy] = attrs.field(factory=dict)
    _by_replica: Copies[Replica] = attrs.field(factory=Copies)
    _by_broker: Copies[int] = attrs.field(factory=Copies)
    _due_s: float | None = None

    def read(self, standings: Collection[Standing]) -> None:
        """Take a reading, if one is due."""
        began_s = self.time.now_s()
        if self._due_s is not None and began_s < self._due_s:
            return
        named = {(s.move.name, broker): s for s in standings for broker in s.move.added}
        running = {replica: s for replica, s in named.items() if self._is_open(replica, s)}
        sizes = self._sizes(running)
        found = {}
        for (name, broker), s in running.items():
            whole = sizes.get((name, s.seen.leader))
            size = whole if s.has_copied(broker) else sizes.get((name, broker), 0 if s.lacks(broker) else None)
            found[name, broker] = (size, whole)
        now_s = self.time.now_s()
        self.copies = self._by_replica.read(round(now_s * 1000), found)
        sums = {broker: (copy.copied, copy.to_copy) for broker, copy in by_broker(self.copies).items()}
        self.received = self._by_broker.read(round(now_s * 1000), sums)
        self._due_s = now_s + max(READ_S, _SHARE * (now_s - began_s))

    def _is_open(self, replica: Replica, standing: Standing) -> bool:
        """Whether it is still copied, or was never measured, as in a wave that was begun by an earlier call."""
        return not standing.has_copied(replica[1]) or self.copies.get(replica, UNKNOWN).to_copy is None

    def _sizes(self, running: Mapping[Replica, Standing]) -> dict[Replica, int]:
        wanted: dict[int, set[Name]] = {}
        for (name, broker), standing in running.items():
            for holder in {broker, standing.seen.leader} - {NO_LEADER}:
                wanted.setdefault(holder, set()).add(name)
        sizes: dict[Replica, int] = {}
        self.time.checkpoint()
        for answer in self.way.sizes(wanted) if wanted else ():
            sizes |= answer
            self.time.checkpoint()
        return sizes


def by_broker(copies: Mapping[Replica, Copy]) -> dict[int, Copy]:
    """What each broker receives."""
    received: dict[int, list[Copy]] = {}
    for (_, broker), copy in copies.items():
        received.setdefault(broker, []).append(copy)
    return {broker: together(of_broker) for broker, of_broker in received.items()}


def slowest_partition(copies: Mapping[Replica, Copy]) -> str:
    """The partition that will be complete last, by the copies of known size; empty if there is none."""
    late = slowest({replica: copy for replica, copy in copies.items() if copy.left is not None})
    return "" if late is None else "{}-{}".format(*late[0])
