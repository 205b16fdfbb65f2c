"""Plans that level bytes: onto added brokers, or over all; optionally within a budget.

* The level: no broker exceeds its share (by weight) by more than the tolerance. Brokers above it give, brokers below it
  take, and none does both, so a broker's peak during the move is its value before or after it.
* First pass, larger replicas first: no broker goes below the level, so that no byte is moved needlessly. Second pass,
  smaller ones first: a broker that is still above gives one that brings it below the level, and below its share by no
  more than the tolerance. Replicas of equal size differ by a few bytes, which must not keep half of them back.
* A budget raises the level to the lowest that it can pay for, so that the fullest brokers benefit first.
* Racks of different size: each broker's share is what its rack can hold (`racks`), so the others are level among
  themselves. A broker that has to hold more than the mean has that reason.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from .cluster import NO_LIMIT, NOBODY, Bools, Cluster, Floats, Ints, per_broker
from .leaders import even_leaders
from .moves import Told, quiet
from .outcome import (
    BUDGET,
    DEAD_BROTHER,
    LAST_IN_RACK,
    REASONS,
    TOO_LARGE,
    Outcome,
    Reason,
    held_back,
    weights,
    with_rows,
)
from .racks import cannot_leave, rack_shares
from .seats import NO_ROOM, Seats

_TELL_EVERY = 65_536


def level(
    cluster: Cluster,
    closed: Bools,
    receivers: Bools,
    *,
    tolerance: float,
    bytes_max: int | None = None,
    told: Told = quiet,
) -> Outcome:
    """No live broker exceeds its share by more than `tolerance`, as far as `receivers` can take the excess. `closed`
    brokers neither give nor take."""
    live = cluster.alive & ~closed
    budget = NO_LIMIT if bytes_max is None else bytes_max
    plain = _shares(cluster, live)
    share = rack_shares(cluster, live, plain)
    held = per_broker(cluster.replicas, cluster.size, len(live))
    aim = np.floor(_affordable(held[live], share[live], 1 + tolerance, budget) * share).astype(np.int64)
    gives = live & (held > aim)
    seats = Seats(cluster, receivers & live & ~gives, weights(cluster, live), _ceiling(aim, held, plain, live).tolist())
    work = _Work(cluster, seats, aim.tolist(), budget)
    order, sources = _order(cluster, gives)
    total = 2 * len(order)
    work.give(order, sources, work.aim, lambda done, _: told(done, total))
    work.refused.clear()
    work.give(
        order[::-1], sources[::-1], ((1 - tolerance) * share).tolist(), lambda done, _: told(len(order) + done, total)
    )
    rows = {p: row for p, row in work.rows.items() if row != [b for b in cluster.replicas[p].tolist() if b >= 0]}
    after = with_rows(cluster.replicas, rows)
    touched = np.zeros(len(cluster.size), np.bool_)
    touched[list(rows)] = True
    reached = per_broker(after, cluster.size, len(live))
    bound = int(np.maximum(held - np.maximum(aim, reached), 0)[gives].sum())
    reasons = _reasons(cluster, work, gives, reached > aim)
    above = live & (share > plain) & (reached > np.floor((1 + tolerance) * plain)) & (reached <= aim)
    reasons += _kept_by_racks(cluster, after, live, above)
    return Outcome(even_leaders(after, touched, live), tuple(sorted(set(reasons))), bound, seats.rooms.added)


def _shares(cluster: Cluster, live: Bools) -> Floats:
    """The bytes that each broker would hold if all bytes on live brokers were level."""
    weight = np.where(live, weights(cluster, live), 0.0)
    total = int(per_broker(cluster.replicas, cluster.size, len(live))[live].sum())
    return np.asarray(weight * (total / max(weight.sum(), 1e-300)), np.float64)


def _ceiling(aim: Ints, held: Ints, plain: Floats, live: Bools) -> Ints:
    """The bytes up to which brokers take: their aim, but never more than the fullest holds now, for its weight."""
    there = live & (plain > 0)
    most = (held[there] / plain[there]).max(initial=0.0)
    return np.asarray(np.minimum(aim, np.floor(most * plain)), np.int64)


def _affordable(held: Ints, share: Floats, wanted: float, budget: int) -> float:
    """The lowest level, as a multiple of the share and at least `wanted`, with an excess of at most `budget`."""
    there = share > 0
    held, share = held[there], share[there]
    if np.maximum(held - wanted * share, 0).sum() <= budget:
        return wanted
    order = np.argsort(-(held / share), kind="stable")
    levels = (np.cumsum(held[order]) - budget) / np.cumsum(share[order])
    return max(wanted, float(levels.max()))


def _order(cluster: Cluster, gives: Bools) -> tuple[Ints, Ints]:
    """The replicas that may move, larger first, then by partition and broker: their partitions and their brokers."""
    there = (cluster.replicas != NOBODY) & gives[cluster.replicas]
    there &= ((cluster.held == 0) & (cluster.size > 0))[:, None]
    partition, column = np.nonzero(there)
    broker = cluster.replicas[partition, column]
    order = np.lexsort((broker, partition, -cluster.size[partition]))
    return partition[order], broker[order]


@attrs.define
class _Work:
    """What is left to give, and what was refused."""

    cluster: Cluster
    seats: Seats
    aim: list[int]
    budget: int
    rows: dict[int, list[int]] = attrs.field(factory=dict)
    refused: list[tuple[int, int, int]] = attrs.field(factory=list)

    def give(self, order: Ints, sources: Ints, floor: list[int] | list[float], told: Told) -> None:
        """Move replicas in the given order, as long as their broker is above its aim and stays at `floor` or above."""
        held, aim = self.seats.bytes, self.aim
        sizes: list[int] = self.cluster.size[order].tolist()
        for done, (partition, source, size) in enumerate(_steps(order, sources, sizes)):
            if not done % _TELL_EVERY:
                told(done, len(sizes))
            if held[source] <= aim[source]:
                continue
            if held[source] - size < floor[source]:
                self.refused.append((partition, source, TOO_LARGE))
            elif size > self.budget:
                self.refused.append((partition, source, BUDGET))
            else:
                self._move(partition, source, size)

    def _move(self, partition: int, source: int, size: int) -> None:
        row = self.rows.get(partition)
        if row is None:
            row = [b for b in self.cluster.replicas[partition].tolist() if b >= 0]
        if source not in row:
            return  # the first pass moved it
        if not all(self.cluster.alive[b] for b in row):
            self.refused.append((partition, source, DEAD_BROTHER))
            return
        write = float(self.cluster.write_bps[partition])
        sends = float(self.cluster.read_bps[partition]) + write * max(0, len(row) - 1)
        staying = [b for b in row if b != source]
        if not self.seats.racks or self._leaves_its_rack(source, staying):
            self.refused.append((partition, source, LAST_IN_RACK if self.seats.racks else NO_ROOM))
            return
        found = self.seats.find(staying, size, write, sends, source)
        if found < 0:
            self.refused.append((partition, source, found))
            return
        self.seats.add(found, size, write, sends)
        self.seats.drop(source, size, write, sends)
        self.rows[partition] = [found if b == source else b for b in row]
        self.budget -= size

    def _leaves_its_rack(self, source: int, staying: list[int]) -> bool:
        """Whether the move would take the last replica out of a rack into a rack that has one: receivers may be in a
        few racks only, such as added brokers in one rack."""
        rack = self.seats.rack
        used = {rack[b] for b in staying}
        return len(used) < self.seats.min_racks and rack[source] not in used and used.issuperset(self.seats.racks)


def _steps(order: Ints, sources: Ints, sizes: list[int]) -> Iterable[tuple[int, int, int]]:
    return zip(order.tolist(), sources.tolist(), sizes, strict=True)


def _reasons(cluster: Cluster, work: _Work, gives: Bools, above: Bools) -> list[Reason]:
    """Why brokers that are still above the level keep their replicas."""
    found = [(p, b, REASONS[code]) for p, b, code in work.refused if above[b]]
    on = ((cluster.replicas != NOBODY) & (gives & above)[cluster.replicas]).any(axis=1)
    return found + held_back(cluster, np.nonzero(on & (cluster.held != 0))[0].tolist())


def _kept_by_racks(cluster: Cluster, after: Ints, live: Bools, above: Bools) -> list[Reason]:
    """Why brokers keep more than the mean that are as level as their racks allow."""
    partition, column = np.nonzero((after != NOBODY) & above[after])
    if not len(partition):
        return []
    broker = after[partition, column]
    stuck = cannot_leave(cluster, after, live)[cluster.rack[broker], partition]
    kept = zip(partition.tolist(), broker.tolist(), stuck.tolist(), strict=True)
    reasons = [(p, b, REASONS[LAST_IN_RACK if last else NO_ROOM]) for p, b, last in kept if cluster.held[p] == 0]
    return reasons + held_back(cluster, sorted({p for p in partition.tolist() if cluster.held[p] != 0}))
