"""Steps that bring brokers below their limits: leaders change, replicas move, and brokers exchange replicas.

* Replicas that use most for their bytes move first, as long as their broker stays at its limit or above; then the
  smallest that bring it below, but not below its share. They go to the broker that is the emptiest afterwards.
* What a broker can not give is exchanged for something that uses less, if that is worth the bytes of both.
* A replica moves at most once. No step raises a broker above a limit, so each lowers the excess in all, and there is an
  end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from .cluster import NO_LIMIT, Bools, Cluster, Floats, Ints
from .moves import Told
from .placement import Placement, Resource

_CHUNK: Final = 512
_TRIED: Final = 8  # brokers to exchange replicas with; four times as many to exchange leaders with
_PAIRS_MAX: Final = 2**15  # pairs to exchange that are compared at once
_GAIN: Final = 0.01  # the least share of the excess that an exchange lowers
_WORTH: Final = 0.1  # an exchange lowers at least what this share of its bytes uses on average
TINY: Final = 1e-300
_Pair = tuple[float, int, int, int]


class Steps:
    """`resources`: those to lower, in this order. `fullness`: by which of them a broker is chosen. `budget`: the bytes
    that may still be copied. `to_share`: whether a broker may not fall below its share."""

    def __init__(
        self, cluster: Cluster, at: Placement, resources: Sequence[Resource], home: Sequence[Ints], budget: int | None
    ) -> None:
        self._cluster, self._at, self._resources, self._home = cluster, at, resources, home
        self.free = (cluster.held == 0) & ~at.waits
        self.budget = NO_LIMIT if budget is None else budget
        self.fullness: Sequence[Resource] = ()
        self.to_share = False
        self._count = 0

    def settle(self, told: Told) -> None:
        """Give until no broker above a limit can give more: leaders first, as that copies nothing."""
        count = -1
        while count != self._count:
            count = self._count
            for lead in (True, False):
                for one in self._resources:
                    self.lower(one, told, lead=lead)

    def lower(self, one: Resource, told: Told, *, lead: bool) -> None:
        """Let all brokers above the limit give leaders, or replicas."""
        above = one.above(self._at.live) if one.led or not lead else []
        for done, (row, broker) in enumerate(above):
            told(done, len(above))
            for is_small in (True, False):
                self._relieve(one, row, broker, is_small=is_small, lead=lead)
            while one.excess(row, broker) > 0 and self._exchange(one, row, broker, lead=lead):
                pass

    def most(self, one: Resource, row: int, broker: int) -> float:
        """What the broker may give: below a cap not more than down to its share."""
        load = float(one.load[row, broker])
        least = min(one.limit[row, broker], one.share[row, broker])
        return load - float(least) if self.to_share and load <= one.cap[row, broker] else load

    def _movable(self, broker: int, *, led: bool, lead: bool) -> Ints:
        among = self._home[broker]
        rows = self._at.rows[among]
        mine = rows[:, 0] == broker if lead or led else (rows == broker).any(axis=1)
        found: Ints = among[mine & self.free[among] & (lead | self._cluster.sized[among])]
        return found

    def _givable(self, one: Resource, row: int, broker: int, *, lead: bool) -> Ints:
        some = self._movable(broker, led=one.led, lead=lead)
        found: Ints = some[(one.row[some] == row) & (one.use[some] > 0)]
        return found

    def ordered(self, one: Resource, some: Ints, *, lead: bool, is_small: bool = True) -> Ints:
        """What uses most for its bytes first; or what uses least."""
        used = one.use[some]
        price = np.zeros(len(some)) if lead else self._cluster.size[some] / used
        return some[np.lexsort((some, -used, price) if is_small else (some, price, used))]

    def _relieve(self, one: Resource, row: int, broker: int, *, is_small: bool, lead: bool) -> None:
        """Give what does not exceed the excess, or what does."""
        excess = one.excess(row, broker)
        if excess <= 0:
            return
        some = self._givable(one, row, broker, lead=lead)
        some = some[(one.use[some] <= self.most(one, row, broker)) & ((one.use[some] <= excess) == is_small)]
        some = self.ordered(one, some, lead=lead, is_small=is_small)
        for start in range(0, len(some), _CHUNK):
            chunk = some[start : start + _CHUNK]
            places = self._at.places(chunk, broker, lead=lead)
            for i in np.nonzero(self._at.within(places, chunk, broker, lead=lead).any(axis=1))[0].tolist():
                if one.excess(row, broker) <= 0:
                    return
                if one.use[chunk[i]] <= (one.excess(row, broker) if is_small else self.most(one, row, broker)):
                    self._give(one, chunk[i : i + 1], broker, places[i : i + 1], lead=lead)

    def _give(self, one: Resource, some: Ints, broker: int, places: Bools, *, lead: bool) -> None:
        fits = self._at.within(places, some, broker, lead=lead)[0]
        near = fits & self._near(broker, lead=lead)
        fits = near if near.any() else fits
        if fits.any() and (lead or self._cluster.size[some[0]] <= self.budget):
            full = [self._full(other, some, broker, lead=lead) for other in ([one] if lead else self.fullness)]
            self._step(int(some[0]), broker, int(np.where(fits, np.max(full, axis=0), np.inf).argmin()), lead=lead)

    def _near(self, broker: int, *, lead: bool) -> Bools:
        """The brokers to prefer: those of the rack if replicas are to stay in theirs, otherwise all."""
        rack = self._cluster.rack
        return np.asarray((rack == rack[broker]) | (lead or not self._cluster.is_rack_local), np.bool_)

    def _full(self, one: Resource, some: Ints, broker: int, *, lead: bool) -> Floats:
        row, need = one.row[some[0]], self._at.needs(one, some, broker, lead=lead)
        return np.asarray((one.load[row] + need) / np.maximum(one.share[row], TINY))

    def _step(self, partition: int, source: int, target: int, *, lead: bool) -> None:
        self._at.step(partition, source, target, lead=lead)
        self.budget -= 0 if lead else int(self._cluster.size[partition])
        self._count += 1

    def _exchange(self, one: Resource, row: int, broker: int, *, lead: bool) -> bool:
        """Exchange with one of the emptiest brokers; with that where it is worth most, if replicas are copied. False if
        nothing fits."""
        give = self.ordered(one, self._givable(one, row, broker, lead=lead), lead=lead)[:_CHUNK]
        places = self._at.places(give, broker, lead=lead) & self._at.receivers[broker]
        others = np.nonzero(places.any(axis=0))[0]
        order = np.argsort(one.load[row, others] / np.maximum(one.share[row, others], TINY), kind="stable")
        others, near = others[order], self._near(broker, lead=lead)
        pair = None
        for some in (others[near[others]], others[~near[others]]):
            tried = some[: 4 * _TRIED if lead else _TRIED].tolist()
            pairs = (self._pair(one, (row, broker, b), give[places[:, b]], lead=lead) for b in tried)
            found = (each for each in pairs if each is not None)
            pair = pair or (next(found, None) if lead else max(found, key=lambda each: each[0], default=None))
        if pair is not None:
            _, given, other, taken = pair
            self._step(given, broker, other, lead=lead)
            self._step(taken, other, broker, lead=lead)
        return pair is not None

    def _pair(self, one: Resource, at: tuple[int, int, int], give: Ints, *, lead: bool) -> _Pair | None:
        """The exchange with another broker that lowers the excess most for its bytes: by how much per byte, the given
        partition, the broker, the taken partition."""
        row, broker, other = at
        take = self._movable(other, led=False, lead=lead)
        take = take[(self._at.rows[take] == broker).any(axis=1) == lead]
        give = give[: max(1, _PAIRS_MAX // max(len(take), 1))]
        taken = self._at.needs(one, take, other, lead=lead) * (one.row[take] == row)
        gain = one.use[give][:, None] - taken
        size = np.zeros(gain.shape) if lead else self._cluster.size[give][:, None] + self._cluster.size[take]
        excess, average = one.excess(row, broker), self._average(one, row, broker)
        fits = (gain >= np.maximum(_GAIN * excess, _WORTH * average * size)) & (size <= self.budget)
        fits &= gain <= self.most(one, row, broker)
        if fits.any():
            fits &= self._at.exchanges(give, take, broker, other, lead=lead)
        worth = np.where(fits, np.minimum(gain, excess) / (size + 1), 0.0)
        for _ in range(_TRIED if fits.any() else 0):
            i, j = np.unravel_index(int(worth.argmax()), worth.shape)
            if worth[i, j] > 0 and self._at.places(take[j : j + 1], other, lead=lead)[0, broker]:
                return float(worth[i, j]), int(give[i]), other, int(take[j])
            worth[:, j] = 0.0
        return None

    def _average(self, one: Resource, row: int, broker: int) -> float:
        """What a byte of the broker uses of the resource."""
        size = self._cluster.size[self._home[broker]].sum()
        return float(one.load[row, broker]) / max(int(size), 1)
