"""Audits and progress of journal files on Spark: a task for each cluster, whose worker reads the files and does what
the local engine does. So the results are the same, to the byte. This process gets the results alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ..audit.local import audit
from ..audit.values import Audit
from ..journal.files import NoJournal
from ..progress.conclusions import STUCK_MS
from ..progress.local import progress
from ..progress.samples import Samples
from ..progress.values import Progress
from .failing import failing
from .packed import tasks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA: Final = pa.schema([("n", pa.int32()), ("result", pa.binary())])


def audits(spark: SparkSession, journals: Mapping[str, Sequence[Path]]) -> dict[str, Audit]:
    """The audits of several clusters, by their ids. Raises NoJournal if a file cannot be read at all, or a cluster has
    no line of a journal, and EngineFailed."""
    return _each(spark, audit, {cluster: (files,) for cluster, files in journals.items()})


def progresses(
    spark: SparkSession,
    journals: Mapping[str, Sequence[Path]],
    samples: Mapping[str, Samples],
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> dict[str, Progress]:
    """The progress of several clusters, by their ids. Raises as `audits`."""
    given = {cluster: (files, samples.get(cluster)) for cluster, files in journals.items()}
    return _each(spark, partial(progress, as_of_ms=as_of_ms, stuck_ms=stuck_ms), given)


def _each(spark: SparkSession, work: Callable[..., Any], given: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """The result of a call in a worker for each of these arguments."""
    rows = [(n, pickle.dumps(arguments)) for n, arguments in enumerate(given.values())]
    spread = spark.createDataFrame(rows, "n int, arguments binary").repartition(tasks_of(len(rows)))
    with failing():
        done = spread.mapInArrow(_in_worker(work), "n int, result binary").orderBy("n").collect()
    results = [pickle.loads(row["result"]) for row in done]  # noqa: S301 - ours
    for result in results:
        if isinstance(result, NoJournal):
            raise result
    return dict(zip(given, results, strict=True))


def _in_worker(work: Callable[..., Any]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            try:
                result = work(*pickle.loads(row["arguments"]))  # noqa: S301 - ours
            except NoJournal as error:
                result = error
            yield pa.RecordBatch.from_pylist([{"n": row["n"], "result": pickle.dumps(result)}], _SCHEMA)

    return run
