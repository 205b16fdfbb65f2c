"""Replicas and the load of brokers while a plan is made that levels several resources: which steps are possible.

* A step gives a replica of one broker to another, or the leadership alone to another replica; an exchange is two steps
  at once. The leader is the first of the row, and a given replica keeps its place in the row.
* A replica may go to a broker that receives replicas, has none of the partition, and is in a rack with the fewest of
  its other replicas; never out of a rack without another one into a rack that has one. A partition whose others are in
  `min_racks` racks may get it in any rack.
* No step raises a broker above a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from .cluster import NOBODY, Bools, Cluster, Floats, Ints
from .directories import Rooms

_ALL: Final = slice(None)
TINY: Final = 1e-300  # in place of a share of 0


@attrs.define(eq=False)
class Resource:
    """What is limited, of brokers (one row) or of topics on brokers (a row per topic). `cap`: what may be used at most;
    `limit`: what steps respect; `share`: what is level."""

    kind: int
    led: bool  # whether the leader alone uses it
    use: Floats  # P
    row: Ints  # P, the row of each partition
    load: Floats  # rows x B
    share: Floats  # rows x B
    cap: Floats  # rows x B
    limit: Floats = attrs.field(init=False)  # rows x B

    def __attrs_post_init__(self) -> None:
        self.limit = self.cap

    def room(self, partitions: Ints, brokers: slice | int, *, caps: bool = False) -> Floats:
        """How much more of each partition's row the brokers may use, by limits or by caps."""
        row = self.row[partitions] if len(self.load) > 1 else _ALL
        return np.maximum((self.cap if caps else self.limit)[row, brokers] - self.load[row, brokers], 0.0)

    def excess(self, row: int, broker: int) -> float:
        return float(self.load[row, broker] - self.limit[row, broker])

    def above(self, live: Bools) -> list[tuple[int, int]]:
        """The rows and `live` brokers above the limit, the fullest first."""
        row, broker = np.nonzero((self.load > self.limit) & live)
        order = np.argsort(-self.load[row, broker] / np.maximum(self.limit[row, broker], TINY), kind="stable")
        return list(zip(row[order].tolist(), broker[order].tolist(), strict=True))

    def worst(self, load: Floats, live: Bools) -> float:
        """How much the fullest broker of a load is above its limit, or its share if that is larger, as a part of it."""
        full = load / np.maximum(np.maximum(self.limit, self.share), TINY)
        return max(0.0, float(full[:, live].max(initial=0.0)) - 1)


