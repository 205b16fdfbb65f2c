"""`kedge plan is-empty`: what brokers still hold in a snapshot, and which topics of it came after a plan was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

import attrs
import numpy as np
import pyarrow.compute as pc

from ...controller.model.plural import counted
from ..amounts import amount
from ..cautions import of_new_topics
from ..errors import BadInput, NothingAsked
from ..kernel.cluster import Bools, Cluster
from ..kernel.holding import holding
from ..stages.arrays import Limits, flat, indexed, leaving, matrix, to_cluster
from ..tables.arrow import Arrow, in_order
from ..tables.declared import BROKER, PARTITION, REJECTED_ROWS, REPLICA_LOAD
from ..tables.files import Place, Wanted, find_planned, read_all, wanted
from .verb import Said, Tables, Told

_NAMED_MAX: Final = 20


@attrs.frozen
class IsEmpty:
    """Reads a snapshot, and writes nothing. `brokers`: without any, those in state draining. `name`: of a plan; topics
    that its snapshot lacks are new, and that is the last one up to this which has the plan."""

    brokers: tuple[int, ...] = ()
    name: str = "drain"

    title: ClassVar[str] = "looking at brokers"
    wanted: ClassVar[Sequence[Wanted]] = (
        *wanted(BROKER, PARTITION),
        *wanted(REPLICA_LOAD, REJECTED_ROWS, optional=True),
    )

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if a broker holds or may hold something. Raises BadInput for a broker that neither the snapshot
        nor that of the plan has."""
        planned = find_planned(place, self.name)
        partition, load = in_order(PARTITION, given["partition"]), given.get("replica_load")
        cluster = to_cluster(given["broker"], partition, load, limits=Limits(), ignore_racks=True)
        values, lengths = flat(partition.column("target_replicas"))
        targets = matrix(indexed(values, cluster.brokers), lengths)
        brokers, rows, left = self._chosen(cluster, given["broker"], planned), [], np.zeros(len(cluster.size), np.bool_)
        for broker, at in zip(brokers, indexed(np.array(brokers), cluster.brokers).tolist(), strict=True):
            held = holding(at, cluster.replicas, targets, cluster.leader)
            rows.append(_row(cluster, broker, *held))
            left |= np.logical_or.reduce(held)
        rejected = [name for name, ids in _rejected(given.get("rejected_rows")) if ids is None or ids & {*brokers}]
        row = {
            **place.named,
            "empty": not left.any() and not rejected,
            "brokers": rows,
            "partitions": int(left.sum()),
            "left": [cluster.named(p) for p in np.nonzero(left)[0][:_NAMED_MAX].tolist()],
            "rejected": rejected,
            "plan": self.name,
            "plan_snapshot": None if planned is None else planned.snapshot,
            "new_topics": None if planned is None else _new(cluster, left, planned),
        }
        return Said(row, _lines(row), 0 if row["empty"] else 1)

    def _chosen(self, cluster: Cluster, broker: Arrow, planned: Place | None) -> tuple[int, ...]:
        draining = cluster.brokers[leaving(broker, cluster.brokers)].tolist()
        if not self.brokers and not draining:
            raise NothingAsked("is-empty: no broker was named, and none has the state draining")
        before = [] if planned is None else read_all(planned, wanted(BROKER))["broker"].column("broker_id").to_pylist()
        if unknown := sorted({*self.brokers} - {*cluster.brokers.tolist(), *before}):
            raise BadInput(f"unknown brokers: {unknown}; the snapshot has {cluster.brokers.tolist()[:50]}")
        return self.brokers or tuple(draining)


def _row(cluster: Cluster, broker: int, held: Bools, led: Bools, coming: Bools) -> dict[str, Any]:
    counts = {"replicas": int(held.sum()), "leaders": int(led.sum()), "incoming": int(coming.sum())}
    is_known = not held.any() or bool(cluster.sized[held].any())
    return {"broker_id": broker, **counts, "bytes": int(cluster.size[held].sum()) if is_known else None}


def _new(cluster: Cluster, left: Bools, planned: Place) -> list[str]:
    """The topics of these partitions that the snapshot of the plan lacks."""
    before = set(pc.unique(read_all(planned, wanted(PARTITION))["partition"].column("topic")).to_pylist())
    return [name for t in np.unique(cluster.topic[left]).tolist() if (name := cluster.topics[t]) not in before]


def _rejected(rows: Arrow | None) -> Iterator[tuple[str, set[int] | None]]:
    """Each rejected row of a partition: its name, and the brokers that it lists; None if they cannot be read."""
    for row in [] if rows is None else rows.filter(pc.is_valid(rows["brokers"])).to_pylist():
        name = row["topic"] if row["partition"] is None else f"{row['topic']}-{row['partition']}"
        yield name, set(row["brokers"]) or None


def _lines(row: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("snapshot", f"{row['snapshot']} of {row['cluster']}{_planned_words(row)}")]
    lines += [(f"broker {one['broker_id']}", _words(one)) for one in row["brokers"]]
    if row["partitions"]:
        lines.append(("left", _listed(row["left"], row["partitions"])))
    if row["new_topics"]:
        lines.append(("new", f"created after the plan: {_listed(row['new_topics'], len(row['new_topics']))}"))
    if names := row["rejected"]:
        lines.append(("rejected", f"{_listed(names, len(names))}: may be on these brokers, the rows cannot be used"))
    if row["empty"]:
        lines.append(("warning", of_new_topics([one["broker_id"] for one in row["brokers"]])))
    return lines


def _planned_words(row: dict[str, Any]) -> str:
    if row["plan_snapshot"] is None:
        return f"; no snapshot with the plan {row['plan']} was found, so it is not known which topics are new"
    if row["plan_snapshot"] == row["snapshot"]:
        return f", of which the plan {row['plan']} was made; collect a new one once the plan has run"
    return f"; the plan {row['plan']} was made of {row['plan_snapshot']}"


def _words(one: dict[str, Any]) -> str:
    size = "" if one["bytes"] is None else f" ({amount(one['bytes'])})"
    parts = (
        ("replicas", f"holds {counted(one['replicas'], 'replica')}{size}"),
        ("leaders", f"leads {counted(one['leaders'], 'partition')}"),
        ("incoming", f"is the target of {counted(one['incoming'], 'running move')}"),
    )
    held = ", ".join(text for name, text in parts if one[name])
    return f"is not empty: it {held}" if held else "is empty: it holds no replica and leads no partition"


def _listed(names: Sequence[str], count: int) -> str:
    shown = names[:_NAMED_MAX]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")
