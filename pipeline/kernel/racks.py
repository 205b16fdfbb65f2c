"""What each rack can hold, where racks have different numbers of brokers.

A partition is in as many racks as possible, so of racks with 3, 3 and 1 brokers the lone broker holds a replica of each
partition with three. It cannot be as full as the mean, and neither can the others. A broker's share is then that of its
rack: racks that must hold more get what they must, those that cannot hold as much get what they can, and the rest is
level.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .cluster import NOBODY, Bools, Cluster, Floats, Ints

_EQUAL: Final = 1e-9  # relative; sums of floats differ in the last bits
_DECIMALS: Final = 3  # of a share in bytes, so that a whole number stays one


def rack_shares(cluster: Cluster, live: Bools, share: Floats) -> Floats:
    """The bytes for each broker. `share`: those without racks, of `live` brokers; it is returned as it is where racks
    allow it."""
    racks = len(cluster.racks)
    mine = np.asarray(np.bincount(cluster.rack[live], share[live], racks), np.float64)
    if not _may_bind(cluster, live, mine):
        return share
    least, most = _limits(cluster, live)
    there = mine > 0
    if ((least <= mine * (1 + _EQUAL)) & (mine * (1 - _EQUAL) <= most))[there].all():
        return share
    factor = np.ones(racks)
    factor[there] = _filled(mine[there], least[there], most[there]) / mine[there]
    return np.asarray(np.where(live, np.round(share * factor[cluster.rack], _DECIMALS), share), np.float64)


def _may_bind(cluster: Cluster, live: Bools, mine: Floats) -> bool:
    """Whether a rack could have to hold more than its share, or less: seen from few numbers, since there may be as many
    racks as brokers."""
    brokers, factor = np.unique(cluster.rack[live], return_counts=True)[1].tolist(), cluster.replicas.shape[1]
    is_small = len(brokers) <= factor or sum(brokers) - max(brokers, default=0) < factor
    return len(brokers) > 1 and (is_small or float(mine.max()) > int(cluster.size.sum()))


def cannot_leave(cluster: Cluster, replicas: Ints, live: Bools) -> Bools:
    """By rack and partition: the only replica in the rack, while every rack of `live` brokers has one."""
    racks, used = len(cluster.racks), np.unique(cluster.rack[live])
    if len(used) > replicas.shape[1]:
        return np.zeros((racks, len(replicas)), np.bool_)
    everywhere = np.array([per_rack(cluster, replicas, np.ones_like(live), rack) for rack in range(racks)])
    spread = (everywhere > 0).sum(axis=0)
    is_full = (everywhere[used] > 0).all(axis=0) & (spread <= cluster.min_racks)
    return np.asarray((everywhere == 1) & is_full, np.bool_)


def per_rack(cluster: Cluster, replicas: Ints, among: Bools, rack: int) -> Ints:
    """How many replicas of each partition are on those brokers of the rack."""
    chosen = among & (cluster.rack == rack)
    return np.asarray(((replicas != NOBODY) & chosen[replicas]).sum(axis=1), np.int64)


def _limits(cluster: Cluster, live: Bools) -> tuple[Floats, Floats]:
    """The least and the most bytes of each rack's `live` brokers that moves of single replicas can lead to."""
    brokers: list[int] = np.bincount(cluster.rack[live], minlength=len(cluster.racks)).tolist()
    stuck = cannot_leave(cluster, cluster.replicas, live)
    count = ((cluster.replicas != NOBODY) & live[cluster.replicas]).sum(axis=1)
    spread = np.minimum(count, min(len(brokers) - brokers.count(0), cluster.min_racks))
    least, most = np.zeros(len(brokers)), np.zeros(len(brokers))
    for rack, there in enumerate(brokers):
        held = per_rack(cluster, cluster.replicas, live, rack)
        low = np.maximum(stuck[rack] & (held > 0), count - (sum(brokers) - there))
        high = np.maximum(held, np.minimum(there, 1 + np.maximum(count - spread, 0)))
        least[rack], most[rack] = (low * cluster.size).sum(), (high * cluster.size).sum()
    return least, most


def _filled(mine: Floats, least: Floats, most: Floats) -> Floats:
    """Each rack's bytes: its own times one factor, but within its limits, with the same sum."""
    factors = np.unique(np.concatenate((least / mine, most / mine)))
    sums = np.clip(factors[:, None] * mine, least, most).sum(axis=1)
    return np.asarray(np.clip(np.interp(mine.sum(), sums, factors) * mine, least, most), np.float64)
