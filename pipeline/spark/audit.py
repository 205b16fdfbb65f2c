"""The audit on Spark: files checked for their order at once, topics spread over groups, the same functions as in the
local engine.

Every group gets all rows of its topics and those of no topic; one group more gets what says something of throttles.
What comes back to the driver are edges of files, violations, gaps and the quarantine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as f

from pipeline.audit import throttles as t
from pipeline.audit.conclusion import conclude
from pipeline.audit.edges import Edge, Light, edge_of, light, text_of
from pipeline.audit.groups import Marks, audit_throttles, audit_topics, marks_of
from pipeline.audit.order import FileOrder
from pipeline.audit.quick import quick_edge
from pipeline.audit.rest import Rest
from pipeline.audit.several import value
from pipeline.audit.stitched import stitch
from pipeline.audit.values import Audit, Gap, Violation
from pipeline.journal.arrow import events_of, sorted_by_place
from pipeline.journal.lines import Event
from pipeline.spark.source import FORMAT, KedgeJournal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_THROTTLES: Final = -1
_LIGHT: Final = ("file", "line", "controller_epoch", "seq", "row", "rows", "ts", "event", "topic", "partition", "prev",
                 "hash", "problem")  # fmt: skip
_RULES: Final = ("file", "line", "controller_epoch", "seq", "row", "ts", "event", "topic", "topic_id", "partition",
                 "replicas", "isr", "target", "origin", "leader", "leader_epoch", "partition_epoch", "status",
                 "broker_id", "cause", "detail")  # fmt: skip


def audit(spark: SparkSession, files: Sequence[Path], groups: int | None = None) -> Audit:
    """As `pipeline.audit.audit`, and with the same result. `groups`: over how many topics are spread; it changes
    nothing but the speed. Raises NoJournal."""
    names = [str(path) for path in files]
    rows = read_journal(spark, names).persist()
    try:
        return _audit(rows, names, groups or int(spark.conf.get("spark.sql.shuffle.partitions") or 4))
    finally:
        rows.unpersist()


def read_journal(spark: SparkSession, names: Sequence[str]) -> DataFrame:
    """The rows of files; the format is known to the session afterwards."""
    spark.dataSource.register(KedgeJournal)
    return spark.read.format(FORMAT).option("paths", json.dumps(list(names))).load()


def _audit(rows: DataFrame, names: Sequence[str], groups: int) -> Audit:
    edges = order_of(rows, names)
    rest = quarantine_of(rows)
    marks = marks_of(edges, stitch(edges, rest.gone))
    found, partitions = _groups(rows, marks, groups)
    return conclude(edges, rest, found, partitions, lambda file: _lights(rows, file))


def order_of(rows: DataFrame, names: Sequence[str]) -> list[Edge]:
    """The edges of all files, in the order of the journal."""
    gap = f.when(f.col("event") == "Gap", f.col("detail")).alias("detail")
    wanted = f.col("problem").isNull() | ((f.col("problem") == "bad line") & (f.col("line") > 0))
    done = rows.where(wanted).select(*_LIGHT, gap).groupBy("file").applyInArrow(_edge, "edge string")
    found = {edge.file: edge for edge in (edge_of(row["edge"]) for row in done.collect())}
    return [found.get(name) or FileOrder(name).edge() for name in names]


def _edge(table: pa.Table) -> pa.Table:
    return pa.table({"edge": [text_of(edge_of_rows(table.sort_by("line")))]})


def edge_of_rows(table: pa.Table) -> Edge:
    """The edge of a file's rows, which are in their order: by columns, or line by line where something may be wrong."""
    edge = quick_edge(table, lambda i: next(lights_of(table.slice(i, 1))))
    if edge is not None:
        return edge
    order = FileOrder(table.column("file")[0].as_py())
    for event in _hashed(table):
        order.take(event)
    return order.edge()


def lights_of(table: pa.Table) -> Iterator[Light]:
    """What the order of lines needs, of rows that are in their order."""
    return (now for event in _hashed(table) if (now := light(event)) is not None)


def _hashed(table: pa.Table) -> Iterator[Event]:
    """Events with the hashes of their lines, and what is in quarantine."""
    hashes, problems = table.column("hash").to_pylist(), table.column("problem").to_pylist()
    for event, digest, problem in zip(events_of(table), hashes, problems, strict=True):
        plain = event._replace(hash=digest)
        yield plain if problem is None else Event(event.file, event.line, digest, None, problem)


def _lights(rows: DataFrame, file: str) -> Iterator[Light]:
    gap = f.when(f.col("event") == "Gap", f.col("detail")).alias("detail")
    return lights_of(rows.where(f.col("file") == file).select(*_LIGHT, gap).orderBy("line").toArrow())


def quarantine_of(rows: DataFrame) -> Rest:
    """What cannot be read of the files, and what was not there to be read."""
    rest = Rest()
    columns = ("file", "line", "hash", "problem", "reason", "raw")
    for row in rows.where(f.col("problem").isNotNull()).select(*columns).collect():
        rest.take(Event(row["file"], row["line"], row["hash"], None, row["problem"], row["reason"], row["raw"]))
    return rest


def _groups(rows: DataFrame, marks: Marks, groups: int) -> tuple[list[Violation | Gap], int]:
    of_topic = f.array(f.pmod(f.crc32(f.col("topic")), f.lit(groups)).cast("int"))
    chosen = f.when(f.col("topic").isNull(), f.sequence(f.lit(0), f.lit(groups - 1))).otherwise(of_topic)
    throttles = f.when(f.col("event").isin(*sorted(t.EVENTS)), f.array(f.lit(_THROTTLES))).otherwise(
        f.array().cast("array<int>")
    )
    spread = rows.where(f.col("problem").isNull()).select(
        *_RULES, f.explode(f.concat(chosen, throttles)).alias("group")
    )
    done = spread.groupBy("group").applyInArrow(_group(marks), "found string, partitions int")
    found: list[Violation | Gap] = []
    partitions = 0
    for row in done.collect():
        partitions += row["partitions"]
        found += [value(one) for one in json.loads(row["found"])]
    return found, partitions


def _group(marks: Marks) -> Callable[[pa.Table], pa.Table]:
    def work(table: pa.Table) -> pa.Table:
        events = events_of(sorted_by_place(table, marks.rank))
        found: list[Violation] | list[Violation | Gap]
        if table.column("group")[0].as_py() == _THROTTLES:
            found, partitions = audit_throttles(events, marks), 0
        else:
            found, partitions = audit_topics(events, marks)
        return pa.table({"found": [json.dumps(found)], "partitions": pa.array([partitions], pa.int32())})

    return work
