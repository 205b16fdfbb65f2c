"""Runs a verb over the snapshots of many clusters in one Spark job.

A row per snapshot goes to a worker; the worker reads the tables, does what the local engine does and writes; a row with
the result returns. So neither rows of tables nor their files pass through this process or the JVM, which would cost ten
times as much as a plan (docs/decisions/0092).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from ..errors import BadInput, EngineFailed, NotFound, NothingAsked, PipelineError
from ..tables.files import Place
from ..verbs.verb import Said, Verb, attempt, unheard
from .failing import failing
from .packed import tasks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACES: Final = pa.schema([("root", pa.string()), ("cluster", pa.string()), ("snapshot", pa.string())])
_SAID: Final = pa.schema([*_PLACES, ("said", pa.string()), ("kind", pa.string()), ("error", pa.string())])
_COLUMNS: Final = ", ".join(f"{name} string" for name in _SAID.names)
_ERRORS: Final = {kind.__name__: kind for kind in (BadInput, NotFound, NothingAsked, EngineFailed)}
_Batches: TypeAlias = Iterator[Any]


def results(spark: SparkSession, verb: Verb, places: Sequence[Place]) -> Iterator[tuple[Place, Said | PipelineError]]:
    """The result of each place, in their order, once the job is done. Raises EngineFailed if it did not complete: what
    was written stays, and repeating it writes the same."""
    rows = [(place.root.absolute().text, place.cluster, place.snapshot) for place in places]
    spread = spark.createDataFrame(rows, "root string, cluster string, snapshot string").repartition(
        tasks_of(len(places))
    )
    with failing():
        collected = spread.mapInArrow(_work(verb), _COLUMNS).collect()
    done = {(row["cluster"], row["snapshot"]): result(row.asDict()) for row in collected}
    for place in places:
        yield place, done[place.cluster, place.snapshot]


def _work(verb: Verb) -> Callable[[_Batches], _Batches]:
    def work(batches: _Batches) -> _Batches:
        for batch in batches:
            for row in batch.to_pylist():
                place = Place(row["root"], row["cluster"], row["snapshot"])
                yield pa.RecordBatch.from_pylist([{**row, **said_of(verb, place)}], schema=_SAID)

    return work


def said_of(verb: Verb, place: Place) -> dict[str, str]:
    """The result of a worker for a snapshot, as columns: `said`; or `kind` and `error`."""
    try:
        found = attempt(verb, place, unheard)
    except OSError as error:  # for example a full disk
        found = EngineFailed(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if isinstance(found, PipelineError):
        return {"kind": type(found).__name__, "error": str(found)}
    return {"said": json.dumps([found.row, found.lines, found.code], default=str)}


def result(row: dict[str, Any]) -> Said | PipelineError:
    """The result from those columns."""
    if row["said"] is None:
        return _ERRORS.get(row["kind"], BadInput)(row["error"])
    said, lines, code = json.loads(row["said"])
    return Said(said, [(name, text) for name, text in lines], code)
