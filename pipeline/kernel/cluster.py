"""A cluster as arrays: partitions by (topic, partition), brokers by id; brokers and racks are given by index.

`replicas` is a matrix with one row per partition, preferred leader first, padded with NOBODY. All replicas of a
partition have one size: the largest measured one, since a copy has to transfer that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

NOBODY: Final = -1
NO_LIMIT: Final = 2**62

# Why a partition is not changed, whatever the request
MOVABLE: Final = 0
MOVING: Final = 1  # it is being reassigned
NOT_ONLINE: Final = 2  # it is being reduced
TOPIC_LEFT_OUT: Final = 3  # from here on: the request leaves it out
SIZE_LEFT_OUT: Final = 4


@attrs.frozen
class Directories:
    """Those of a broker that take new replicas, by index: the bytes that each holds, and may hold (or NO_LIMIT)."""

    held: tuple[int, ...]
    most: tuple[int, ...]


@attrs.frozen(eq=False)
class Cluster:
    """P partitions on B brokers. The arrays must not be modified."""

    topics: tuple[str, ...]
    topic: Ints  # P, index into topics
    number: Ints  # P
    replicas: Ints  # P x W, index of a broker or NOBODY
    leader: Ints  # P, index of a broker or NOBODY
    size: Ints  # P, bytes of one replica; 0 if unknown
    write_bps: Floats  # P
    read_bps: Floats  # P
    held: Ints  # P, MOVABLE or why not
    brokers: Ints  # B, ids, ascending
    rack: Ints  # B, 0.. ; all 0 if racks are ignored
    racks: tuple[str, ...]
    alive: Bools  # B
    disk_max: Ints  # B, bytes that it may hold; NO_LIMIT
    in_max: Floats  # B, bytes per second; inf
    out_max: Floats  # B, if it led all that it holds; inf
    sized: Bools  # P, whether its size is known
    rated: Bools  # P, whether its rate of writing is known
    takes: Bools  # B, whether it may get replicas, where the plan would give it some
    keeps: Bools  # B, whether it is excluded: it keeps what it has and gets nothing
    min_racks: int = NO_LIMIT  # a partition in so many racks need not be in more
    is_rack_local: bool = False  # a replica stays in its rack where a broker there can take it
    directories: Mapping[int, Directories] = attrs.field(factory=dict)  # of brokers with several, by index

    @property
    def factors(self) -> Ints:
        """The replication factor of every partition."""
        return np.asarray((self.replicas != NOBODY).sum(axis=1), np.int64)

    @property
    def chosen(self) -> Bools:
        """The partitions that the request does not leave out."""
        return np.asarray(self.held < TOPIC_LEFT_OUT, np.bool_)

    def named(self, partition: int) -> str:
        """`topic-partition` of an index."""
        return f"{self.topics[self.topic[partition]]}-{self.number[partition]}"


def per_broker(replicas: Ints, values: npt.NDArray[Any], brokers: int) -> npt.NDArray[Any]:
    """The sum of `values` (one per partition) over the replicas of each broker, in the type of `values`."""
    total = np.zeros(brokers, values.dtype)
    for column in replicas.T:
        there = column != NOBODY
        np.add.at(total, column[there], values[there])
    return total


def leaders_per_broker(replicas: Ints, brokers: int) -> Ints:
    """How many partitions each broker leads when all preferred leaders lead."""
    first = replicas[:, 0]
    return np.bincount(first[first != NOBODY], minlength=brokers)


def potential_out(cluster: Cluster, factors: Ints) -> Floats:
    """The rate that a replica of each partition sends if it leads: to consumers, and a copy to each follower."""
    return cluster.read_bps + cluster.write_bps * np.maximum(factors - 1, 0)


def max_to_mean(loads: npt.NDArray[Any], weights: Floats | None = None) -> float:
    """The ratio of the largest to the mean, 1.0 = level; by weight if brokers differ. 1.0 if there is nothing."""
    if not len(loads) or not loads.sum():
        return 1.0
    if weights is None:
        return float(loads.max() * len(loads) / loads.sum())
    return float((loads / weights).max() * weights.sum() / loads.sum())


def distinct_racks(replicas: Ints, rack: Ints) -> Ints:
    """The number of racks of each partition's replicas. A negative rack is unknown, and counts as one of its own."""
    found = np.where(replicas != NOBODY, rack[replicas], NOBODY)
    unknown = (replicas != NOBODY) & (found < 0)
    count = np.zeros(len(replicas), np.int64)
    for j in range(replicas.shape[1]):
        new = found[:, j] >= 0
        for i in range(j):
            new &= found[:, i] != found[:, j]
        count += new
    return np.asarray(count + unknown.sum(axis=1), np.int64)
