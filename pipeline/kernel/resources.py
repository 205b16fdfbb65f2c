"""The resources of brokers, and what replicas use of them: the figures that `plan validate` compares with capacities,
and that `rebalance` limits and levels.

A resource is a row of a matrix. Every replica uses the first four; the leader alone uses the last two, which therefore
change broker without a copy. Bytes, counts and rounded rates are whole steps, below 2**53 of them in all, so their sums
are exact floats in any order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .cluster import NO_LIMIT, NOBODY, Bools, Cluster, Floats, Ints, potential_out

BYTES, IN, POTENTIAL_OUT, REPLICAS, OUT, LEADERS = range(6)
OF_LEADERS: Final = (OUT, LEADERS)
RATE_STEPS: Final = 2**10  # per byte per second, so that sums are exact up to 8.8 TB/s


def stepped(values: Floats, steps: int = RATE_STEPS) -> Floats:
    """The nearest multiples of 1/steps. Below 2**53 steps their sum is exact, so it does not depend on the order or the
    parts in which an engine adds them; sums of unrounded floats would differ in the last bit."""
    return np.asarray(np.rint(values * steps) / steps, np.float64)


def usage(cluster: Cluster, replicas: Ints) -> Floats:
    """Resources x P: what one of these replicas of each partition uses; of OUT and LEADERS, if it leads."""
    sends, ones = stepped(potential_out(cluster, (replicas != NOBODY).sum(axis=1))), np.ones(len(replicas))
    return np.stack([cluster.size.astype(np.float64), stepped(cluster.write_bps), sends, ones, sends, ones])


def loads(use: Floats, replicas: Ints, leader: Ints, brokers: int) -> Floats:
    """Resources x B: what each broker uses with these replicas and leaders."""
    found = np.zeros((len(use), brokers))
    for resource, used in enumerate(use):
        for column in leader[:, None].T if resource in OF_LEADERS else replicas.T:
            found[resource] += np.bincount(np.where(column == NOBODY, brokers, column), used, brokers + 1)[:brokers]
    return found


def capacities(cluster: Cluster) -> Floats:
    """Resources x B: what each broker may use, inf without a limit. It must also be able to send what it would send if
    it led all that it holds."""
    endless = np.full(len(cluster.brokers), np.inf)
    disk = np.where(cluster.disk_max < NO_LIMIT, cluster.disk_max, np.inf)
    return np.stack([disk, cluster.in_max, cluster.out_max, endless, cluster.out_max, endless])


def proportional(capacity: Floats, among: Bools) -> Floats:
    """The weight of each broker in what is level: its capacity if those `among` are all known and differ, else 1."""
    mine = capacity[among]
    if not len(mine) or (mine >= NO_LIMIT).any() or (mine <= 0).any() or (mine == mine[0]).all():
        return np.ones(len(capacity))
    return np.where(capacity > 0, capacity / mine.mean(), 1.0)
