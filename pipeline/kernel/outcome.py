"""What the kernel answers with: where replicas are to be, why others stay, what it costs against the least it could.

Bytes are counted from the rows before and after, not by who decided them; the bound is worked out from the rows before,
over what is done: what was refused is not done, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
import numpy as np

from pipeline.kernel.cluster import MOVING, NOBODY, NOT_ONLINE, Bools, Cluster, Floats, Ints
from pipeline.kernel.seats import NO_BROKER, NO_DISK, NO_IN, NO_OUT, NO_ROOM

TOO_LARGE: Final = -6
BUDGET: Final = -7
DEAD_BROTHER: Final = -8
LAST_IN_RACK: Final = -9
NO_OUT_STAYING: Final = -10

REASONS: Final = {
    NO_BROKER: "every broker left in the racks that may take it holds one already",
    NO_DISK: "no broker in the racks that may take it has the disk",
    NO_IN: "no broker in the racks that may take it can receive what is written",
    NO_OUT: "no broker in the racks that may take it could send what is read, if it led",
    NO_ROOM: "every broker in the racks that may take it would come above the level aimed at",
    TOO_LARGE: "without it its broker would fall below the mean",
    BUDGET: "it would go beyond the bytes that may be moved",
    DEAD_BROTHER: "a replica of its partition is on a dead broker, for which a move would wait: drain that one first",
    NO_OUT_STAYING: "a broker that keeps its replica could not send what more of them take, if it led",
    LAST_IN_RACK: "its rack would have none, and every rack that may take it has one already",
}
HELD: Final = {MOVING: "it is being reassigned", NOT_ONLINE: "it is being reduced"}

Reason = tuple[int, int, str]
"""Partition, broker or NOBODY, why not."""


@attrs.frozen(eq=False)
class Outcome:
    """A plan in indexes. `replicas`: the rows of all partitions afterwards, at least as wide as before."""

    replicas: Ints
    reasons: tuple[Reason, ...]
    bytes_bound: int

    def changed(self, cluster: Cluster) -> Ints:
        """The partitions whose row is another, ascending."""
        before = widened(cluster.replicas, self.replicas.shape[1])
        return np.nonzero((before != self.replicas).any(axis=1))[0]


def widened(replicas: Ints, width: int) -> Ints:
    """The rows with at least `width` columns."""
    more = width - replicas.shape[1]
    return np.pad(replicas, ((0, 0), (0, more)), constant_values=NOBODY) if more > 0 else replicas


def added(before: Ints, after: Ints) -> Ints:
    """How many brokers of each row of `after` are not in that of `before`: what has to be copied."""
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
    """Why partitions that somebody asked for are left alone as a whole."""
    return [(p, NOBODY, HELD[int(cluster.held[p])]) for p in wanted]


def weights(cluster: Cluster, usable: Bools) -> Floats:
    """What share of the bytes is a broker's: that of its disk where all usable ones' are known, else one each."""
    disks = cluster.disk_max.astype(np.float64)
    mine = disks[usable]
    if not len(mine) or (mine >= 2.0**62).any() or (mine <= 0).any() or (mine == mine[0]).all():
        return np.ones(len(disks))
    return np.where(disks > 0, disks / mine.mean(), 1.0)


def by_size(size: Ints, among: Ints) -> Ints:
    """The partitions `among` (ascending), larger ones first: the total order of every plan."""
    return among[np.argsort(-size[among], kind="stable")]
