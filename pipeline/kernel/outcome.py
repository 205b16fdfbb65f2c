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

from .cluster import MOVING, NOBODY, NOT_ONLINE, SIZE_LEFT_OUT, TOPIC_LEFT_OUT, Bools, Cluster, Floats, Ints
from .resources import proportional
from .seats import NO_BROKER, NO_DISK, NO_IN, NO_OUT, NO_ROOM, NO_TAKER

TOO_LARGE: Final = -6
BUDGET: Final = -7
DEAD_BROTHER: Final = -8
LAST_IN_RACK: Final = -9
NO_OUT_STAYING: Final = -10
EXCLUDED: Final = -12
NO_LEADER: Final = -13
NOT_PREFERRED: Final = -14
CHANGED: Final = -15
NOT_OPEN: Final = -16
NO_CAPACITY: Final = -17
UNSIZED: Final = -18

REASONS: Final = {
    NO_BROKER: "every remaining broker in the possible racks already holds a replica of the partition",
    NO_DISK: "no broker in the possible racks has enough disk",
    NO_IN: "no broker in the possible racks can receive the rate of writing",
    NO_OUT: "no broker in the possible racks could send the rate of reading, if it led the partition",
    NO_ROOM: "every broker in the possible racks would exceed the target level",
    TOO_LARGE: "without the replica its broker would fall too far below the mean",
    BUDGET: "the replica exceeds the bytes that may still be moved",
    DEAD_BROTHER: "another replica is on a dead broker, for which a move would wait: drain that broker first",
    NO_OUT_STAYING: "a broker that keeps its replica could not send to the added ones, if it led the partition",
    NO_CAPACITY: "every broker in the possible racks would exceed a limit: of disk, network, replicas or leaders",
    UNSIZED: "the size of the partition is not known, so it is not copied",
    LAST_IN_RACK: "the rack would lose its only replica, and every possible rack already has one",
    NO_TAKER: "--to-brokers or --exclude-brokers leaves out every broker in the possible racks",
    EXCLUDED: "--exclude-brokers leaves the broker as it is",
    NO_LEADER: "no other broker that may lead has a replica that is in sync",
    NOT_PREFERRED: "the broker leads now, but another replica is preferred: elect the preferred leader",
    CHANGED: "the replicas are no longer those that the plan produced",
    NOT_OPEN: "the earlier leader is draining, or --to-brokers or --exclude-brokers leaves it out",
}
HELD: Final = {
    MOVING: "the partition is being reassigned",
    NOT_ONLINE: "the partition is being reduced",
    TOPIC_LEFT_OUT: "--topics or --exclude-topics leaves the topic out",
    SIZE_LEFT_OUT: "--min-size or --max-size leaves the size out, or the size is not known",
}

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
    return proportional(cluster.disk_max.astype(np.float64), usable)


def by_size(size: Ints, among: Ints) -> Ints:
    """The partitions `among` (ascending), larger ones first: the total order of every plan."""
    return among[np.argsort(-size[among], kind="stable")]
