"""The audit on Spark: the first round of a pool of processes, file by file; then the same fold, a group for each topic.

* Workers read the files. Spark sorts the rows of a group in the order of the journal; they reach its fold in batches
  and are not kept. Rows of no topic are few and were collected by the first round: each fold gets them beside its own.
* What comes back to the driver are edges of files, violations, gaps and the quarantine.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

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
from pipeline.journal.files import DEFAULT_CLUSTER, Part
from pipeline.journal.lines import Event
from pipeline.spark.source import FORMAT, KedgeJournal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]

_RULES: Final = ("file", "line", "controller_epoch", "seq", "row", "ts", "event", "topic", "topic_id", "partition",
                 "replicas", "isr", "target", "origin", "leader", "leader_epoch", "partition_epoch", "status",
                 "broker_id", "cause", "detail")  # fmt: skip


class World(NamedTuple):
    """What every group of a cluster is given."""

    side: Sequence[Event]
    marks: Marks


def audit(spark: SparkSession, files: Sequence[Path]) -> Audit:
    """As `pipeline.audit.audit`, and with the same result. Raises NoJournal."""
    return audits(spark, {DEFAULT_CLUSTER: files})[DEFAULT_CLUSTER]


def audits(spark: SparkSession, journals: Mapping[str, Sequence[Path]]) -> dict[str, Audit]:
    """The audits of several clusters, by their ids, in one job. Raises NoJournal if a file cannot be read at all, or
    a cluster has no line of a journal."""
    parts = [part_of(path) for files in journals.values() for path in files]
    firsts = {one.edge.file: one for one in first_rounds(spark, parts)}
    orders: dict[str, tuple[Stitched, Rest]] = {}
    worlds: dict[str, World] = {}
    for cluster, files in journals.items():
        order, rest, side = Stitched(), Rest(), []
        for one in (firsts[str(path)] for path in files):
            rest.add(one.rest)
            order.add(one.edge, is_gone=one.edge.file in rest.gone)
            side += one.side
        orders[cluster], worlds[cluster] = (order, rest), World(side, marks_of(order))
    found = {cluster: (judged(*world, throttles=False)[0], 0) for cluster, world in worlds.items()}
    for cluster, some, partitions in _second_round(spark, parts, worlds):
        before, count = found[cluster]
        found[cluster] = before + some, count + partitions
    return {cluster: conclude(*orders[cluster], *found[cluster]) for cluster in journals}


def first_rounds(spark: SparkSession, parts: Sequence[Part]) -> list[First]:
    """The first round of each file, in their order."""
    given = spark.createDataFrame([(n, json.dumps(part)) for n, part in enumerate(parts)], "n int, part string")
    spread = given.repartition(len(parts), "n").mapInArrow(_read_files, "n int, first binary")
    return [pickle.loads(row["first"]) for row in spread.orderBy("n").collect()]  # noqa: S301 - ours


def _read_files(batches: Batches) -> Batches:
    for batch in batches:
        for row in batch.to_pylist():
            first = pickle.dumps(first_round(1, Part(*json.loads(row["part"]))))
            yield pa.RecordBatch.from_pylist([{"n": row["n"], "first": first}], _FIRST)


_FIRST: Final = pa.schema([("n", pa.int32()), ("first", pa.binary())])


def _second_round(
    spark: SparkSession, parts: Sequence[Part], worlds: Mapping[str, World]
) -> Iterator[tuple[str, Found, int]]:
    """Of each group its cluster, what is wrong with it, and how many partitions it has."""
    has_topic = f.col("problem").isNull() & f.col("topic").isNotNull()
    keys = f.when(f.col("event").isin(*sorted(EVENTS)), f.array("topic", f.lit(None))).otherwise(f.array("topic"))
    rows = read_journal(spark, parts).where(has_topic).select(*_RULES, f.explode(keys).alias("key"))
    spread = in_groups(spark, rows, {cluster: world.marks.rank for cluster, world in worlds.items()}, _GROUP)
    done = spread.groupBy(*_GROUP).applyInArrow(_group(worlds), "cluster string, found binary, partitions int")
    for row in done.collect():
        yield row["cluster"], pickle.loads(row["found"]), row["partitions"]  # noqa: S301 - ours


def in_groups(
    spark: SparkSession, rows: DataFrame, ranks: Mapping[str, Mapping[str, int]], group: Sequence[str]
) -> DataFrame:
    """Rows with the cluster of their file, in partitions of whole groups, each in the order of the journal. `ranks`: of
    the files of each cluster."""
    placed = [(file, cluster, at) for cluster, rank in ranks.items() for file, at in rank.items()]
    known = f.broadcast(spark.createDataFrame(placed, "file string, cluster string, rank int"))
    return rows.join(known, "file").repartition(*group).sortWithinPartitions(*group, "rank", "line")


def _group(worlds: Mapping[str, World]) -> Callable[..., Batches]:
    def work(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster = key[0].as_py()
        side, marks = worlds[cluster]
        own = (event for batch in batches for event in events_of(pa.Table.from_batches([batch])))
        found, partitions = judged(merged(own, side, marks), marks, throttles=not key[1].is_valid)
        one = {"cluster": cluster, "found": pickle.dumps(found), "partitions": partitions}
        yield pa.RecordBatch.from_pylist([one], _FOUND)

    return work


_GROUP: Final = ("cluster", "key")
_FOUND: Final = pa.schema([("cluster", pa.string()), ("found", pa.binary()), ("partitions", pa.int32())])


def read_journal(spark: SparkSession, parts: Sequence[Part]) -> DataFrame:
    """The rows of files, as far as they were whole; the format is known to the session afterwards."""
    spark.dataSource.register(KedgeJournal)
    return spark.read.format(FORMAT).option("parts", json.dumps(list(parts))).load()
