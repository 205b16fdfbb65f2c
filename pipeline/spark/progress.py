"""Progress on Spark: topics spread over groups, the moves of each by the functions of the local engine; what follows
from moves is concluded from the table of them, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f

from pipeline.audit.local import part_of
from pipeline.audit.rest import Rest
from pipeline.journal.arrow import events_of, sorted_by_place
from pipeline.journal.files import NoJournal
from pipeline.journal.lines import Event
from pipeline.progress.conclusions import STUCK_MS, conclude
from pipeline.progress.local import with_quarantine
from pipeline.progress.moves import EVENTS, moves_of, world_of
from pipeline.progress.samples import Samples
from pipeline.progress.values import Move, Progress, Told, World
from pipeline.spark.audit import read_journal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_WORLD: Final = -1
_COLUMNS: Final = ("file", "line", "controller_epoch", "ts", "event", "topic", "partition", "replicas", "isr", "target",
                   "origin", "leader", "broker_id", "cause", "detail")  # fmt: skip


def progress(
    spark: SparkSession,
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
    groups: int | None = None,
) -> Progress:
    """As `pipeline.progress.progress`, and with the same result. Raises NoJournal."""
    rows = read_journal(spark, [part_of(path) for path in files]).persist()
    try:
        rest = _quarantine_of(rows)
        rank = {str(path): at for at, path in enumerate(files)}
        told, world = _groups(rows, rank, groups or int(spark.conf.get("spark.sql.shuffle.partitions") or 4))
    finally:
        rows.unpersist()
    if world is None and not rest.quarantine:
        raise NoJournal("there is no whole commit in it")
    said = conclude(told, world or World((), (), False, 0), samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)  # noqa: FBT003 - a value
    return with_quarantine(said, rest.quarantine)


def _quarantine_of(rows: DataFrame) -> Rest:
    """What cannot be read of the files, and what was not there to be read."""
    rest = Rest()
    columns = ("file", "line", "hash", "problem", "reason", "raw")
    for row in rows.where(f.col("problem").isNotNull()).select(*columns).collect():
        rest.take(Event(row["file"], row["line"], row["hash"], None, row["problem"], row["reason"], row["raw"]))
    return rest


def _groups(rows: DataFrame, rank: Mapping[str, int], groups: int) -> tuple[list[Told], World | None]:
    spread = rows.where(f.col("problem").isNull()).select(*_COLUMNS, f.explode(_chosen(groups)).alias("group"))
    told: list[Told] = []
    world: World | None = None
    for row in spread.groupBy("group").applyInArrow(_group(rank, groups), "group int, found string").collect():
        found = json.loads(row["found"])
        if row["group"] == _WORLD:
            left, rates, is_led, last = found
            world = World(tuple(left), tuple((broker, rate) for broker, rate in rates), is_led, last)
        else:
            told += [_told(one) for one in found]
    return told, world


def _chosen(groups: int) -> Column:
    """Groups of a row: that of its topic, or all; and that of the world, where it says something of it."""
    of_topic = f.array(f.pmod(f.crc32(f.col("topic")), f.lit(groups)).cast("int"))
    takeover = f.sequence(f.lit(0), f.lit(groups - 1))
    chosen = (
        f.when(f.col("event") == "Takeover", takeover)
        .when(f.col("topic").isNotNull() & f.col("event").isin(*sorted(EVENTS)), of_topic)
        .otherwise(f.array().cast("array<int>"))
    )
    return f.concat(chosen, f.array(f.lit(_WORLD)))


def _group(rank: Mapping[str, int], groups: int) -> Callable[[pa.Table], pa.Table]:
    def work(table: pa.Table) -> pa.Table:
        group = table.column("group")[0].as_py()
        events = events_of(sorted_by_place(table, rank))
        found: Any = world_of(events) if group == _WORLD else moves_of(events, group, groups)
        return pa.table({"group": pa.array([group], pa.int32()), "found": [json.dumps(found)]})

    return work


def _told(one: Any) -> Told:
    values, leads = one
    made: list[Any] = [tuple(value) if isinstance(value, list) else value for value in values]
    return Told(Move(*made), tuple((since, leader) for since, leader in leads))
