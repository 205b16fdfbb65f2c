"""Validating, planning and cutting into waves on Spark: the functions of the local engine, one call per cluster.

They decide in one total order over a whole cluster, so there is nothing to split within one; a fleet is spread over
clusters. Frames in, packed tables out (`packed.unpacked` makes DataFrames of them, `packed.results` ends the job), and
the bytes are those of the local engine because it is the same function that makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pipeline.errors import NotFound
from pipeline.spark.packed import FILES, Frames, Key, by_cluster, keyed
from pipeline.stages.arrays import Limits
from pipeline.stages.plan import plan as plan_one
from pipeline.stages.requests import FixRacks, Request, SetFactor
from pipeline.stages.snapshots import check_same
from pipeline.stages.validate import AGE_MAX_S
from pipeline.stages.validate import validate as validate_one
from pipeline.stages.waves import WaveSettings
from pipeline.stages.waves import waves as waves_one
from pipeline.tables.arrow import Arrow
from pipeline.tables.declared import (
    BROKER,
    BROKER_LOAD,
    BROKER_SAMPLE,
    PARTITION,
    PLAN,
    PLAN_MOVE,
    QUARANTINE,
    REPLICA_LOAD,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    TABLES,
)
from pipeline.tables.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLLECTED: Final = (BROKER, PARTITION, REPLICA_LOG, REPLICA_SAMPLE, BROKER_SAMPLE, QUARANTINE)
PLANNED_ON: Final = (BROKER, PARTITION, REPLICA_LOAD)
# Of 10 columns the kernel looks at 6, or 7 where a replica is taken away: what it passes over need not go to a worker.
_PARTITION: Final = ("topic", "partition", "replicas", "leader", "target_replicas", "status_code")
_NEEDED: Final = {PARTITION.name: _PARTITION}
_CHOOSING: Final = {PARTITION.name: (*_PARTITION, "isr")}


def validate(frames: Frames, *, age_max_s: float = AGE_MAX_S) -> DataFrame:
    """Collected tables without what cannot be used, and `quarantine` with each row that was taken out; frames that are
    to be told by line must be read with their lines."""

    def work(_: Key, tables: dict[str, Arrow]) -> Mapping[str, Arrow]:
        return validate_one(_checked(tables, (BROKER, PARTITION)), age_max_s=age_max_s)

    return by_cluster(frames, COLLECTED, work)


def plan(
    frames: Frames, request: Request, *, name: str, limits: Limits | None = None, ignore_racks: bool = False
) -> DataFrame:
    """The plan `name` of every cluster: `plan`, `plan_move`, `plan_reason`, `plan_load`, and `reduction`."""

    def work(_: Key, tables: dict[str, Arrow]) -> Mapping[str, Arrow]:
        given = _in_order(_checked(tables, PLANNED_ON))
        return plan_one(given, request, name=name, limits=limits, ignore_racks=ignore_racks)

    chooses = isinstance(request, FixRacks | SetFactor)
    return by_cluster(frames, PLANNED_ON, work, _CHOOSING if chooses else _NEEDED)


def waves(frames: Frames, name: str, settings: WaveSettings) -> DataFrame:
    """The waves of the plan `name` of every cluster: `wave`, `wave_move`, `wave_throttle`, `plan_reason`."""

    def work(_: Key, tables: dict[str, Arrow]) -> Mapping[str, Arrow]:
        return waves_one(_in_order(_checked(tables, (*PLANNED_ON, PLAN_MOVE))), name, settings)

    return by_cluster(frames, (*PLANNED_ON, BROKER_LOAD, PLAN, PLAN_MOVE), work, _NEEDED)


def gathered(frames: Frames) -> DataFrame:
    """The tables of a plan as they are, by cluster: what an export reads. Those of its snapshot are looked at only: it
    has to be the one that the plan was made of."""

    def work(_: Key, tables: dict[str, Arrow]) -> Mapping[str, Arrow]:
        check_same(_checked(tables, (*PLANNED_ON, PLAN)))
        looked_at = {table.name for table in PLANNED_ON}
        return {name: rows for name, rows in tables.items() if name not in looked_at}

    tables = list(TABLES.values()) if FILES in frames else [TABLES[name] for name in frames if name in TABLES]
    return by_cluster(frames, tables, work, _NEEDED)


def _checked(tables: dict[str, Arrow], needed: tuple[Table, ...]) -> dict[str, Arrow]:
    for table in needed:
        if table.name not in tables:
            raise NotFound(f"no table {table.name} of this snapshot")
    return tables


def _in_order(tables: dict[str, Arrow]) -> dict[str, Arrow]:
    """Rows that have been through a shuffle stand anyhow."""
    return {name: keyed(TABLES[name], rows) for name, rows in tables.items()}
