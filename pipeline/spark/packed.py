"""The rows of many tables in one frame, with a column per table of which one is not null, and workers that get all rows
of a key.

The frame is sorted by its keys, and a worker cuts it where they change (`mapInArrow`), since PySpark 3.5 has no
`applyInArrow` for groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from ..tables.arrow import Arrow, arrow_schema
from ..tables.files import GROUP_ROWS
from ..tables.keys import Batches, Key, by_key
from ..tables.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Work: TypeAlias = Callable[[Key, Batches], Batches]
"""From a key and the batches of its rows to batches of the result."""

_TASKS: Final = 64  # up to so many snapshots have a task each
_IN_A_TASK: Final = 8  # snapshots


def tasks_of(snapshots: int) -> int:
    """The number of tasks for so many snapshots: a task costs 0.03 s of a core, a plan of 10,000 partitions 0.05 s."""
    return min(snapshots, max(_TASKS, snapshots // _IN_A_TASK))


def pack(table: Table, frame: DataFrame, keys: Sequence[str | Column]) -> DataFrame:
    """Rows of a table as rows with one column of its name."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - this module can be imported without PySpark

    declared = [name for name in table.names if name in frame.columns]
    return frame.select(*keys, f.struct(*declared).alias(table.name))


def packed(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def spread(
    frame: DataFrame, keys: Sequence[str], tasks: int | None = None, *, order: Sequence[str | Column] = ()
) -> DataFrame:
    """The rows of each key in one partition, one after the other, sorted by `order`."""
    if not keys:
        return frame.repartition(1)
    said = frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1"
    count = tasks or (int(said) if said.isdecimal() else _TASKS)  # Databricks has "auto"
    return frame.repartition(count, *keys).sortWithinPartitions(*keys, *order)


def grouped(frame: DataFrame, keys: Sequence[str], work: Work, columns: str) -> DataFrame:
    """What `work` makes of the rows of each key, which are spread as above. `columns`: of the result, as Spark writes
    them."""
    if not keys:
        return frame.mapInArrow(lambda batches: work((), batches), columns)
    return frame.mapInArrow(lambda batches: _each(work, by_key(batches, keys)), columns)


def _each(work: Work, groups: Iterable[tuple[Key, Batches]]) -> Batches:
    for key, some in groups:
        yield from work(key, some)


def gathered(tables: Sequence[Table], batches: Batches) -> dict[str, Arrow]:
    """The tables that have rows, by name."""
    found: dict[str, list[Any]] = {}
    for batch in batches:
        for table in tables:
            if table.name in batch.schema.names:
                column = batch.column(table.name)
                rows = column.filter(column.is_valid())
                found.setdefault(table.name, []).extend([pa.RecordBatch.from_struct_array(rows)] if len(rows) else [])
    return {name: pa.Table.from_batches(some) for name, some in found.items() if some}


# --- what comes out of a worker


def schema(texts: Sequence[str], tables: Sequence[Table]) -> Any:
    """Of a frame with these columns of text and a column per table."""
    return pa.schema([*((name, pa.string()) for name in texts), *((t.name, _struct(t)) for t in tables)])


def columns(texts: Sequence[str], tables: Sequence[Table]) -> str:
    """The same as Spark writes it."""
    structs = (f"`{t.name}` struct<{', '.join(f'`{c}`: {k}' for c, k, _ in t.columns)}>" for t in tables)
    return ", ".join((*(f"{name} string" for name in texts), *structs))


def rows_of(of: Any, same: Mapping[str, str | None], table: Table, rows: Arrow) -> Batches:
    """Rows of a table as batches of that schema. `same`: the texts of all of them."""
    for batch in rows.combine_chunks().to_batches(max_chunksize=GROUP_ROWS):
        column = pa.StructArray.from_arrays(batch.columns, fields=list(_struct(table)))
        yield batch_of(of, batch.num_rows, same, {table.name: column})


def batch_of(of: Any, count: int, same: Mapping[str, str | None], more: Mapping[str, Any] | None = None) -> Any:
    """A batch of that schema; columns that are not given are null."""
    made = {name: pa.repeat(pa.scalar(value, pa.string()), count) for name, value in same.items()} | dict(more or {})
    arrays = [made[field.name] if field.name in made else pa.nulls(count, field.type) for field in of]
    return pa.RecordBatch.from_arrays(arrays, schema=of)


def _struct(table: Table) -> Any:
    return pa.struct([field.with_nullable(True) for field in arrow_schema(table)])  # noqa: FBT003 - pyarrow's own


def frame_of(spark: SparkSession, table: Table, rows: Arrow, same: Mapping[str, str]) -> DataFrame:
    """Rows of this process as a frame, with more columns of text. They travel with the code of a task, since PySpark
    3.5 makes no frame from an Arrow table."""
    given = rows
    for name, value in same.items():
        given = given.append_column(name, pa.repeat(value, rows.num_rows))
    kinds = [*((name, kind) for name, kind, _ in table.columns), *((name, "string") for name in same)]
    batches = given.combine_chunks().to_batches(max_chunksize=GROUP_ROWS)
    return spark.range(1, numPartitions=1).mapInArrow(
        lambda _: iter(batches), ", ".join(f"`{name}` {kind}" for name, kind in kinds)
    )
