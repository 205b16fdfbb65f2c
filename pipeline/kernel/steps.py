"""Steps that bring brokers below their limits: leaders change, replicas move, and brokers exchange replicas.

* Replicas that use most for their bytes move first, as long as their broker stays at its limit or above; then the
  smallest that bring it below, and below its share by no more than the tolerance. They go to the broker that is the
  emptiest afterwards.
* What a broker can not give is exchanged for something that uses less, if that is worth the bytes of both.
* A replica moves at most once. No step raises a broker above a limit, so each lowers the excess in all, and there is an
  end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Final

import numpy as np

from .cluster import NO_LIMIT, NOBODY, Bools, Cluster, Floats, Ints
from .moves import Told
from .placement import TINY, Placement, Resource

_CUTS: Final = np.append([64, 128], np.arange(256, 2**24, 256))  # few are tried at first, as few are often enough
_GIVEN_MAX: Final = 256  # replicas of a broker to exchange
_TRIED: Final = 8  # brokers to exchange replicas with; four times as many to exchange leaders with
_PAIRS_MAX: Final = 2**15  # pairs to exchange that are compared at once
_GAIN: Final = 0.01  # the least share of the excess that an exchange lowers
_WORTH: Final = 0.1  # an exchange lowers at least what this share of its bytes uses on average
_Pair = tuple[float, int, int, int]


class Steps:
    """`resources`: those to lower, in this order. `fullness`: by which of them a broker is chosen. `budget`: the bytes
    that may still be copied. `kept`: the part of its share that a broker does not give."""

    def __init__(
        self, cluster: Cluster, at: Placement, resources: Sequence[Resource], home: Sequence[Ints], budget: int | None
    ) -> None:
        self._cluster, self._at, self._resources, self._home = cluster, at, resources, home
        self.free = (cluster.held == 0) & ~at.waits
        self._bytes = [int(cluster.size[some].sum()) for some in home]
        self.budget = NO_LIMIT if budget is None else budget
        self.fullness: Sequence[Resource] = ()
        self.kept = 0.0
        self._count = 0

    def settle(self, told: Told) -> None:
        """Give until no broker above a limit can give more: leaders first, as that copies nothing."""
        turns, idle = [(one, lead) for lead in (True, False) for one in self._resources], 0
        for one, lead in cycle(turns):
            count = self._count
            self.lower(one, told, lead=lead)
            idle = idle + 1 if count == self._count else 0
            if idle == len(turns):
                return

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
        """What the broker may give: below a cap not more than down to what it keeps of its share."""
        load = float(one.load[row, broker])
        least = min(one.limit[row, broker], self.kept * one.share[row, broker])
        return load - float(least) if load <= one.cap[row, broker] else load

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
        some = some[self._at.roomy(some, broker, lead=lead)]
        some = self.ordered(one, some, lead=lead, is_small=is_small)
        for chunk in np.split(some, _CUTS[: int(np.searchsorted(_CUTS, len(some)))]):
            fits = self._at.within(self._at.places(chunk, broker, lead=lead), chunk, broker, lead=lead)
            for i in np.nonzero(fits.any(axis=1))[0].tolist():
                excess = one.excess(row, broker)
                if excess <= 0:
                    return
                if one.use[chunk[i]] <= (excess if is_small else self.most(one, row, broker)):
                    column = self._give(one, chunk[i : i + 1], broker, fits[i], lead=lead)
                    fits[i:, column] = self._at.within(fits[i:, column], chunk[i:], broker, column, lead=lead)

    def _give(self, one: Resource, some: Ints, broker: int, fits: Bools, *, lead: bool) -> slice:
        """Give something to the broker that is the emptiest afterwards: the part of the brokers that has less room."""
        if not fits.any() or not (lead or self._cluster.size[some[0]] <= self.budget):
            return slice(0, 0)
        near = fits & self._near(broker, lead=lead)
        fits = near if near.any() else fits
        full = [self._full(other, some, broker, lead=lead) for other in ([one] if lead else self.fullness)]
        target = int(np.where(fits, np.max(full, axis=0), np.inf).argmin())
        self._step(int(some[0]), broker, target, lead=lead)
        return slice(target, target + 1)

    def _near(self, broker: int, *, lead: bool) -> Bools:
        """The brokers to prefer: those of the rack if replicas are to stay in theirs, otherwise all."""
        rack = self._cluster.rack
        return np.asarray((rack == rack[broker]) | (lead or not self._cluster.is_rack_local), np.bool_)

    def _full(self, one: Resource, some: Ints, broker: int, *, lead: bool) -> Floats:
        row, need = one.row[some[0]], self._at.needs(one, some, broker, lead=lead)
        return np.asarray((one.load[row] + need) / np.maximum(one.share[row], TINY))

    def _step(self, partition: int, source: int, target: int, *, lead: bool) -> None:
        self._at.step(partition, source, target, lead=lead)
        # A broker that had a replica before, which left it, gets it back without a copy.
        is_copied = not lead and target not in self._cluster.replicas[partition]
        self.budget -= int(self._cluster.size[partition]) if is_copied else 0
        self._count += 1

    def _exchange(self, one: Resource, row: int, broker: int, *, lead: bool) -> bool:
        """Exchange with the emptiest brokers, at most once with each: leaders in turn, replicas where it is worth most.
        False if nothing fits."""
        give = self.ordered(one, self._givable(one, row, broker, lead=lead), lead=lead)[:_GIVEN_MAX]
        places = self._at.places(give, broker, lead=lead) & self._at.receivers[broker]
        others = np.nonzero(places.any(axis=0))[0]
        order = np.argsort(one.load[row, others] / np.maximum(one.share[row, others], TINY), kind="stable")
        others, near = others[order], self._near(broker, lead=lead)
        count = self._count
        for some in (others[near[others]], others[~near[others]]):
            tried = self._counterparts(broker, some[: 4 * _TRIED if lead else _TRIED], lead=lead)
            pairs = (self._pair(one, (row, broker, b), give[places[:, b]], take, lead=lead) for b, take in tried)
            found = (pair for pair in pairs if pair is not None)
            for _, p, other, q in found if lead else sorted(found, key=lambda pair: -pair[0]):
                if lead or self._still_fits(one, (row, broker, other), p, q):
                    self._step(p, broker, other, lead=lead)
                    self._step(q, other, broker, lead=lead)
            if count != self._count:
                return True
        return False

    def _counterparts(self, broker: int, others: Ints, *, lead: bool) -> Iterator[tuple[int, Ints]]:
        """What each of the other brokers may give for it: partitions of both that it leads, or its replicas."""
        mine = self._home[broker]
        rows = self._at.rows[mine]
        leader = np.where(self.free[mine] & (rows == broker).any(axis=1), rows[:, 0], NOBODY)
        for other in others.tolist():
            yield other, mine[leader == other] if lead else self._movable(other, led=False, lead=False)

    def _still_fits(self, one: Resource, at: tuple[int, int, int], given: int, taken: int) -> bool:
        """Whether an exchange of replicas is possible after others of the same broker."""
        is_there = bool((self._at.rows[given] == at[1]).any())
        return is_there and self._pair(one, at, np.array([given]), np.array([taken]), lead=False) is not None

    def _pair(self, one: Resource, at: tuple[int, int, int], give: Ints, take: Ints, *, lead: bool) -> _Pair | None:
        """The exchange with another broker that lowers the excess most for its bytes: by how much per byte, the given
        partition, the broker, the taken partition."""
        row, broker, other = at
        take = take if lead else take[self._at.balancing(give, take, broker, other)]
        give = give[: max(1, _PAIRS_MAX // max(len(take), 1))]
        taken = self._at.needs(one, take, other, lead=lead) * (one.row[take] == row)
        gain = self._at.needs(one, give, broker, lead=lead)[:, None] - taken
        size = np.zeros(gain.shape) if lead else self._cluster.size[give][:, None] + self._cluster.size[take]
        excess, average = one.excess(row, broker), one.load[row, broker] / max(self._bytes[broker], 1)
        fits = (gain >= np.maximum(_GAIN * excess, _WORTH * average * size)) & (size <= self.budget)
        i, j = np.nonzero(fits & (gain <= self.most(one, row, broker)))
        fits = self._at.exchanges(give[i], take[j], broker, other, lead=lead)
        i, j = i[fits], j[fits]
        worth = np.minimum(gain[i, j], excess) / (size[i, j] + 1)
        for _ in range(_TRIED if len(worth) else 0):
            best = int(worth.argmax())
            p, q = int(give[i[best]]), int(take[j[best]])
            if worth[best] > 0 and (lead or self._at.places(np.array([q]), other, lead=False)[0, broker]):
                return float(worth[best]), p, other, q
            worth[j == j[best]] = 0.0
        return None
