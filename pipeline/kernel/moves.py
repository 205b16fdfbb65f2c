"""Plans that replace, add or remove replicas because of a rule: drain, racks, replication factor.

A partition is changed as a whole or not at all. A replica on a dead broker is replaced whenever its partition is
changed: a reassignment that keeps it would wait for the broker, and might never end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .cluster import NOBODY, Bools, Cluster, Ints, distinct_racks, potential_out
from .leaders import even_leaders
from .outcome import EXCLUDED, NO_OUT_STAYING, REASONS, Outcome, Reason, by_size, held_back, weights, with_rows
from .seats import Seats

Told = Callable[[int, int], None]
"""Called with the amount done and the total."""

Lagging = Mapping[int, frozenset[int]]
"""For partitions that have some: the brokers whose replica is not in sync."""
_NONE: frozenset[int] = frozenset()
NOBODY_LAGS: Lagging = {}

_TELL_EVERY = 4096
_Choice = Callable[[int, list[int], Seats], tuple[list[int], list[int]]]
"""For a partition's row: the brokers that stay, and the row with NOBODY in the places of new ones."""


def quiet(_done: int, _total: int) -> None:
    """No progress bar."""


def drain(cluster: Cluster, leaving: Bools, closed: Bools, *, told: Told = quiet) -> Outcome:
    """No replica is left on `leaving` brokers, unless a reason says why. `closed` brokers keep theirs and get none."""
    gone = leaving | ~cluster.alive
    concerned = _on(cluster.replicas, leaving)

    goes: list[bool] = gone.tolist()

    def choose(_: int, row: list[int], __: Seats) -> tuple[list[int], list[int]]:
        return [b for b in row if not goes[b]], [NOBODY if goes[b] else b for b in row]

    needed = ((cluster.replicas != NOBODY) & gone[cluster.replicas]).sum(axis=1)
    return _replace(cluster, concerned, choose, ~gone & ~closed, needed, told=told)


def fix_racks(cluster: Cluster, closed: Bools, lagging: Lagging = NOBODY_LAGS, *, told: Told = quiet) -> Outcome:
    """Every partition is in as many racks as possible; `closed` brokers get no replica."""
    usable = cluster.alive & ~closed
    racks = min(max(1, len(np.unique(cluster.rack[_spread(cluster, usable)]))), cluster.min_racks)
    wanted = np.minimum(cluster.factors, racks)
    living = np.where((cluster.replicas != NOBODY) & cluster.alive[cluster.replicas], cluster.replicas, NOBODY)
    dead = cluster.factors - (living != NOBODY).sum(axis=1)
    short = wanted - distinct_racks(living, cluster.rack)
    concerned = (distinct_racks(cluster.replicas, cluster.rack) < wanted) & (short > 0) & cluster.chosen
    needed = np.maximum(dead, short)

    def choose(partition: int, row: list[int], seats: Seats) -> tuple[list[int], list[int]]:
        staying = [b for b in row if cluster.alive[b]]
        for _ in range(int(needed[partition] - dead[partition])):
            staying.remove(_spare(staying, row, seats, lagging.get(partition, _NONE)))
        return staying, [b if b in staying else NOBODY for b in row]

    return _replace(cluster, concerned, choose, usable, needed, told=told)


def set_factor(
    cluster: Cluster,
    closed: Bools,
    factor: int,
    lagging: Lagging = NOBODY_LAGS,
    *,
    told: Told = quiet,
) -> Outcome:
    """The chosen partitions have `factor` replicas; the others are not changed. `closed` brokers get no replica."""
    usable = cluster.alive & ~closed
    concerned = cluster.chosen & (cluster.factors != factor)
    living = ((cluster.replicas != NOBODY) & cluster.alive[cluster.replicas]).sum(axis=1)

    def choose(partition: int, row: list[int], seats: Seats) -> tuple[list[int], list[int]]:
        staying = [b for b in row if cluster.alive[b]]
        while len(staying) > factor:
            staying.remove(_spare(staying, row, seats, lagging.get(partition, _NONE)))
        kept = [b if b in staying else NOBODY for b in row]
        holes = factor - len(staying)
        while kept.count(NOBODY) > holes:
            kept.remove(NOBODY)
        return staying, kept + [NOBODY] * (holes - kept.count(NOBODY))

    needed = np.maximum(0, factor - living)
    return _replace(cluster, concerned, choose, usable, needed, told=told, factor=factor)


