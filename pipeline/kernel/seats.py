"""Finds a broker for a replica: the brokers by rack, the emptiest first.

* A broker can take one if it is alive, not leaving, within its limits (disk, network), has no replica of the partition,
  and is in a rack without one; if every rack has one, in a rack with the fewest. A partition in `min_racks` racks may
  get it in any rack.
* The racks are those of the brokers that the plan may use, whether or not the request lets them take replicas.
* If replicas are to stay in their racks, the broker is looked for there first.
* Of those, the broker with the fewest bytes for its weight, then the fewest replicas (the only criterion if no size is
  known), then the lowest id. Placing from the largest replica to the smallest thus levels the brokers (longest
  processing time first).
* If some sizes are known, a replica of unknown size weighs as much as their mean; otherwise all of these would go to
  one broker. The guess is for evenness only: limits, levels, sums and bounds use known sizes.
* A heap per rack: a broker's entry is right or too small (it may have taken replicas since), so the top is checked
  again before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapify, heapreplace
from typing import Final, TypeAlias

import numpy as np

from .cluster import NO_LIMIT, NOBODY, Bools, Cluster, Floats, per_broker, potential_out
from .directories import Rooms

# Why no broker takes a replica
NO_BROKER: Final = -1  # each remaining broker in the possible racks holds one already, or there is none
NO_DISK: Final = -2
NO_IN: Final = -3
NO_OUT: Final = -4
NO_ROOM: Final = -5  # none is below the target level
NO_TAKER: Final = -11  # the request leaves out all of them

_Fill: TypeAlias = tuple[float, float]  # bytes and replicas of a broker, divided by its weight


class Seats:
    """The load of brokers while a plan is made; `usable` brokers may take more, if the request lets them."""

    def __init__(self, cluster: Cluster, usable: Bools, weights: Floats, ceiling: Sequence[int] | None = None) -> None:
        """`weights`: a broker's share of the load to level. `ceiling`: a limit of bytes for each broker, besides its
        disk."""
        brokers = len(cluster.brokers)
        sends = potential_out(cluster, cluster.factors)
        self.bytes: list[int] = per_broker(cluster.replicas, cluster.size, brokers).tolist()
        self._in: list[float] = per_broker(cluster.replicas, cluster.write_bps, brokers).tolist()
        self._out: list[float] = per_broker(cluster.replicas, sends, brokers).tolist()
        self._disk_max: list[int] = cluster.disk_max.tolist()
        self._in_max: list[float] = cluster.in_max.tolist()
        self._out_max: list[float] = cluster.out_max.tolist()
        self._ceiling = list(ceiling) if ceiling is not None else [NO_LIMIT] * brokers
        self._weights: list[float] = weights.tolist()
        self._counts: list[int] = per_broker(cluster.replicas, np.ones_like(cluster.size), brokers).tolist()
        self._guess = mean_size(cluster) if ceiling is None else 0
        guessed = np.where(cluster.sized, cluster.size, self._guess)
        self._heavy: list[int] = per_broker(cluster.replicas, guessed, brokers).tolist()
        self._fills = [self._fill(broker) for broker in range(brokers)]
        self._going = [(0, 0)] * brokers
        takes = usable & cluster.takes
        self._usable: list[bool] = takes.tolist()
        self.keeps: list[bool] = cluster.keeps.tolist()
        self.rack: list[int] = cluster.rack.tolist()
        self.racks: list[int] = np.unique(cluster.rack[usable]).tolist()
        self.min_racks, self.is_local = cluster.min_racks, cluster.is_rack_local
        self.rooms = Rooms(cluster.directories)
        self._heaps: dict[int, list[tuple[_Fill, int]]] = {rack: [] for rack in self.racks}
        kinds: dict[int, set[tuple[float, int]]] = {rack: set() for rack in self.racks}
        for broker in np.nonzero(takes)[0].tolist():
            self._heaps[self.rack[broker]].append((self._fills[broker], broker))
            kinds[self.rack[broker]].add((self._weights[broker], self._ceiling[broker]))
        self._alike = {rack: of.pop() for rack, of in kinds.items() if len(of) == 1}
        for heap in self._heaps.values():
            heapify(heap)

    def find(
        self, staying: Sequence[int], size: int | None, write_bps: float, sends_bps: float, near: int = NOBODY
    ) -> int:
        """The broker for one more replica, or the reason why there is none. Changes nothing. `size`: None if unknown,
        here and below. `near`: the broker whose replica it replaces, if any."""
        least = size or 0
        best, reason = NO_BROKER, NO_BROKER
        best_fill = (math.inf, math.inf)
        fills, racks = self._fills, self._open_racks(staying)
        if self.is_local and near != NOBODY and self.rack[near] in racks:
            found = self._in_rack(self.rack[near], staying, least, write_bps, sends_bps)
            racks = racks if found < 0 else [self.rack[near]]
        for rack in racks:
            found = self._in_rack(rack, staying, least, write_bps, sends_bps)
            if found < 0:
                reason = min(reason, found)
            elif fills[found] < best_fill or (fills[found] == best_fill and found < best):
                best, best_fill = found, fills[found]
        return best if best >= 0 else reason

    def _open_racks(self, staying: Sequence[int]) -> list[int]:
        """The racks that may take one more: those without a replica; else those with the fewest that still have a free
        broker."""
        of = self.rack
        used = [of[broker] for broker in staying]
        if len(set(used)) >= self.min_racks:
            return [rack for rack in self.racks if self._heaps[rack]]
        free = [rack for rack in self.racks if rack not in used]
        if free:
            return free
        left = [rack for rack in self.racks if any(broker not in staying for _, broker in self._heaps[rack])]
        fewest = min((used.count(rack) for rack in left), default=0)
        return [rack for rack in left if used.count(rack) == fewest]

    def _in_rack(self, rack: int, staying: Sequence[int], size: int, write_bps: float, sends_bps: float) -> int:
        heap, fills = self._heaps[rack], self._fills
        if not heap:
            return NO_TAKER
        fill, top = heap[0]
        while fill != fills[top]:
            heapreplace(heap, (fills[top], top))
            fill, top = heap[0]
        reason = self._refuses(top, staying, size, write_bps, sends_bps)
        if not reason:
            return top
        if reason == NO_ROOM and self._is_hopeless(rack, fill, size):
            return reason
        worst = reason
        for _, broker in sorted((fills[broker], broker) for _, broker in heap):
            reason = self._refuses(broker, staying, size, write_bps, sends_bps)
            if not reason:
                return broker
            worst = min(worst, reason)
        return worst

    def _is_hopeless(self, rack: int, fill: _Fill, size: int) -> bool:
        """Whether no broker as full as `fill` or fuller has room, which is known if those of the rack are alike."""
        alike = self._alike.get(rack)
        return alike is not None and fill[0] * alike[0] + size > alike[1]

    def _refuses(self, broker: int, staying: Sequence[int], size: int, write_bps: float, sends_bps: float) -> int:
        """Why the broker cannot take it, 0 if it can."""
        if broker in staying:
            return NO_BROKER
        after = self.bytes[broker] + size
        if after > self._disk_max[broker] or not self.rooms.fits(broker, size):
            return NO_DISK
        if self._in[broker] + write_bps > self._in_max[broker]:
            return NO_IN
        if self._out[broker] + sends_bps > self._out_max[broker]:
            return NO_OUT
        return NO_ROOM if after > self._ceiling[broker] else 0

    def add(self, broker: int, size: int | None, write_bps: float, sends_bps: float) -> None:
        """The broker has one more replica."""
        self._count(broker, 1, size, write_bps, sends_bps)
        self.rooms.add(broker, self._weighs(size))

    def drop(self, broker: int, size: int | None, write_bps: float, sends_bps: float) -> None:
        """The broker has one replica less. Its entry is too large now, so the heap is rebuilt."""
        self._count(broker, -1, size, -write_bps, -sends_bps)
        self.rooms.drop(broker)
        if self._usable[broker]:
            heap = self._heaps[self.rack[broker]]
            heap[:] = [(self._fills[other], other) for _, other in heap]
            heapify(heap)

    def leave(self, brokers: Sequence[int], size: int | None) -> None:
        """These brokers lose a replica in the end. It occupies them until then, so only `left` gets smaller."""
        for broker in brokers:
            going, count = self._going[broker]
            self._going[broker] = going + self._weighs(size), count + 1

    def left(self, broker: int) -> _Fill:
        """How full the broker is, with all arrivals and without the departures."""
        weight, (size, count) = self._weights[broker], self._going[broker]
        return (self._heavy[broker] - size) / weight, (self._counts[broker] - count) / weight

    def can_send(self, broker: int, more_bps: float) -> bool:
        """Whether it could send that much more, if it led all its partitions."""
        return self._out[broker] + more_bps <= self._out_max[broker]

    def send(self, broker: int, more_bps: float) -> None:
        """Its present replicas need that much more to send."""
        self._out[broker] += more_bps

    def _count(self, broker: int, replicas: int, size: int | None, write_bps: float, sends_bps: float) -> None:
        self.bytes[broker] += replicas * (size or 0)
        self._heavy[broker] += replicas * self._weighs(size)
        self._counts[broker] += replicas
        self._fills[broker] = self._fill(broker)
        self._in[broker] += write_bps
        self._out[broker] += sends_bps

    def _weighs(self, size: int | None) -> int:
        return self._guess if size is None else size

    def _fill(self, broker: int) -> _Fill:
        weight = self._weights[broker]
        return self._heavy[broker] / weight, self._counts[broker] / weight


def mean_size(cluster: Cluster) -> int:
    """The mean of the known sizes; 0 if none is known."""
    known = cluster.size[cluster.sized]
    return int(known.sum()) // len(known) if len(known) else 0
