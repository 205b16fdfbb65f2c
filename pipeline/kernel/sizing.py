"""How many brokers a cluster needs, and which of them could be removed.

* What a rack holds, receives and could send stays in it; a broker may use the share of its capacities that plans may
  use. What dead brokers hold whose rack is not known is divided among all racks.
* A rack needs as many brokers as the most replicas that one partition has in it.
* Brokers could go together if the others of their racks have the capacity, and a drain of all of them is complete.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from .cluster import NOBODY, Bools, Cluster, Floats, Ints, per_broker, potential_out
from .moves import drain


@attrs.frozen(eq=False)
class Demand:
    """By rack: bytes, bytes per second received, and sent if every replica led, and how many brokers have to differ."""

    bytes: Ints
    in_bps: Floats
    out_bps: Floats
    brokers: Ints


@attrs.frozen(order=True)
class Kind:
    """What a broker may be filled with: bytes, and bytes per second received and sent (inf: unknown)."""

    bytes: int
    in_bps: float
    out_bps: float


def grown(cluster: Cluster, growth: float) -> Cluster:
    """The cluster with all sizes and rates times `growth`."""
    size = np.ceil(cluster.size * growth).astype(np.int64)
    return attrs.evolve(cluster, size=size, write_bps=cluster.write_bps * growth, read_bps=cluster.read_bps * growth)


def demand(cluster: Cluster) -> Demand:
    brokers, sends = len(cluster.brokers), potential_out(cluster, cluster.factors)
    racks = range(len(cluster.racks))
    rack = np.where(cluster.replicas != NOBODY, cluster.rack[cluster.replicas], NOBODY)
    most = [int((rack == r).sum(axis=1).max(initial=0)) for r in racks]

    def by_rack(values: Any) -> Any:
        held = per_broker(cluster.replicas, values, brokers)
        more = -(-held[cluster.rack == NOBODY].sum() // len(racks))  # rounded up
        return np.array([held[cluster.rack == r].sum() + more for r in racks], held.dtype)

    return Demand(by_rack(cluster.size), by_rack(cluster.write_bps), by_rack(sends), np.array(most, np.int64))


def kinds(cluster: Cluster, usable: Bools) -> list[Kind]:
    """The kinds of the usable brokers, the largest first."""
    return sorted({kind_of(cluster, broker) for broker in np.nonzero(usable)[0].tolist()}, reverse=True)


def kind_of(cluster: Cluster, broker: int) -> Kind:
    return Kind(int(cluster.disk_max[broker]), float(cluster.in_max[broker]), float(cluster.out_max[broker]))


def needed(wanted: Demand, rack: int, kind: Kind) -> tuple[int, int, int]:
    """Brokers of the kind for the bytes of the rack, for its network, and in all."""
    disk = math.ceil(int(wanted.bytes[rack]) / kind.bytes)
    network = max(math.ceil(wanted.in_bps[rack] / kind.in_bps), math.ceil(wanted.out_bps[rack] / kind.out_bps))
    return disk, network, max(disk, network, int(wanted.brokers[rack]))


def missing(cluster: Cluster, usable: Bools, wanted: Demand, rack: int, kind: Kind) -> int:
    """Brokers of the kind that the rack needs besides those that it has."""
    there = usable & (cluster.rack == rack)
    pairs = (
        (int(wanted.bytes[rack]) - int(cluster.disk_max[there].sum()), kind.bytes),
        (float(wanted.in_bps[rack] - cluster.in_max[there].sum()), kind.in_bps),
        (float(wanted.out_bps[rack] - cluster.out_max[there].sum()), kind.out_bps),
        (int(wanted.brokers[rack] - there.sum()), 1),
    )
    return max((math.ceil(lacking / one) for lacking, one in pairs if lacking > 0), default=0)


def removable(cluster: Cluster, usable: Bools, closed: Bools) -> list[int]:
    """Brokers that can be emptied all at once, those with the smallest disks first, then those with the fewest bytes.
    `closed` brokers keep what they have and get nothing."""
    wanted, stay = demand(cluster), usable.copy()
    held = per_broker(cluster.replicas, cluster.size, len(usable))
    chosen = []
    for broker in np.lexsort((np.arange(len(usable)), held, cluster.disk_max)).tolist():
        if usable[broker]:
            stay[broker] = False
            if _suffices(cluster, stay, wanted, int(cluster.rack[broker])):
                chosen.append(broker)
            else:
                stay[broker] = True
    low, high = 0, len(chosen)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _drains(cluster, chosen[:middle], closed) else (low, middle - 1)
    return chosen[:low]


def _suffices(cluster: Cluster, stay: Bools, wanted: Demand, rack: int) -> bool:
    there = stay & (cluster.rack == rack)
    return bool(
        there.sum() >= max(1, int(wanted.brokers[rack]))
        and cluster.disk_max[there].sum() >= wanted.bytes[rack]
        and cluster.in_max[there].sum() >= wanted.in_bps[rack]
        and cluster.out_max[there].sum() >= wanted.out_bps[rack]
    )


def _drains(cluster: Cluster, brokers: list[int], closed: Bools) -> bool:
    leaving = np.isin(np.arange(len(closed)), brokers)
    return not drain(cluster, leaving, closed).reasons
