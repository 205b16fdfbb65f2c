"""Rounds over the files of journals on Spark: one with a file for each row, one with a group for each topic.

* Workers read the files. Spark sorts the rows of a group in the order of the journal; they reach the fold in batches
  and are not kept.
* The result of a round is pickled and should be small compared with the rows.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import functions as f

from ..journal.arrow import events_of
from ..journal.files import Part
from ..journal.lines import Event
from .failing import failing
from .source import FORMAT, KedgeJournal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]
T = TypeVar("T")

_OF_FILE: Final = pa.schema([("n", pa.int32()), ("found", pa.binary())])
_GROUP: Final = ("cluster", "key")
_OF_GROUP: Final = pa.schema([("cluster", pa.string()), ("key", pa.string()), ("found", pa.binary())])


def each_file(spark: SparkSession, parts: Sequence[Part], work: Callable[[Part], T]) -> list[T]:
    """The result of `work` for each file, in their order. Raises EngineFailed."""
    given = spark.createDataFrame([(n, json.dumps(part)) for n, part in enumerate(parts)], "n int, part string")
    spread = given.repartition(len(parts), "n").mapInArrow(_in_file(work), "n int, found binary")
    with failing():
        rows = spread.orderBy("n").collect()
    return [pickle.loads(row["found"]) for row in rows]  # noqa: S301 - ours


def _in_file(work: Callable[[Part], T]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            for row in batch.to_pylist():
                found = pickle.dumps(work(Part(*json.loads(row["part"]))))
                yield pa.RecordBatch.from_pylist([{"n": row["n"], "found": found}], _OF_FILE)

    return run


def of_topics(spark: SparkSession, parts: Sequence[Part], columns: Sequence[str], keys: Column) -> DataFrame:
    """These columns of each row with a topic, once for each of its `keys` (an array; null: none)."""
    has_topic = f.col("problem").isNull() & f.col("topic").isNotNull()
    return read_journal(spark, parts).where(has_topic).select(*columns, f.explode(keys).alias("key"))


def each_group(
    rows: DataFrame,
    ranks: Mapping[str, Mapping[str, int]],
    fold: Callable[[str, str | None, Iterator[Event]], T],
) -> Iterator[tuple[str, str | None, T]]:
    """The cluster and key of each group, and the result of `fold` for its rows. `ranks`: by cluster, the place of each
    file in the journal. Raises EngineFailed."""
    placed = [(file, cluster, at) for cluster, files in ranks.items() for file, at in files.items()]
    ranked = f.broadcast(rows.sparkSession.createDataFrame(placed, "file string, cluster string, rank int"))
    spread = rows.join(ranked, "file").repartition(*_GROUP).sortWithinPartitions(*_GROUP, "rank", "line")
    done = spread.groupBy(*_GROUP).applyInArrow(_in_group(fold), "cluster string, key string, found binary")
    with failing():
        collected = done.collect()
    for row in collected:
        yield row["cluster"], row["key"], pickle.loads(row["found"])  # noqa: S301 - ours


def _in_group(fold: Callable[[str, str | None, Iterator[Event]], T]) -> Callable[..., Batches]:
    def run(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster, name = (one.as_py() for one in key)
        own = (event for batch in batches for event in events_of(pa.Table.from_batches([batch])))
        one = {"cluster": cluster, "key": name, "found": pickle.dumps(fold(cluster, name, own))}
        yield pa.RecordBatch.from_pylist([one], _OF_GROUP)

    return run


def read_journal(spark: SparkSession, parts: Sequence[Part]) -> DataFrame:
    """The rows of files, as far as they are whole; it registers the format with the session."""
    spark.dataSource.register(KedgeJournal)
    return spark.read.format(FORMAT).option("parts", json.dumps(list(parts))).load()