def _spare(staying: list[int], row: list[int], seats: Seats, lagging: frozenset[int]) -> int:
    """The best replica to remove: in a rack that has several, then not on an excluded broker, in the rack that has the
    most, not in sync (a reassignment would wait for it), not the first of the row, on the broker that is the fullest
    after earlier removals, with the highest index."""
    racks = [seats.rack[b] for b in staying]

    def rank(b: int) -> tuple[bool, bool, int, bool, bool, tuple[float, float], int]:
        there = racks.count(seats.rack[b])
        return there > 1, not seats.keeps[b], there, b in lagging, b != row[0], seats.left(b), b

    return max(staying, key=rank)


def _spread(cluster: Cluster, usable: Bools) -> Bools:
    """The brokers over whose racks partitions are spread: an excluded broker gets nothing, but its rack exists."""
    return usable | (cluster.keeps & cluster.alive)


def _on(replicas: Ints, brokers: Bools) -> Bools:
    """The partitions with a replica on one of the brokers."""
    return np.asarray(((replicas != NOBODY) & brokers[replicas]).any(axis=1))


def _replace(
    cluster: Cluster,
    concerned: Bools,
    choose: _Choice,
    usable: Bools,
    needed: Ints,
    *,
    told: Told,
    factor: int | None = None,
) -> Outcome:
    """`factor`: the replication factor afterwards, if it changes."""
    seats = Seats(cluster, _spread(cluster, usable), weights(cluster, usable))
    free = concerned & (cluster.held == 0)
    order = by_size(cluster.size, np.nonzero(free)[0])
    reasons: list[Reason] = held_back(cluster, np.nonzero(concerned & ~free)[0].tolist())
    rows: dict[int, list[int]] = {}
    carried = _Carried(cluster, order, factor)
    for done, (partition, row) in enumerate(zip(order.tolist(), cluster.replicas[order].tolist(), strict=True)):
        if not done % _TELL_EVERY:
            told(done, len(order))
        before = [b for b in row if b >= 0]
        staying, after_row = choose(partition, before, seats)
        kept = [b for b in before if seats.keeps[b] and b not in staying]
        needs = (carried.of(done), carried.more(done))
        found = EXCLUDED if kept else _fill(staying, after_row, seats, *needs, before=before)
        if isinstance(found, int):
            leaving = kept or [b for b in before if not usable[b] and not seats.keeps[b]]
            reasons += [(partition, b, REASONS[found]) for b in leaving or [NOBODY]]
        else:
            rows[partition] = found
            seats.leave([b for b in before if b not in found], carried.of(done)[0])
    after = with_rows(cluster.replicas, rows)
    touched = np.zeros(len(cluster.size), np.bool_)
    touched[list(rows)] = True
    bound = int((cluster.size * needed)[touched].sum())
    return Outcome(even_leaders(after, touched, usable), tuple(sorted(reasons)), bound, seats.rooms.added)


class _Carried:
    """Size and rates of the partitions of an order, as plain numbers. The sending rate is that of the new factor, if
    larger."""

    def __init__(self, cluster: Cluster, order: Ints, factor: int | None) -> None:
        before = potential_out(cluster, cluster.factors)
        after = before if factor is None else potential_out(cluster, np.maximum(cluster.factors, factor))
        sizes = zip(cluster.size[order].tolist(), cluster.sized[order].tolist(), strict=True)
        self._sizes = [size if known else None for size, known in sizes]
        self._writes: list[float] = cluster.write_bps[order].tolist()
        self._sends: list[float] = after[order].tolist()
        self._more: list[float] = (after - before)[order].tolist()

    def of(self, place: int) -> tuple[int | None, float, float]:
        """Size (None: unknown), rate of writing, and the rate that it would send as the leader, in bytes per second."""
        return self._sizes[place], self._writes[place], self._sends[place]

    def more(self, place: int) -> float:
        """By how much the sending rate of each staying replica would grow, if it led."""
        return self._more[place]


def _fill(
    staying: list[int],
    row: list[int],
    seats: Seats,
    carried: tuple[int | None, float, float],
    more: float,
    *,
    before: list[int],
) -> list[int] | int:
    """The row with a broker in the place of each NOBODY; or the reason why there is none, with nothing changed. The
    found brokers are appended to `staying`. `before`: the earlier row, whose places are the same unless it shrinks."""
    kept = len(staying)
    if more and not all(seats.can_send(b, more) for b in staying):
        return NO_OUT_STAYING
    while NOBODY in row:
        place = row.index(NOBODY)
        near = before[place] if place < len(before) <= len(row) else NOBODY
        new = seats.find(staying, *carried, near)
        if new < 0:
            for other in staying[kept:]:
                seats.drop(other, *carried)
            return new
        seats.add(new, *carried)
        staying.append(new)
        row[place] = new
    for broker in staying[:kept] if more else ():
        seats.send(broker, more)
    return row