class Placement:
    """Rows and loads, changed step by step. The load of `peak` has arrivals and no departures, so that disks have room
    whatever the order of the copies. A broker with several directories takes no more than one of them has room for."""

    def __init__(
        self, cluster: Cluster, live: Bools, receivers: Bools, resources: Sequence[Resource], peak: Resource
    ) -> None:
        self.live, self.receivers, self.rows = live, receivers, cluster.replicas.copy()
        self.waits = ((self.rows != NOBODY) & ~cluster.alive[self.rows]).any(axis=1)  # for a dead broker
        self._rack, self._resources, self._peak = cluster.rack, [*resources, peak], peak
        self._led = [one for one in resources if one.led]
        self.rooms, self._disk_max, self._before = Rooms(cluster.directories), peak.cap[0].copy(), cluster.replicas
        self._open = np.array([self.rooms.fits(broker, 0) for broker in range(len(live))], np.bool_)
        for broker in self.rooms.held:
            self._limit_peak(broker)
        self._racks, self._min_racks = int(cluster.rack.max(initial=0)) + 1, cluster.min_racks

    def _used(self, *, lead: bool) -> list[Resource]:
        """What a step changes: a change of the leader no other resources than those of leaders."""
        return self._led if lead else self._resources

    def needs(self, resource: Resource, partitions: Ints, source: int, *, lead: bool) -> Floats:
        """What another broker uses in place of `source`."""
        if resource.led:
            return np.asarray(resource.use[partitions] * (self.rows[partitions, 0] == source))
        return np.zeros(len(partitions)) if lead else resource.use[partitions]

    def places(self, partitions: Ints, source: int, *, lead: bool) -> Bools:
        """N x B: the brokers that may have what `source` has of each partition: its replica, or the leadership."""
        rows, some = self.rows[partitions], np.arange(len(partitions))
        held = np.zeros((len(rows), len(self._rack) + 1), np.bool_)  # the last column is NOBODY's
        crowd = np.zeros((len(rows), self._racks), np.int16)
        for column in rows.T:
            held[some, column] = True
            stays = (column != NOBODY) & (column != source)
            crowd[some[stays], self._rack[column[stays]]] += 1
        if lead:
            held[:, source] = False
            return np.asarray(held[:, :-1] & self.receivers)
        free = ~held[:, :-1] & self.receivers & self._open
        there = np.where(free, crowd[:, self._rack], np.int16(rows.shape[1] + 1))
        fewest = there.min(axis=1, keepdims=True)
        spread = (there == fewest) & (fewest <= crowd[:, self._rack[source], None])
        return np.asarray(free & (spread | ((crowd > 0).sum(axis=1, keepdims=True) >= self._min_racks)))

    def within(
        self, found: Bools, partitions: Ints, source: int, brokers: slice = _ALL, *, lead: bool, caps: bool = False
    ) -> Bools:
        """N x B: those of the brokers that stay within their limits, or caps."""
        for one in self._used(lead=lead):
            need = self.needs(one, partitions, source, lead=lead)
            found = found & (need[:, None] <= one.room(partitions, brokers, caps=caps))
        return found

    def roomy(self, partitions: Ints, source: int, *, lead: bool) -> Bools:
        """For which of the partitions each resource has room on some broker: far cheaper than places, which most
        partitions of a full cluster then need not have."""
        found = np.ones(len(partitions), np.bool_)
        for one in self._used(lead=lead):
            if len(one.load) == 1:
                most = one.room(partitions, _ALL)[0, self.receivers].max(initial=0.0)
                found &= self.needs(one, partitions, source, lead=lead) <= most
        return found

    def balancing(self, give: Ints, take: Ints, source: int, other: int) -> Bools:
        """Which of `take` could be exchanged for one of `give`: far cheaper than pairs, so more of `give` are tried."""
        found = np.ones(len(take), np.bool_)
        for one in self._resources:
            if len(one.load) == 1 and one is not self._peak:
                given, taken = self.needs(one, give, source, lead=False), self.needs(one, take, other, lead=False)
                found &= taken >= given.min(initial=np.inf) - one.room(give, other)
                found &= taken <= given.max(initial=0.0) + one.room(take, source)
        return found

    def exchanges(self, give: Ints, take: Ints, source: int, other: int, *, lead: bool) -> Bools:
        """Of each pair of `give` and `take`, whether source and other may exchange them within the limits."""
        fits = np.arange(len(give))
        for one in self._used(lead=lead):
            p, q = give[fits], take[fits]
            given, taken = self.needs(one, p, source, lead=lead), self.needs(one, q, other, lead=lead)
            same = (one.row[p] == one.row[q]) & (one is not self._peak)
            there = given - taken * same <= one.room(p, other)
            fits = fits[there & (taken - given * same <= one.room(q, source))]
        found = np.zeros(len(give), np.bool_)
        found[fits] = True
        return found

    def step(self, partition: int, source: int, target: int, *, lead: bool) -> None:
        """The target has what the source had of the partition."""
        for one in self._used(lead=lead):
            if one is not self._peak:
                need = self.needs(one, np.array([partition]), source, lead=lead)[0]
                one.load[one.row[partition], target] += need
                one.load[one.row[partition], source] -= need
        if not lead and target not in self._before[partition]:  # otherwise it has not left the disk
            self._peak.load[0, target] += self._peak.use[partition]
            self.rooms.add(target, int(self._peak.use[partition]))
            self._limit_peak(target)
        row = self.rows[partition]
        if lead:
            row[row == target], row[0] = source, target
        else:
            row[row == source] = target

    def _limit_peak(self, broker: int) -> None:
        """One of its directories has room for whatever the broker may still get."""
        if broker in self.rooms.held:
            most = self._peak.load[0, broker] + self.rooms.most(broker)
            self._peak.cap[0, broker] = min(self._disk_max[broker], most)

    def lead_by(self, rows: Ints) -> bool:
        """These rows, which differ in leaders alone, replace the present ones, unless a broker would get above a
        limit."""
        found = [(one, self._leading(one, rows[:, 0])) for one in self._led]
        if any((load > np.maximum(one.limit, one.load)).any() for one, load in found):
            return False
        self.rows = rows
        for one, load in found:
            one.load[:] = load
        return True

    def _leading(self, one: Resource, leader: Ints) -> Floats:
        cells = one.row * len(self._rack) + leader
        return np.asarray(np.bincount(cells, one.use, one.load.size).reshape(one.load.shape), np.float64)
