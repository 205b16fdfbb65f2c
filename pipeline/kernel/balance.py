"""Plans that level several resources of brokers at once, after they repaired brokers above a cap.

* First the caps, then the chosen resources.
* If that is not enough, limits are loosened and tightened again step by step: a broker that is full of one resource can
  then take more of it for another one, though not more than the fullest broker had before. With a budget of bytes that
  is the only way, so that the fullest brokers give first.
* Leaders are evened among the changed partitions at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from .cluster import Bools, Cluster, Floats
from .goals import PEAK, TOPIC_LEADERS, TOPIC_REPLICAS, Goals, limit_to, resources_of
from .leaders import by_broker, even_leaders
from .moves import Told, quiet
from .outcome import BUDGET, DEAD_BROTHER, HELD, NO_CAPACITY, REASONS, TOO_LARGE, UNSIZED, Outcome, Reason
from .placement import Placement, Resource
from .resources import BYTES, IN, LEADERS, OUT, POTENTIAL_OUT, REPLICAS
from .seats import NO_BROKER, NO_ROOM
from .steps import Steps

_ORDER: Final = (LEADERS, TOPIC_LEADERS, IN, POTENTIAL_OUT, OUT, TOPIC_REPLICAS, REPLICAS, BYTES)
_STEP: Final = 0.001  # of the tolerance, at the end of its way
_REASONS_MAX: Final = 20  # of a broker and resource: the partitions that use most of it


def balance(cluster: Cluster, closed: Bools, receivers: Bools, goals: Goals, *, told: Told = quiet) -> Outcome:
    """No live broker exceeds a cap, nor its share of a chosen resource by more than the tolerance, as far as
    `receivers` can take the excess. `closed` brokers neither give nor take."""
    work = _Work(cluster, cluster.alive & ~closed, receivers, goals)
    work.steps.settle(told)
    for loosened in work.stages():
        work.limit(loosened)
        work.steps.settle(told)
    work.even_leaders(told)
    return Outcome(work.at.rows, tuple(sorted(work.reasons())), work.bound(), work.at.rooms.added)


class _Work:
    """The placement, the steps that change it, and how far they got."""

    def __init__(self, cluster: Cluster, live: Bools, receivers: Bools, goals: Goals) -> None:
        self._cluster, self._goals = cluster, goals
        found = {one.kind: one for one in resources_of(cluster, goals, live)}
        self._resources = {kind: found[kind] for kind in _ORDER if kind in found}
        self._chosen = [found[kind] for kind in sorted(goals.kinds)]
        self._before = {kind: one.load.copy() for kind, one in self._resources.items()}
        self.at = Placement(cluster, live, receivers & live, list(self._resources.values()), found[PEAK])
        self._loose: dict[int, float] = {}
        self._home = by_broker(cluster.replicas, len(live))
        self.steps = Steps(cluster, self.at, list(self._resources.values()), self._home, goals.bytes_max)
        self.steps.fullness = [one for one in self._chosen if one.kind < TOPIC_REPLICAS] or [found[BYTES]]

    def stages(self) -> Iterator[float]:
        """How far limits are loosened: not at all, unless bytes are limited; then from half of the present excess down
        to nothing."""
        self.limit(0.0)
        if self._goals.bytes_max is None:
            yield 0.0
        loosened, worst = 1.0, max(one.worst(one.load, self.at.live) for one in self._chosen)
        for one in self._chosen:
            self._loose[one.kind] = min(worst, one.worst(self._before[one.kind], self.at.live))
        while (loosened := loosened / 2) * worst > _STEP:
            yield loosened
        if worst > 0:
            yield 0.0

    def limit(self, loosened: float) -> None:
        """Limit the chosen resources: by the tolerance, and a part of what is above it."""
        self.steps.kept = max(0.0, 1 - self._goals.tolerance)
        for one in self._chosen:
            limit_to(one, self._goals.tolerance + loosened * self._loose.get(one.kind, 0.0))

    def even_leaders(self, told: Told) -> None:
        """Even the leaders of the changed partitions, or of all if leaders are chosen and not yet level: as far as
        possible if the limits allow that, otherwise step by step."""
        one = self._resources[LEADERS]
        if one not in self._chosen:
            self.steps.free = self.steps.free & (self.at.rows != self._cluster.replicas).any(axis=1)
        elif not one.above(self.at.live):
            return
        if not self.at.lead_by(even_leaders(self.at.rows, self.steps.free, self.at.receivers)):
            limit = one.limit
            limit_to(one, 0.0)
            self.steps.lower(one, told, lead=True)
            one.limit = limit

    def bound(self) -> int:
        """The bytes that had to be copied to reach what was reached of the limits, whatever the plan: of each broker
        the replicas that use most of a resource for their bytes, the last one in part. A replica that leaves lowers all
        resources, so the one counts that needs most bytes."""
        total = np.zeros(len(self.at.live))
        for kind, one in self._resources.items():
            excess = self._before[kind] - np.maximum(one.limit, one.load)
            costs = np.zeros(len(total))
            for row, broker in np.argwhere((excess > 0) & self.at.live & (not one.led)).tolist():
                costs[broker] += np.interp(excess[row, broker], *self._leaving(one, row, broker))
            total = np.maximum(total, costs)
        return int(np.floor(total).sum())

    def _leaving(self, one: Resource, row: int, broker: int) -> tuple[Floats, Floats]:
        """What leaves the broker of the resource, and its bytes, by number of replicas."""
        some = self._home[broker]
        some = self.steps.ordered(one, some[(one.row[some] == row) & (one.use[some] > 0)], lead=False)
        return np.append(0.0, np.cumsum(one.use[some])), np.append(0.0, np.cumsum(self._cluster.size[some]))

    def reasons(self) -> Iterable[Reason]:
        """For each broker above a limit: why the partitions stay that use most of the resource."""
        found: dict[tuple[int, int], Reason] = {}
        for one in self._resources.values():
            for row, broker in one.above(self.at.live):
                first, last = np.searchsorted(one.row, [row, row + 1])
                rows = self.at.rows[first:last]
                some = np.nonzero(rows[:, 0] == broker if one.led else (rows == broker).any(axis=1))[0] + first
                some = some[one.use[some] > 0]
                for p in some[np.argsort(-one.use[some], kind="stable")][:_REASONS_MAX].tolist():
                    found.setdefault((p, broker), (p, broker, self._why(one, row, broker, p)))
        return found.values()

    def _why(self, one: Resource, row: int, broker: int, partition: int) -> str:
        if self._cluster.held[partition]:
            return HELD[int(self._cluster.held[partition])]
        if self.at.waits[partition]:
            return REASONS[DEAD_BROTHER]
        if not self._cluster.sized[partition]:
            return REASONS[UNSIZED]
        if one.use[partition] > self.steps.most(one, row, broker):
            return REASONS[TOO_LARGE]
        if self._cluster.size[partition] > self.steps.budget:
            return REASONS[BUDGET]
        some = np.array([partition])
        places = self.at.places(some, broker, lead=False)
        if not places.any():
            return REASONS[NO_BROKER]
        return REASONS[NO_ROOM if self.at.within(places, some, broker, lead=False, caps=True).any() else NO_CAPACITY]
