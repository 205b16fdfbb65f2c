"""Validated tables and loads -> the table of violations: rules that are broken now, and those that would be if all
replicas led.

| kind | row | observed, limit | |---|---|---| | RACK | partition | racks of its replicas; the most possible | | RF |
partition | its replicas; the wanted factor (given, or the largest of the topic) | | DEAD | partition, broker | a
replica on a dead broker | | DUP | partition | a broker twice among the replicas (such a row is rejected) | |
ISR | partition | members in sync; replicas. Also a member outside replicas and targets | | LEADER_ORDER | partition |
another replica than the first leads | | CAP_DISK, CAP_IN, CAP_OUT | broker | load; the share of the capacity that may
be used |

The row of a partition that is being reassigned has old and new replicas. RACK and RF use the smaller number of its
replicas and its target, so that replicas that exist only during the reassignment do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from ..kernel.cluster import NO_LIMIT, NOBODY, Bools, Cluster, distinct_racks
from ..kernel.resources import BYTES, IN, OUT, POTENTIAL_OUT, capacities, loads, usage
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import VIOLATION
from .arrays import Limits, flat, indexed, known, matrix, to_cluster
from .validate import DUPLICATE_REPLICAS

NOW: Final = "now"
POTENTIAL: Final = "potential"
_CAPACITIES: Final = (
    ("CAP_DISK", BYTES, "bytes", NOW),
    ("CAP_IN", IN, "bytes/s", NOW),
    ("CAP_OUT", OUT, "bytes/s", NOW),
    ("CAP_OUT", POTENTIAL_OUT, "bytes/s", POTENTIAL),
)
Row = tuple[object, ...]


def check(
    tables: Mapping[str, Arrow],
    *,
    limits: Limits | None = None,
    factor: int | None = None,
    ignore_racks: bool = False,
    min_racks: int | None = None,
) -> Arrow:
    """The table violation, by kind, topic, partition, broker. `factor`: the wanted replication factor; `min_racks`: the
    racks that a partition needs, as many as there are without it."""
    partition, chosen = tables["partition"], limits or Limits()
    cluster = to_cluster(
        tables["broker"], partition, tables.get("replica_load"), limits=chosen, ignore_racks=ignore_racks
    )
    found = [
        *_placement(cluster, partition, factor, NO_LIMIT if min_racks is None else min_racks),
        *_sync(cluster, partition),
        *_capacity(cluster),
        *_duplicates(tables.get("rejected_rows")),
    ]
    return from_rows(VIOLATION, found)


def _placement(cluster: Cluster, partition: Arrow, factor: int | None, min_racks: int) -> Iterator[Row]:
    if not len(cluster.topic):
        return
    moving, targets = known(partition.column("target_replicas")), flat(partition.column("target_replicas"))[1]
    lasting = np.where(moving, np.minimum(cluster.factors, targets), cluster.factors)
    racks = distinct_racks(cluster.replicas, cluster.rack)
    possible = max(1, len(np.unique(cluster.rack[cluster.alive])))
    wanted = np.minimum(lasting, min(possible, min_racks))
    if len(cluster.racks) > 1:
        yield from _rows(cluster, "RACK", racks < wanted, racks, wanted, unit="racks")
    largest = np.zeros(len(cluster.topics), np.int64)
    np.maximum.at(largest, cluster.topic, lasting)
    aim = largest[cluster.topic] if factor is None else np.full(len(cluster.topic), factor)
    yield from _rows(cluster, "RF", lasting < aim, lasting, aim, unit="replicas")
    for row, column in np.argwhere((cluster.replicas != NOBODY) & ~cluster.alive[cluster.replicas]).tolist():
        broker = int(cluster.brokers[cluster.replicas[row, column]])
        yield ("DEAD", *_where(cluster, row), broker, 1.0, 0.0, "replicas", NOW)


def _sync(cluster: Cluster, partition: Arrow) -> Iterator[Row]:
    """`partition` is validated, so its rows have the order of the cluster's."""
    isr = matrix(*_at(cluster, partition, "isr"))
    members = np.concatenate([cluster.replicas, matrix(*_at(cluster, partition, "target_replicas"))], axis=1)
    outside = (isr[:, :, None] != members[:, None, :]).all(axis=2) & (isr != NOBODY)
    in_sync = (isr != NOBODY).sum(axis=1)
    moving = known(partition.column("target_replicas"))
    behind = (in_sync < cluster.factors) & ~moving
    yield from _rows(cluster, "ISR", behind | outside.any(axis=1), in_sync, cluster.factors, unit="replicas in sync")
    led = cluster.leader != NOBODY
    other = led & (cluster.leader != cluster.replicas[:, 0])
    place = np.where(led[:, None] & (cluster.replicas == cluster.leader[:, None]), 1, 0).argmax(axis=1)
    yield from _rows(cluster, "LEADER_ORDER", other, place, np.zeros(len(place)), unit="place of the leader")


def _at(cluster: Cluster, partition: Arrow, name: str) -> tuple[Any, Any]:
    values, lengths = flat(partition.column(name))
    places = indexed(values, cluster.brokers)
    return np.where(places == NOBODY, NOBODY - 1, places), lengths  # an unknown member still counts as a member


def _capacity(cluster: Cluster) -> Iterator[Row]:
    load = loads(usage(cluster, cluster.replicas), cluster.replicas, cluster.leader, len(cluster.brokers))
    limit = capacities(cluster)
    for kind, resource, unit, when in _CAPACITIES:
        for broker in np.nonzero(load[resource] > limit[resource])[0].tolist():
            figures = float(load[resource, broker]), float(limit[resource, broker])
            yield kind, None, None, int(cluster.brokers[broker]), *figures, unit, when


def _duplicates(rejected: Arrow | None) -> Iterator[Row]:
    for row in (
        () if rejected is None else rejected.filter(pc.equal(rejected["reason"], DUPLICATE_REPLICAS)).to_pylist()
    ):
        observed, limit = float(len(row["brokers"])), float(len(set(row["brokers"])))
        yield "DUP", row["topic"], row["partition"], None, observed, limit, "replicas", NOW


def _where(cluster: Cluster, row: int) -> tuple[str, int]:
    return cluster.topics[cluster.topic[row]], int(cluster.number[row])


def _rows(cluster: Cluster, kind: str, where: Bools, observed: Any, limit: Any, *, unit: str) -> Iterator[Row]:
    for row in np.nonzero(where)[0].tolist():
        yield kind, *_where(cluster, row), None, float(observed[row]), float(limit[row]), unit, NOW
