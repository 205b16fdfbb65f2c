"""What the kernel decided, as the tables of a plan: `plan` (one row), `plan_move`, `plan_reason`, `plan_load`, and
`plan_log_dir` or `reduction` where there is something for them. Indexes become names.

* Balance (max/mean) is over the same brokers before and after: those that are to hold replicas afterwards, alive and
  not leaving. So a drain is judged by the remaining brokers, and an addition by old and new ones together.
* Unknown values are null. In sums with known values they count 0, and `copied_unsized` is their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa

from ..errors import BadInput
from ..kernel import reduction
from ..kernel.cluster import NOBODY, Bools, Cluster, Ints, max_to_mean
from ..kernel.moves import Told
from ..kernel.outcome import Outcome, Reason, added
from ..kernel.resources import BYTES, IN, LEADERS, OUT, REPLICAS, capacities, loads, proportional, usage
from ..tables.arrow import Arrow, empty, from_columns, from_rows
from ..tables.declared import PLAN, PLAN_LOAD, PLAN_LOG_DIR, PLAN_MOVE, PLAN_REASON, REDUCTION
from .disks import Balanced, Placed
from .requests import LEVELS, ReducePartitions


@attrs.frozen(eq=False)
class Scene:
    """The cluster, the brokers to empty or to demote, and those that keep their replicas and get none."""

    cluster: Cluster
    leaving: Bools
    closed: Bools
    told: Told
    partition: Arrow

    @property
    def usable(self) -> Bools:
        return self.cluster.alive & ~self.closed & ~self.leaving


@attrs.frozen
class Named:
    """The part of a plan's row that does not depend on the result."""

    plan: str
    kind: str
    settings: list[tuple[str, str]]
    snapshot_sha256: str


_RATIOS: Final = (("size", BYTES), ("leaders", LEADERS), ("network_in", IN), ("network_out", OUT))
_RATIO_OF: Final = {"bytes": "size", "network-in": "network_in", "network-out": "network_out"}


class _Used:
    """Resources x brokers: what brokers use before and after, if preferred leaders lead, and which resources are
    known."""

    def __init__(self, cluster: Cluster, after: Ints) -> None:
        brokers = len(cluster.brokers)
        self.at = {
            when: loads(usage(cluster, rows), rows, rows[:, 0], brokers)
            for when, rows in (("before", cluster.replicas), ("after", after))
        }
        sized, rated = (not len(some) or bool(some.any()) for some in (cluster.sized, cluster.rated))
        self.known = {BYTES: sized, IN: rated, OUT: rated, LEADERS: True}


def tables_of(scene: Scene, outcome: Outcome, named: Named) -> dict[str, Arrow]:
    cluster, name, used = scene.cluster, named.plan, _Used(scene.cluster, outcome.replicas)
    changed = outcome.changed(cluster)
    copies = added(cluster.replicas[changed], outcome.replicas[changed])
    size = cluster.size[changed]
    unsized = (copies > 0) & ~cluster.sized[changed]
    is_known = not unsized.any() or ((copies > 0) & ~unsized).any()
    copied = pa.array(size * copies, pa.int64(), mask=unsized)
    row = {
        "partitions_changed": len(changed),
        "replicas_copied": int(copies.sum()),
        "bytes_copied": int((size * copies).sum()) if is_known else None,
        "bytes_bound": outcome.bytes_bound if is_known else None,
        "copied_unsized": int(unsized.sum()),
    }
    moves = _moves(cluster, name, changed, outcome.replicas, copied)
    return _tables(scene, used, named, row, moves=moves, reasons=_reasons(cluster, outcome.reasons, name))


