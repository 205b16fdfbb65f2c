"""Runs a verb over snapshots of tables that Spark keeps, in one job: the rows of all tables that it needs go to a
worker, by (cluster, snapshot), which does what the local engine does; the rows of all tables that it wrote return to be
written.

* A row belongs to one table, which is a column of that name; the others are null.
* The job runs once, and Spark keeps its result until it is written (a local checkpoint). If a worker loses a part, the
  writing fails; the job is not repeated from half-written tables. A killed process leaves nothing behind.
* The rows that say that a plan, its waves or a run exists are removed first and written last. So a killed process
  leaves no plan with rows of two; running it again completes it. The partitions of a snapshot, which are read, are only
  replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f

from ..errors import PipelineError
from ..tables.arrow import Arrow, arrow_schema
from ..tables.declared import TABLES
from ..tables.files import GROUP_ROWS, PART, Place, Wanted
from ..tables.location import Location
from ..tables.schema import Table
from ..verbs.kept import Given, Kept
from ..verbs.verb import Said, Verb
from .catalog import Catalog, Key, condition
from .failing import failing
from .verbs import result, said_of, tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Changes = dict[str, dict[Key, bool]]
"""By table, what changed, and whether it has rows now."""

_LAST: Final = ("partition", "plan", "wave", "run")
_FIRST: Final = _LAST[1:]
_PLACE: Final = ("cluster", "snapshot")
_SAID: Final = (*_PLACE, "said", "kind", "error", "changes")


def _struct(table: Table) -> Any:
    return pa.struct([field.with_nullable(True) for field in arrow_schema(table)])  # noqa: FBT003 - pyarrow's own


_ROW: Final = pa.schema([*((name, pa.string()) for name in _SAID), *((t.name, _struct(t)) for t in TABLES.values())])
_COLUMNS: Final = ", ".join(
    (*(f"{name} string" for name in _SAID),
     *(f"`{t.name}` struct<{', '.join(f'`{c}`: {k}' for c, k, _ in t.columns)}>" for t in TABLES.values()))
)  # fmt: skip


def results(catalog: Catalog, verb: Verb, places: Sequence[Place]) -> list[tuple[Place, Said | PipelineError]]:
    """The result of each place, in their order, once everything is written. Raises BadInput if a table cannot be used,
    and EngineFailed if the job did not complete: repeating it writes the same."""
    keys = [(place.cluster, place.snapshot, PART) for place in places]
    read = [frame for wanted in _wanted(verb) if (frame := _read(catalog, wanted, keys)) is not None]
    named = catalog.spark.createDataFrame([key[:2] for key in keys], "cluster string, snapshot string")
    given = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), read, named)
    with failing():
        spread = given.repartition(tasks(len(places)), *_PLACE).groupBy(*_PLACE)
        done = spread.applyInArrow(_work(verb, catalog.root), _COLUMNS).localCheckpoint()
        rows = done.where("changes IS NOT NULL").select(*_SAID).toArrow().to_pylist()
    changes: Changes = {}
    for row in rows:
        for name, part, has_rows in json.loads(row["changes"]):
            changes.setdefault(name, {})[row["cluster"], row["snapshot"], part] = has_rows
    write(catalog, changes, lambda table: done.where(f.col(table.name).isNotNull()).select(*_PLACE, f"{table.name}.*"))
    said = {(row["cluster"], row["snapshot"]): result(row) for row in rows}
    return [(place, said[place.cluster, place.snapshot]) for place in places]


def keep(catalog: Catalog, kept: Kept) -> None:
    """Write the tables kept for one snapshot. Raises as `results`."""
    changes: Changes = {}
    rows_of: dict[str, Any] = {}
    for table, part, rows in kept.changes():
        changes[table.name] = {(kept.cluster, kept.snapshot, part): rows is not None and rows.num_rows > 0}
        whole = (arrow_schema(table).empty_table() if rows is None else rows).combine_chunks()
        for name, value in zip(_PLACE, (kept.cluster, kept.snapshot), strict=True):
            whole = whole.append_column(name, pa.repeat(value, whole.num_rows))
        rows_of[table.name] = whole
    with failing():
        write(catalog, changes, lambda table: catalog.spark.createDataFrame(rows_of[table.name]))


def write(catalog: Catalog, changes: Changes, rows_of: Callable[[Table], DataFrame]) -> None:
    """The tables are as `changes` says, with the rows of `rows_of`. Nothing is written if one of them cannot be."""
    order = [*(name for name in sorted(changes) if name not in _LAST), *(name for name in _LAST if name in changes)]
    filled = [TABLES[name] for name in order if any(changes[name].values())]
    there = catalog.ready([TABLES[name] for name in order], filled)
    for name in _FIRST:
        if name in changes and name in there:
            catalog.empty(TABLES[name], changes[name])
    for name in (name for name in order if name in there):
        if any(changes[name].values()):
            catalog.replace(TABLES[name], changes[name], rows_of(TABLES[name]).select(*there[name]))
        elif name not in _FIRST:
            catalog.empty(TABLES[name], changes[name])


def _wanted(verb: Verb) -> Sequence[Wanted]:
    """All that it reads of a snapshot."""
    return (*verb.wanted, *getattr(verb, "looked_at", ()))


def _read(catalog: Catalog, wanted: Wanted, keys: Sequence[Key]) -> DataFrame | None:
    """The rows of a wanted table of these snapshots, as rows for a group."""
    frame, table = catalog.read(wanted.table), wanted.table
    if frame is None:
        return None
    row = f.struct(*table.names).alias(table.name)
    if not wanted.last:
        there = frame.where(condition(table, [(cluster, snapshot, wanted.part) for cluster, snapshot, _ in keys]))
        return there.select(*_PLACE, row)
    of = catalog.spark.createDataFrame([key[:2] for key in keys], "cluster string, snapshot string")
    last = frame.groupBy("cluster").agg(f.max_by(row, "snapshot").alias(table.name))
    return last.join(f.broadcast(of), "cluster").select(*_PLACE, table.name)


def _work(verb: Verb, root: Location) -> Callable[..., Any]:
    wanted = list({one.table.name: one.table for one in _wanted(verb)}.values())

    def work(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster, snapshot = (part.as_py() for part in key)
        kept = Kept.over(Given(root, cluster, snapshot, _gathered(wanted, batches)))
        said = said_of(verb, kept)
        changes = list(kept.changes()) if "said" in said else []
        listed = [(table.name, part, rows is not None and rows.num_rows > 0) for table, part, rows in changes]
        yield _batch(1, {"cluster": cluster, "snapshot": snapshot, **said, "changes": json.dumps(listed)})
        for table, _, rows in changes:
            for batch in () if rows is None else rows.combine_chunks().to_batches(max_chunksize=GROUP_ROWS):
                column = pa.StructArray.from_arrays(batch.columns, fields=list(_struct(table)))
                yield _batch(batch.num_rows, {"cluster": cluster, "snapshot": snapshot}, {table.name: column})

    return work


def _gathered(wanted: Sequence[Table], batches: Iterator[Any]) -> dict[str, Arrow]:
    """The tables that have rows."""
    found: dict[str, list[Any]] = {}
    for batch in batches:
        for table in wanted:
            if table.name in batch.schema.names:
                column = batch.column(table.name)
                rows = column.filter(column.is_valid())
                found.setdefault(table.name, []).extend([pa.RecordBatch.from_struct_array(rows)] if len(rows) else [])
    return {name: pa.Table.from_batches(some) for name, some in found.items() if some}


def _batch(count: int, same: Mapping[str, str], columns: Mapping[str, Any] | None = None) -> Any:
    made = {name: pa.repeat(value, count) for name, value in same.items()} | dict(columns or {})
    return pa.RecordBatch.from_arrays(
        [made[field.name] if field.name in made else pa.nulls(count, field.type) for field in _ROW], schema=_ROW
    )
