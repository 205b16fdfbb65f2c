"""The stages of planning as functions on tables: Arrow tables for the local engine, DataFrames for Spark.

`tables` maps names to tables: those that are collected (`broker`, `partition`, and as far as there are `replica_log`,
`replica_sample`, `broker_sample`, `broker_default`), and what the functions before have added; docs/tables.md has their
columns. The result has the tables given and those that are added, so that functions can be chained. With the columns
`cluster` and `snapshot` a table holds many snapshots, each of which is handled alone.

On Arrow tables the work is done at once. On DataFrames it is done by the workers, when the user reads a table. A wrong
value of an argument raises BadInput at once; a snapshot that cannot be used raises it (on Spark: fails the job) when it
is handled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ..arguments import flag, ids, settings_or
from ..errors import BadInput
from ..stages.arrays import Limits
from ..stages.choice import Choice
from ..stages.requests import (
    KINDS,
    TOLERANCE,
    Add,
    BalanceDisks,
    Demote,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
)
from ..stages.usable import LoadSettings
from ..stages.waves import WaveSettings
from ..tables.arrow import Arrow, conform
from ..tables.declared import TABLES
from ..tables.keys import keys_in
from . import steps
from .steps import Step

__all__ = [
    "balance_disks",
    "balance_leaders",
    "check",
    "compute_load",
    "demote",
    "drain",
    "fill_brokers",
    "fix_racks",
    "plan",
    "rebalance",
    "reduce_partitions",
    "set_replication_factor",
    "validate",
    "waves",
]

Frames: TypeAlias = Mapping[str, Any]
"""Tables by name: pyarrow.Table, or pyspark.sql.DataFrame."""

_LOADS: Final = LoadSettings()


def validate(tables: Frames) -> Frames:
    """The rows that can be used, sorted by their keys; adds `rejected_rows` with the others and the reason of each.
    Samples stay as they are: `compute_load` checks them. Doing it again changes nothing."""
    return _then(tables, steps.validation())


def compute_load(
    tables: Frames,
    *,
    window_s: int = _LOADS.window_s,
    statistic: str = _LOADS.statistic,
    growth: float = _LOADS.growth,
    age_max_s: float = _LOADS.age_max_s,
    taken_at: datetime | None = None,
) -> Frames:
    """Adds `replica_load`, `broker_load` and `rack_load`, in bytes and bytes/s, from sizes and samples of validated
    tables, and to `rejected_rows` the samples that do not count. Samples are averaged within `window_s` seconds, and
    the `statistic` of these windows (mean, p95 or max, which is of the samples) is multiplied by `growth`. Samples more
    than `age_max_s` seconds older than the snapshot do not count. `taken_at`: when snapshots without the table
    `snapshot_time` were taken; without both, samples of any time count."""
    return _then(tables, steps.loading(LoadSettings(window_s, statistic, growth, age_max_s, taken_at)))


def check(
    tables: Frames, *, limits: Limits | None = None, factor: int | None = None, ignore_racks: bool = False
) -> Frames:
    """Adds `violation`: broken rules of placement and capacity. `factor`: the wanted replication factor."""
    known, ignores = settings_or(limits, Limits, "limits"), flag(ignore_racks, "ignore_racks")
    return _then(tables, steps.checking(known, factor, ignore_racks=ignores))


def plan(
    tables: Frames,
    request: Request,
    *,
    name: str | None = None,
    limits: Limits | None = None,
    choice: Choice | None = None,
    ignore_racks: bool = False,
) -> Frames:
    """Adds `plan` (a row for each snapshot), `plan_move`, `plan_reason` (what is not planned, and why) and `plan_load`;
    where brokers have several log directories `plan_log_dir`; for ReducePartitions `reduction`. `name`: of the plan, by
    default that of its command. `choice`: of topics, sizes, brokers and racks."""
    if type(request) not in KINDS:
        raise BadInput(f"request: expected one of {', '.join(kind.__name__ for kind in KINDS)}, got {request!r:.80}")
    named = KINDS[type(request)] if name is None else name
    known, chosen = settings_or(limits, Limits, "limits"), settings_or(choice, Choice, "choice")
    step = steps.planning(request, named, known, chosen, ignore_racks=flag(ignore_racks, "ignore_racks"))
    return _then(tables, step)


def drain(tables: Frames, brokers: Sequence[int] = (), **options: Any) -> Frames:
    """`plan` of moving every replica away from these brokers, or from those in state draining. `options`: of `plan`."""
    return plan(tables, Drain(brokers), **options)


def fill_brokers(
    tables: Frames,
    brokers: Mapping[int, str | None] | Sequence[int],
    *,
    tolerance: float = TOLERANCE,
    bytes_max: int | None = None,
    **options: Any,
) -> Frames:
    """`plan` of moving bytes to these brokers, new ones with their racks. `bytes_max`: copied, at most."""
    racks = brokers if isinstance(brokers, Mapping) else dict.fromkeys(ids(brokers))
    return plan(tables, Add(tuple(racks.items()), tolerance, bytes_max), **options)


def rebalance(tables: Frames, *, tolerance: float = TOLERANCE, bytes_max: int | None = None, **options: Any) -> Frames:
    """`plan` of balancing bytes over all brokers, within this share above the mean. `bytes_max`: copied, at most."""
    return plan(tables, Rebalance(tolerance, bytes_max), **options)


def fix_racks(tables: Frames, **options: Any) -> Frames:
    """`plan` of spreading the replicas of each partition over racks (KIP-36)."""
    return plan(tables, FixRacks(), **options)


def set_replication_factor(tables: Frames, factor: int, **options: Any) -> Frames:
    """`plan` of `factor` replicas for every partition."""
    return plan(tables, SetFactor(factor), **options)


def balance_leaders(tables: Frames, **options: Any) -> Frames:
    """`plan` of spreading preferred leaders evenly, by the order of replicas alone."""
    return plan(tables, Leaders(), **options)


def demote(tables: Frames, brokers: Sequence[int], **options: Any) -> Frames:
    """`plan` of leaders away from these brokers, by the order of replicas alone."""
    return plan(tables, Demote(brokers), **options)


def balance_disks(
    tables: Frames, brokers: Sequence[int] = (), *, tolerance: float = TOLERANCE, **options: Any
) -> Frames:
    """`plan` of balancing bytes over the log directories within these brokers, by default all: adds `plan_log_dir`."""
    return plan(tables, BalanceDisks(brokers, tolerance), **options)


def reduce_partitions(tables: Frames, *, bytes_max: int, bps_max: float, **options: Any) -> Frames:
    """`plan` of fewer partitions for each topic (KIP-694), each below these bytes and bytes/s."""
    return plan(tables, ReducePartitions(bytes_max, bps_max), **options)


def waves(tables: Frames, settings: WaveSettings | None = None) -> Frames:
    """Adds the waves of the plan in `tables`: `wave` with times in seconds, `wave_move`, `wave_throttle` with rates in
    bytes/s, and `wave_reason` (moves that are in no wave)."""
    return _then(tables, steps.dividing(settings_or(settings, WaveSettings, "settings")))


def _then(tables: Frames, step: Step) -> Frames:
    if not isinstance(tables, Mapping):
        raise BadInput(f"tables: expected tables by their names, got {tables!r:.80}")
    step.check(tables.keys())
    if all(isinstance(table, pa.Table) for table in tables.values()):
        return _on_arrow(tables, step)
    from ..spark.frames import Snapshots  # noqa: PLC0415 - only Spark's users have PySpark

    return Snapshots.of(tables).then(step)


# --- many snapshots in Arrow tables


def _on_arrow(tables: Frames, step: Step) -> dict[str, Arrow]:
    keys = keys_in({name: table.column_names for name, table in tables.items()})
    if not keys:
        return {**tables, **step(dict(tables))}
    snapshots: dict[tuple[str, ...], dict[str, Arrow]] = {}
    for name, table in tables.items():
        for values, rows in _by_snapshot(table, keys):
            snapshots.setdefault(values, {})[name] = rows
    found: dict[str, list[Arrow]] = {}
    none = {name: table.slice(0, 0).drop_columns(list(keys)) for name, table in tables.items()}
    for values, there in sorted(snapshots.items()):
        given = {**none, **there}
        for name, rows in {**given, **step(given)}.items():
            found.setdefault(name, []).append(_with(conform(TABLES[name], rows, name), keys, values))
    return {name: pa.concat_tables(some) for name, some in found.items()}


def _by_snapshot(table: Arrow, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Arrow]]:
    texts = {key: pc.cast(table[key], pa.string()) for key in keys}
    if nulls := [key for key, values in texts.items() if values.null_count]:
        raise BadInput(f"column {nulls[0]}: expected a name in each row, got null")
    numbered = pa.table({**texts, "row": pa.array(range(table.num_rows), pa.int64())})
    for group in numbered.group_by(keys).aggregate([("row", "list")]).to_pylist():
        yield tuple(group[key] for key in keys), table.take(group["row_list"]).drop_columns(list(keys))


def _with(table: Arrow, keys: Sequence[str], values: Sequence[str]) -> Arrow:
    for at, (key, value) in enumerate(zip(keys, values, strict=True)):
        table = table.add_column(at, key, pa.repeat(pa.scalar(value), table.num_rows))
    return table
