"""Calls in the workers of Spark, one for each of many arguments.

A row with an argument goes to a worker, and one with the result returns. So what a call reads and writes passes neither
through this process nor through the JVM, which would cost ten times as much as a plan (docs/decisions/0092).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from .failing import failing
from .packed import tasks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RESULTS: Final = pa.schema([("n", pa.int32()), ("result", pa.binary())])


def each(spark: SparkSession, work: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The result of `work` for each tuple of arguments, in their order, once the job is done. Raises EngineFailed if it
    did not complete: what was written stays."""
    rows = [(n, pickle.dumps(arguments)) for n, arguments in enumerate(given)]
    spread = spark.createDataFrame(rows, "n int, arguments binary").repartition(tasks_of(len(rows)))
    with failing():
        done = spread.mapInArrow(_in_worker(work), "n int, result binary").collect()
    # Not by orderBy: to divide the rows among tasks, Spark would take samples of them, and do all work twice for that.
    return [pickle.loads(row["result"]) for row in sorted(done, key=lambda row: row["n"])]  # noqa: S301 - ours


def _in_worker(work: Callable[..., Any]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            result = pickle.dumps(work(*pickle.loads(row["arguments"])))  # noqa: S301 - ours
            yield pa.RecordBatch.from_pylist([{"n": row["n"], "result": result}], _RESULTS)

    return run