def _tables(
    scene: Scene, used: _Used, named: Named, row: dict[str, Any], *, moves: Arrow, reasons: Arrow
) -> dict[str, Arrow]:
    """The tables of every plan. `row`: values of the table plan that are not 0, and those that replace the ratios."""
    cluster = scene.cluster
    copied = dict.fromkeys(("replicas_copied", "bytes_copied", "bytes_bound", "copied_unsized"), 0)
    unknown = {"partitions_unsized": int((~cluster.sized).sum()), "partitions_unrated": int((~cluster.rated).sum())}
    said = {**attrs.asdict(named), **unknown, **copied, **_imbalance(scene, used), **row, "rejected": reasons.num_rows}
    said["complete"] = not reasons.num_rows and (named.kind not in LEVELS or _is_level(said, named.settings))
    return {
        "plan": from_rows(PLAN, [[said[column] for column in PLAN.names]]),
        "plan_move": moves,
        "plan_reason": reasons,
        "plan_load": _loads(cluster, used, named.plan),
    }


def _moves(cluster: Cluster, name: str, changed: Ints, after: Ints, copied: Any) -> Arrow:
    return from_columns(
        PLAN_MOVE,
        {
            "plan": _said(name, len(changed)),
            "topic": pa.array(cluster.topics, pa.string()).take(pa.array(cluster.topic[changed])),
            "partition": cluster.number[changed],
            "replicas": _as_lists(cluster.replicas[changed], cluster.brokers),
            "target_replicas": _as_lists(after[changed], cluster.brokers),
            "leader": _ids_of(cluster.leader[changed], cluster.brokers),
            "bytes": copied,
            "write_bps": pa.array(cluster.write_bps[changed], pa.float64(), mask=~cluster.rated[changed]),
        },
    )


def tables_of_disks(scene: Scene, found: Balanced, named: Named) -> dict[str, Arrow]:
    """The tables of a plan that moves replicas within brokers only."""
    cluster, name, used = scene.cluster, named.plan, _Used(scene.cluster, scene.cluster.replicas)
    changed, at = np.unique([placed.partition for placed in found.placed], return_inverse=True)
    copied = np.zeros(len(changed), np.int64)
    np.add.at(copied, at, np.array([placed.size for placed in found.placed], np.int64))
    row = {
        "partitions_changed": len(changed),
        "replicas_copied": len(found.placed),
        "bytes_copied": int(copied.sum()),
        "bytes_bound": found.bytes_bound,
        "size_max_mean_before": round(found.before, 6),
        "size_max_mean_after": round(found.after, 6),
    }
    moves = _moves(cluster, name, changed.astype(np.int64), cluster.replicas, copied)
    of_plan = _tables(scene, used, named, row, moves=moves, reasons=_reasons(cluster, found.reasons, name))
    return of_plan | tables_of_places(cluster, name, found.placed)


def tables_of_places(cluster: Cluster, name: str, placed: Iterable[Placed]) -> dict[str, Arrow]:
    """The table `plan_log_dir`, if the plan chooses directories."""
    rows = [
        (name, cluster.topics[cluster.topic[one.partition]], int(cluster.number[one.partition]),
         int(cluster.brokers[one.broker]), one.before, one.after)
        for one in placed
    ]  # fmt: skip
    return {PLAN_LOG_DIR.name: from_rows(PLAN_LOG_DIR, rows)} if rows else {}


def _is_level(row: dict[str, Any], settings: list[tuple[str, str]]) -> bool:
    """Whether bytes and networks are as level as requested: they are not if sizes or rates are unknown, or if the
    budget was too small. What else is not level has reasons."""
    asked = {key: json.loads(value) for key, value in settings}
    ratios = [row[f"{_RATIO_OF[name]}_max_mean_after"] for name in asked.get("by", ["bytes"]) if name in _RATIO_OF]
    return all(most is not None and most <= 1 + asked["tolerance"] for most in ratios)


def _imbalance(scene: Scene, used: _Used) -> dict[str, float | None]:
    among, capacity = scene.usable, capacities(scene.cluster)
    found: dict[str, float | None] = {}
    for name, resource in _RATIOS:
        share = proportional(capacity[resource], among)[among]
        for when, load in used.at.items():
            ratio = round(max_to_mean(load[resource][among], share), 6) if used.known[resource] else None
            found[f"{name}_max_mean_{when}"] = ratio
    return found


