"""Audits and progress on Spark: the rounds of `kedge.pipeline.audit.rounds`, whose calls run in the workers. So the
results are those of the local engine, to the byte.

Workers read the files. Rows without a topic, edges of files, findings and rejected rows return to this process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from ..audit import rounds
from ..audit.local import SEVERAL_BYTES, part_of
from ..audit.rounds import GROUPS_MAX, Each, Files
from ..audit.values import Audit
from ..progress import local
from ..progress.conclusions import STUCK_MS
from ..progress.samples import Samples
from ..progress.values import Progress
from .failing import failing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ONLY: Final = "only"  # a cluster without a name
_SCHEMA: Final = pa.schema([("n", pa.int32()), ("result", pa.binary())])
_repeated = retry(retry=retry_if_exception_type((OSError, EOFError)), stop=stop_after_attempt(5), reraise=True)
"""If a file is deleted or cut between the rounds, the next first round reports that."""


def audit(spark: SparkSession, files: Sequence[Path]) -> Audit:
    """As `kedge.pipeline.audit.audit`, with the same result. Raises NoJournal."""
    return audits(spark, {_ONLY: files})[_ONLY]


def audits(spark: SparkSession, journals: Mapping[str, Sequence[Path]]) -> dict[str, Audit]:
    """The audits of several clusters, by their ids. Raises NoJournal if a file cannot be read at all, or a cluster has
    no line of a journal."""
    return _repeated(rounds.audits)(_files(journals), _each(spark))


def progress(
    spark: SparkSession,
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> Progress:
    """As `kedge.pipeline.progress.progress`, with the same result. Raises NoJournal."""
    given = {} if samples is None else {_ONLY: samples}
    return progresses(spark, {_ONLY: files}, given, as_of_ms=as_of_ms, stuck_ms=stuck_ms)[_ONLY]


def progresses(
    spark: SparkSession,
    journals: Mapping[str, Sequence[Path]],
    samples: Mapping[str, Samples],
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> dict[str, Progress]:
    """The progress of several clusters, by their ids. Raises as `audits`."""
    run = _repeated(local.progresses)
    return run(_files(journals), samples, _each(spark), as_of_ms=as_of_ms, stuck_ms=stuck_ms)


def _files(journals: Mapping[str, Sequence[Path]]) -> dict[str, Files]:
    """The number of groups depends on the size of a journal, since each group costs a task."""
    parts = {cluster: [part_of(path) for path in files] for cluster, files in journals.items()}
    sizes = {cluster: sum(part.end for part in some) for cluster, some in parts.items()}
    return {one: Files(some, max(1, min(GROUPS_MAX, sizes[one] // SEVERAL_BYTES))) for one, some in parts.items()}


def _each(spark: SparkSession) -> Each:
    """A `map` in the workers, with a task for each call. Raises EngineFailed."""

    def each(work: Callable[[Any], Any], given: Sequence[Any]) -> list[Any]:
        rows = [(n, pickle.dumps(item)) for n, item in enumerate(given)]
        spread = spark.createDataFrame(rows, "n int, item binary").repartition(len(rows))
        with failing():
            done = spread.mapInArrow(_in_worker(work), "n int, result binary").orderBy("n").collect()
        results = [pickle.loads(row["result"]) for row in done]  # noqa: S301 - ours
        for result in results:
            if isinstance(result, OSError | EOFError):
                raise result
        return results

    return each


def _in_worker(work: Callable[[Any], Any]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                try:
                    result = work(pickle.loads(row["item"]))  # noqa: S301 - ours
                except (OSError, EOFError) as error:
                    result = error
                yield pa.RecordBatch.from_pylist([{"n": row["n"], "result": pickle.dumps(result)}], _SCHEMA)

    return run
