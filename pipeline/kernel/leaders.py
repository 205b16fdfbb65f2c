"""Spreads preferred leaders evenly: the counts of the brokers, sorted from the largest, are the least possible, number
by number; and of all ways to reach them, this one changes the first replica of the fewest rows.

It is a flow over brokers. A partition led by a and also held by b is an edge from a to b. Its cost is in changed rows:
1 if the row is unchanged so far, -1 if b led it originally, otherwise 0.
* Counts are least if no path leads from a broker to one with at least two fewer leaders (the optimum of a
  semi-matching; Harvey et al., 2006). The fullest broker is taken first. Once it has no such path, no broker that it
  reaches has one either, and later shifts do not change that, since paths of emptier brokers do not get there. So each
  broker is finished once.
* Each path is a cheapest one, so there is never a cycle of negative cost, and the changed rows are the fewest for the
  counts at that moment. At the end brokers exchange places with ones that lead one fewer, along paths of negative cost,
  until none is left: the fewest for these counts, whichever broker has which count.
* Each step shifts as many partitions along a path as its end brokers and its narrowest edge allow. Paths are found on
  matrices over brokers; partitions are read only where they are shifted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from .cluster import NOBODY, Bools, Cluster, Ints, leaders_per_broker
from .outcome import Outcome

_FAR: Final = 2**40
_STEP: Final = 2**20  # the cost of a changed row; each edge adds 1, so that short paths come first


def leaders(cluster: Cluster, usable: Bools) -> Outcome:
    """Every partition that may move can change its first replica; no data is copied. A partition with a replica on a
    dead broker is not changed: its reassignment would wait for that broker."""
    after = even_leaders(cluster.replicas, (cluster.held == 0) & ~waits(cluster), usable, usable & cluster.takes)
    return Outcome(after, (), 0)


def waits(cluster: Cluster) -> Bools:
    """The partitions with a replica on a dead broker."""
    return np.asarray(((cluster.replicas != NOBODY) & ~cluster.alive[cluster.replicas]).any(axis=1), np.bool_)


def even_leaders(replicas: Ints, touched: Bools, may_lead: Bools, may_take: Bools | None = None) -> Ints:
    """The rows, with other first replicas in some of `touched`, so that the leader counts of the brokers in `may_lead`
    are the least. A broker outside `may_lead` keeps the leaders that it has; only those in `may_take` get more."""
    if not may_lead.any() or not touched.any():
        return replicas
    flow = _Flow(replicas, np.nonzero(touched)[0], may_lead, may_lead if may_take is None else may_take)
    flow.level()
    flow.restore()
    return flow.rows()


class _Flow:
    """The leaders of the touched partitions, and how many could be shifted between each pair of brokers at each
    cost."""

    def __init__(self, replicas: Ints, touched: Ints, may_lead: Bools, may_take: Bools) -> None:
        self._whole, self._touched, self._may_lead, self._may_take = replicas, touched, may_lead, may_take
        self._count = leaders_per_broker(replicas, len(may_lead))
        self._replicas = replicas[touched]
        self._home = self._replicas[:, 0].copy()
        self._lead = self._home.copy()
        self._holders = by_broker(self._replicas, len(may_lead))
        self._room = np.zeros((3, len(may_lead), len(may_lead)), np.int64)
        self._cost = np.full((len(may_lead), len(may_lead)), _FAR, np.int64)
        self._add(np.arange(len(touched)), 1)
        for broker in range(len(may_lead)):
            self._price(broker)

    def _add(self, partitions: Ints, sign: int) -> None:
        """Count the possible shifts of these partitions from their current leaders; with sign -1 remove them."""
        rows = self._replicas[partitions]
        lead, home = self._lead[partitions, None], self._home[partitions, None]
        kind = np.where(rows == home, 0, np.where(lead == home, 2, 1))
        there = (rows != NOBODY) & (rows != lead) & self._may_take[rows] & self._may_lead[lead]
        np.add.at(self._room, (kind[there], np.broadcast_to(lead, rows.shape)[there], rows[there]), sign)

    def _price(self, broker: int) -> None:
        """Compute the least cost of a shift from the broker to each other one."""
        room, costs = self._room[:, broker], self._cost[broker]
        costs[:] = _FAR
        for kind in (2, 1, 0):
            costs[room[kind] > 0] = (kind - 1) * _STEP + 1

    # --- the counts

    def level(self) -> None:
        """Shift until no broker reaches one that leads two fewer."""
        count, open_ = self._count, self._may_lead.copy()
        mean = int(count[open_].sum()) / int(open_.sum())
        levels = (int(np.ceil(mean)), int(np.floor(mean)))
        while open_.any():
            a = int(np.where(open_, count, NOBODY).argmax())
            far, came = self._paths(np.array([a]))
            ends = np.nonzero((far < _FAR) & (count <= count[a] - 2))[0]
            if len(ends):
                self._give(a, ends, (far, came), levels)
            else:
                open_ &= far == _FAR  # it is finished, and so is every broker that it reaches

    def _give(self, a: int, ends: Ints, paths: tuple[Ints, Ints], levels: tuple[int, int]) -> None:
        """Shift from `a` to brokers of `ends`: first to those that lack most, then by the cost of the path, then to
        those with the fewest leaders. A path stays a cheapest one as long as its edges cost the same."""
        count, far = self._count, paths[0]
        lack = (count[ends, None] >= np.array(levels)).sum(axis=1)
        cost = (far[ends] + _STEP // 2) // _STEP
        for b in ends[np.lexsort((ends, far[ends], count[ends], cost, lack))].tolist():
            path = self._path(b, paths)
            if count[b] > count[a] - 2 or not path:
                continue
            self._shift(path, _most(int(count[a]), int(count[b]), levels))
            if count[a] in levels:
                return

    # --- the rows

    def restore(self) -> None:
        """Let brokers exchange places with others that lead one fewer, if that restores original rows."""
        there = np.unique(self._count[self._may_lead])[:-1].tolist()
        while any(self._restore(fewer) for fewer in there):
            pass

    def _restore(self, fewer: int) -> bool:
        gained = False
        while True:
            starts, ends = (self._may_lead & (self._count == fewer + more) for more in (1, 0))
            paths = self._paths(np.nonzero(starts)[0])
            far = np.where(ends, paths[0], _FAR)
            if not starts.any() or far.min() > -_STEP // 2:
                return gained
            self._shift(self._path(int(far.argmin()), paths), 1)
            gained = True

    # --- paths

    def _paths(self, starts: Ints) -> tuple[Ints, Ints]:
        """For each broker the cost of the cheapest path from one of `starts` (_FAR: none), and its predecessor; NOBODY
        at a start."""
        brokers = np.arange(len(self._may_lead))
        far, came = np.full(len(brokers), _FAR, np.int64), np.full(len(brokers), NOBODY, np.int64)
        far[starts] = 0
        active = starts
        while len(active):
            reached = far[active, None] + self._cost[active]
            best = reached.argmin(axis=0)
            cost = reached[best, brokers]
            better = (cost < far) & (cost < _FAR // 2)
            far[better], came[better] = cost[better], active[best[better]]
            active = np.nonzero(better)[0]
        return far, came

    def _path(self, b: int, paths: tuple[Ints, Ints]) -> list[int]:
        """The path to `b`; empty if an edge of it costs more by now."""
        far, came = paths
        path = [b]
        while came[path[-1]] != NOBODY:
            y, x = path[-1], int(came[path[-1]])
            if self._cost[x, y] != far[y] - far[x]:
                return []
            path.append(x)
        return path[::-1]

    def _shift(self, path: list[int], most: int) -> None:
        """Shift up to `most` partitions along the path, the first ones of each edge."""
        edges = [(x, y, int((self._room[:, x, y] > 0).argmax())) for x, y in pairwise(path)]
        moved = min([most, *(int(self._room[kind, x, y]) for x, y, kind in edges)])
        for y, partitions in [(y, self._chosen(x, y, kind)[:moved]) for x, y, kind in edges]:
            self._add(partitions, -1)
            self._lead[partitions] = y
            self._add(partitions, 1)
        self._count[path[0]] -= moved
        self._count[path[-1]] += moved
        for broker in path:
            self._price(broker)

    def _chosen(self, x: int, y: int, kind: int) -> Ints:
        """The partitions that `x` leads and `y` could lead at the cost of that kind, ascending."""
        held = self._holders[y]
        held = held[self._lead[held] == x]
        home = self._home[held]
        kinds = (home == y, (home != x) & (home != y), home == x)
        chosen: Ints = held[kinds[kind]]
        return chosen

    def rows(self) -> Ints:
        """All rows; a new leader exchanges its place with the original one."""
        changed = np.nonzero(self._lead != self._home)[0]
        if not len(changed):
            return self._whole
        rows, lead = self._replicas[changed], self._lead[changed]
        rows[np.arange(len(changed)), (rows == lead[:, None]).argmax(axis=1)] = rows[:, 0]
        rows[:, 0] = lead
        found = self._whole.copy()
        found[self._touched[changed]] = rows
        return found


def _most(full: int, lacking: int, levels: tuple[int, int]) -> int:
    """How many to shift at once: neither end may cross a level between them, nor the middle of both."""
    for level in levels:
        if full > level > lacking:
            return min(full - level, level - lacking)
    return (full - lacking) // 2


def by_broker(replicas: Ints, brokers: int) -> list[Ints]:
    """For each broker its rows, ascending."""
    rows, columns = np.nonzero(replicas != NOBODY)
    held = replicas[rows, columns]
    order = np.argsort(held, kind="stable")
    ends = np.searchsorted(held[order], np.arange(brokers + 1)).tolist()
    return [rows[order[start:end]] for start, end in pairwise(ends)]
