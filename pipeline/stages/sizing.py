"""Validated tables and loads -> how many brokers of which kind each rack needs, and which could go. Nothing is written.

A broker without a known disk, or with a capacity of 0, counts as one that holds nothing more; a network that is unknown
sets no limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np

from ..errors import BadInput
from ..kernel import sizing as kernel
from ..kernel.cluster import NO_LIMIT, Bools, Cluster, per_broker
from ..tables.arrow import Arrow
from .arrays import Limits, defaulted, leaving, to_cluster

_CAPACITIES: Final = ("disk_capacity_bytes", "nw_in_capacity_bps", "nw_out_capacity_bps")


def sizing(
    tables: Mapping[str, Arrow], *, limits: Limits | None = None, growth: float = 1.0, ignore_racks: bool = False
) -> dict[str, Any]:
    """`racks`: of each its load and, for every kind of broker in the cluster, the brokers of the kind that it has,
    how many it needs if all are of the kind (for disks, for the network, in all), and how many are missing besides
    those that it has. `could_go`: brokers that can be drained together, and `bytes_to_move`, the bytes on them.

    `growth`: sizes and rates count times it. Raises BadInput if no disk is known, or only some brokers have racks.
    """
    if not 0 < growth < math.inf:
        raise BadInput(f"growth: expected above 0, got {growth}")
    broker = defaulted(tables["broker"], tables.get("broker_default"))
    cluster = to_cluster(
        broker, tables["partition"], tables["replica_load"], limits=limits or Limits(), ignore_racks=ignore_racks
    )
    closed = leaving(broker, cluster.brokers)
    usable = cluster.alive & ~closed & (cluster.disk_max < NO_LIMIT)
    usable &= np.minimum.reduce([cluster.disk_max, cluster.in_max, cluster.out_max]) > 0
    if not usable.any():
        raise BadInput("the disk capacity of no broker is known: collect with --capacities, or from Kafka 3.3 or later")
    known = kernel.grown(attrs.evolve(cluster, disk_max=np.where(usable, cluster.disk_max, 0)), growth)
    go = kernel.removable(known, usable, closed)
    held = per_broker(cluster.replicas, cluster.size, len(usable))
    return {
        "racks": _racks(known, usable, {row["broker_id"]: row for row in broker.to_pylist()}),
        "could_go": sorted(cluster.brokers[go].tolist()),
        "bytes_to_move": int(held[go].sum()),
    }


def _racks(cluster: Cluster, usable: Bools, rows: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    wanted = kernel.demand(cluster)
    found = kernel.kinds(cluster, usable)
    of = {b: kernel.kind_of(cluster, b) for b in np.nonzero(usable)[0].tolist()}
    listed = []
    for rack, name in enumerate(cluster.racks):
        load = {"bytes": int(wanted.bytes[rack]), "in_bps": float(wanted.in_bps[rack])}
        load |= {"potential_out_bps": float(wanted.out_bps[rack])}
        each = []
        for kind in found:
            ids = [int(cluster.brokers[b]) for b, own in of.items() if own == kind]
            disk, network, both = kernel.needed(wanted, rack, kind)
            counts = {"needed_disk": disk, "needed_network": network, "needed": both}
            counts |= {"missing": kernel.missing(cluster, usable, wanted, rack, kind)}
            here = [b for b in ids if cluster.rack[np.searchsorted(cluster.brokers, b)] == rack]
            each.append({**{column: rows[ids[0]][column] for column in _CAPACITIES}, "brokers": here, **counts})
        listed.append({"rack": name or None, **load, "kinds": each})
    return listed
