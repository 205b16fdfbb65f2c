"""The audit on Spark: the first round of a pool of processes, file by file; then the same fold, a group for each topic.

* Workers read the files. Spark sorts the rows of a group in the order of the journal; they reach its fold in batches
  and are not kept. Rows of no topic are few and were collected by the first round: each fold gets them beside its own.
* What comes back to the driver are edges of files, violations, gaps and the quarantine.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as f

from pipeline.audit.conclusion import conclude
from pipeline.audit.fold import Found, Marks, judged, marks_of, merged
from pipeline.audit.local import part_of
from pipeline.audit.pool import First, first_round
from pipeline.audit.rest import Rest
from pipeline.audit.stitched import Stitched
from pipeline.audit.throttles import EVENTS
from pipeline.audit.values import Audit
from pipeline.journal.arrow import events_of
from pipeline.journal.files import Part
from pipeline.journal.lines import Event
from pipeline.spark.source import FORMAT, KedgeJournal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]

_RULES: Final = ("file", "line", "controller_epoch", "seq", "row", "ts", "event", "topic", "topic_id", "partition",
                 "replicas", "isr", "target", "origin", "leader", "leader_epoch", "partition_epoch", "status",
                 "broker_id", "cause", "detail")  # fmt: skip


def audit(spark: SparkSession, files: Sequence[Path]) -> Audit:
    """As `pipeline.audit.audit`, and with the same result. Raises NoJournal."""
    parts = [part_of(path) for path in files]
    order, rest, side = Stitched(), Rest(), []
    for one in _first_round(spark, parts):
        rest.add(one.rest)
        order.add(one.edge, is_gone=one.edge.file in rest.gone)
        side += one.side
    marks = marks_of(order)
    found, partitions = _second_round(spark, parts, side, marks)
    of_none, _ = judged(side, marks, throttles=False)
    return conclude(order, rest, [*found, *of_none], partitions)


def _first_round(spark: SparkSession, parts: Sequence[Part]) -> list[First]:
    """Of each file, in their order."""
    given = spark.createDataFrame([(n, json.dumps(part)) for n, part in enumerate(parts)], "n int, part string")
    spread = given.repartition(len(parts), "n").mapInArrow(_read_files, "n int, first binary")
    return [pickle.loads(row["first"]) for row in spread.orderBy("n").collect()]  # noqa: S301 - ours


def _read_files(batches: Batches) -> Batches:
    for batch in batches:
        for row in batch.to_pylist():
            first = pickle.dumps(first_round(1, Part(*json.loads(row["part"]))))
            yield pa.RecordBatch.from_pylist([{"n": row["n"], "first": first}], _FIRST)


_FIRST: Final = pa.schema([("n", pa.int32()), ("first", pa.binary())])


def _second_round(spark: SparkSession, parts: Sequence[Part], side: Sequence[Event], marks: Marks) -> tuple[Found, int]:
    ranks = spark.createDataFrame(list(marks.rank.items()), "file string, rank int")
    has_topic = f.col("problem").isNull() & f.col("topic").isNotNull()
    keys = f.when(f.col("event").isin(*sorted(EVENTS)), f.array("topic", f.lit(None))).otherwise(f.array("topic"))
    rows = read_journal(spark, parts).where(has_topic).select(*_RULES, f.explode(keys).alias("key"))
    placed = rows.join(f.broadcast(ranks), "file").repartition("key").sortWithinPartitions("key", "rank", "line")
    found: Found = []
    partitions = 0
    for row in placed.groupBy("key").applyInArrow(_group(side, marks), "found binary, partitions int").collect():
        found += pickle.loads(row["found"])  # noqa: S301 - ours
        partitions += row["partitions"]
    return found, partitions


def _group(side: Sequence[Event], marks: Marks) -> Callable[..., Batches]:
    def work(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = (event for batch in batches for event in events_of(pa.Table.from_batches([batch])))
        found, partitions = judged(merged(own, side, marks), marks, throttles=not key[0].is_valid)
        yield pa.RecordBatch.from_pylist([{"found": pickle.dumps(found), "partitions": partitions}], _FOUND)

    return work


_FOUND: Final = pa.schema([("found", pa.binary()), ("partitions", pa.int32())])


def read_journal(spark: SparkSession, parts: Sequence[Part]) -> DataFrame:
    """The rows of files, as far as they were whole; the format is known to the session afterwards."""
    spark.dataSource.register(KedgeJournal)
    return spark.read.format(FORMAT).option("parts", json.dumps(list(parts))).load()