def _reasons(cluster: Cluster, reasons: Sequence[Reason], name: str) -> Arrow:
    if not reasons:
        return empty(PLAN_REASON)
    partition, broker, reason = zip(*reasons, strict=True)
    at = np.array(partition, np.int64)
    brokers = np.array(broker, np.int64)
    return from_columns(
        PLAN_REASON,
        {
            "plan": _said(name, len(at)),
            "topic": pa.array(cluster.topics, pa.string()).take(pa.array(cluster.topic[at])),
            "partition": cluster.number[at],
            "broker_id": pa.array(_ids_of(brokers, cluster.brokers), pa.int32(), mask=brokers == NOBODY),
            "reason": list(reason),
        },
        is_sorted=False,
    )


def _loads(cluster: Cluster, used: _Used, name: str) -> Arrow:
    brokers = len(cluster.brokers)
    columns: dict[str, Any] = {"plan": _said(name, brokers), "broker_id": cluster.brokers}
    for when, load in used.at.items():
        columns[f"replicas_{when}"], columns[f"leaders_{when}"] = load[[REPLICAS, LEADERS]].astype(np.int64)
        for column, resource in (("size_bytes", BYTES), ("in_bps", IN), ("out_bps", OUT)):
            unknown = np.full(brokers, not used.known[resource])
            kind = np.int64 if resource == BYTES else np.float64
            columns[f"{column}_{when}"] = pa.array(load[resource].astype(kind), mask=unknown)
    return from_columns(PLAN_LOAD, columns)


def tables_of_reduction(scene: Scene, request: ReducePartitions, load: Arrow, named: Named) -> dict[str, Arrow]:
    cluster, name, used = scene.cluster, named.plan, _Used(scene.cluster, scene.cluster.replicas)
    if load.num_rows != len(cluster.topic):
        raise BadInput(f"table replica_load has {load.num_rows} rows, partition {len(cluster.topic)}")
    found = reduction.reduce_partitions(cluster, bytes_max=request.bytes_max, bps_max=request.bps_max)
    asked = np.ones(len(cluster.topics), np.bool_)
    asked[cluster.topic[~cluster.chosen]] = False
    weakest = dict.fromkeys(range(len(cluster.topics)), "")
    for topic, basis in zip(cluster.topic.tolist(), load.column("basis").to_pylist(), strict=True):
        weakest[topic] = max(weakest[topic], basis, key=("", "measured", "split", "size_only").index)
    chosen = np.nonzero(asked & (found.wanted < found.now))[0].tolist()
    columns = (cluster.topics, found.now.tolist(), found.wanted.tolist(), found.size.tolist(), found.write_bps)
    rows = [(name, *(column[t] for column in columns), weakest[t]) for t in chosen]
    reasons = [(name, cluster.topics[t], None, None, reason) for t, reason in found.reasons if asked[t]]
    row = {"partitions_changed": int((found.now - found.wanted)[chosen].sum())}
    of_plan = _tables(scene, used, named, row, moves=empty(PLAN_MOVE), reasons=from_rows(PLAN_REASON, reasons))
    return {**of_plan, "reduction": from_rows(REDUCTION, rows)}


def _as_lists(replicas: Ints, ids: Ints) -> Any:
    """An Arrow array of lists of broker ids, from rows of indexes."""
    there = replicas != NOBODY
    offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    values = ids[replicas[there]] if len(ids) else np.empty(0, np.int64)
    field = pa.list_(pa.field("element", pa.int32()))
    made = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, pa.int32()))
    return made.cast(field)


def _ids_of(brokers: Ints, ids: Ints) -> Ints:
    """The ids of indexes, -1 for NOBODY."""
    return np.where(brokers == NOBODY, -1, ids[brokers]) if len(ids) else np.full(len(brokers), -1, np.int64)


def _said(name: str, count: int) -> Any:
    return pa.repeat(pa.scalar(name), count)
