"""The result of the kernel: new replicas, the reasons for others that stay, and the copied bytes with their lower
bound.

Bytes are counted from the rows before and after. The bound is computed from the rows before, over what is done: refused
partitions cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs
import numpy as np

from .cluster import MOVING, NOBODY, NOT_ONLINE, Bools, Cluster, Floats, Ints
from .seats import NO_BROKER, NO_DISK, NO_IN, NO_OUT, NO_ROOM

TOO_LARGE: Final = -6
BUDGET: Final = -7
DEAD_BROTHER: Final = -8
LAST_IN_RACK: Final = -9
NO_OUT_STAYING: Final = -10

REASONS: Final = {
    NO_BROKER: "every remaining broker in the possible racks already holds a replica of the partition",
    NO_DISK: "no broker in the possible racks has enough disk",
    NO_IN: "no broker in the possible racks can receive the rate of writing",
    NO_OUT: "no broker in the possible racks could send the rate of reading, if it led the partition",
    NO_ROOM: "every broker in the possible racks would exceed the target level",
    TOO_LARGE: "without the replica its broker would fall below the mean",
    BUDGET: "the replica exceeds the bytes that may still be moved",
    DEAD_BROTHER: "another replica is on a dead broker, for which a move would wait: drain that broker first",
    NO_OUT_STAYING: "a broker that keeps its replica could not send to the added ones, if it led the partition",
    LAST_IN_RACK: "the rack would lose its only replica, and every possible rack already has one",
}
HELD: Final = {MOVING: "the partition is being reassigned", NOT_ONLINE: "the partition is being reduced"}

Reason = tuple[int, int, str]
"""Partition, broker or NOBODY, and the reason."""


@attrs.frozen(eq=False)
class Outcome:
    """A plan in indexes. `replicas`: the rows of all partitions afterwards, at least as wide as before. `added`: as in
    `Rooms`."""

    replicas: Ints
    reasons: tuple[Reason, ...]
    bytes_bound: int
    added: Mapping[int, list[tuple[int, int]]] = attrs.field(factory=dict)

    def changed(self, cluster: Cluster) -> Ints:
        """The partitions whose row changes, ascending."""
        before = widened(cluster.replicas, self.replicas.shape[1])
        return np.nonzero((before != self.replicas).any(axis=1))[0]


def widened(replicas: Ints, width: int) -> Ints:
    """The rows with at least `width` columns."""
    more = width - replicas.shape[1]
    return np.pad(replicas, ((0, 0), (0, more)), constant_values=NOBODY) if more > 0 else replicas


def added(before: Ints, after: Ints) -> Ints:
    """The number of brokers in each row of `after` that are not in that of `before`: the copies to make."""
    count = np.zeros(len(before), np.int64)
    for column in after.T:
        count += (column != NOBODY) & (before != column[:, None]).all(axis=1)
    return count


def with_rows(replicas: Ints, rows: dict[int, list[int]]) -> Ints:
    """`replicas` with other rows for some partitions."""
    width = max([replicas.shape[1], *map(len, rows.values())])
    found = widened(replicas, width).copy()
    if rows:
        padded = [row + [NOBODY] * (width - len(row)) for row in rows.values()]
        found[list(rows)] = padded
    return found


def held_back(cluster: Cluster, wanted: Iterable[int]) -> list[Reason]:
    """The reasons for requested partitions that are not changed as a whole."""
    return [(p, NOBODY, HELD[int(cluster.held[p])]) for p in wanted]


def weights(cluster: Cluster, usable: Bools) -> Floats:
    """Each broker's share of the bytes: in proportion to its disk if all usable disks are known, otherwise equal."""
    disks = cluster.disk_max.astype(np.float64)
    mine = disks[usable]
    if not len(mine) or (mine >= 2.0**62).any() or (mine <= 0).any() or (mine == mine[0]).all():
        return np.ones(len(disks))
    return np.where(disks > 0, disks / mine.mean(), 1.0)


def by_size(size: Ints, among: Ints) -> Ints:
    """The partitions `among` (ascending), larger ones first: the total order of every plan."""
    return among[np.argsort(-size[among], kind="stable")]
