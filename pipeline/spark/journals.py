"""Audits and progress of journal files on Spark: a worker reads the files of a cluster and does what the local engine
does. So the results are the same, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audit.local import audit
from ..audit.values import Audit
from ..journal.files import NoJournal
from ..progress.conclusions import STUCK_MS
from ..progress.local import progress
from ..progress.samples import Samples
from ..progress.values import Progress
from .calls import each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    results = each(spark, partial(_tried, work), list(given.values()))
    if refused := next((one for one in results if isinstance(one, NoJournal)), None):
        raise refused
    return dict(zip(given, results, strict=True))


def _tried(work: Callable[..., Any], *given: Any) -> Any:
    """NoJournal is a result: the error of a worker would be Spark's."""
    try:
        return work(*given)
    except NoJournal as error:
        return error
