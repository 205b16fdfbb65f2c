"""Tables of many snapshots as DataFrames, and functions of the local engine on them.

* A table has the columns that are declared for it, and `cluster` and `snapshot` before them, or neither if there is one
  snapshot only. All rows of a snapshot go to one worker, which calls the same functions as the local engine.
* Nothing is computed before the user's own action. Several steps are one pass over the rows, but each table that is
  read is a pass of its own: `persist` keeps the result for several.
* The rows of all tables are one frame with a column per table, of which one is not null. It is sorted by its keys, and
  a worker cuts it where they change (`mapInArrow`), since PySpark 3.5 has no `applyInArrow` for groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from ..errors import BadInput, PipelineError
from ..functions.steps import Step, Tables
from ..tables.arrow import Arrow, arrow_schema, conform, empty
from ..tables.declared import BROKER, OF_PLAN, PARTITION, TABLES
from ..tables.files import GROUP_ROWS, Place
from ..tables.location import location
from ..tables.schema import Table
from ..tables.whole import COLLECTED, tables_of, write_tables
from .failing import failing, reason

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Batches: TypeAlias = Iterator[Any]
Key: TypeAlias = tuple[str | None, ...]
Work: TypeAlias = Callable[[Key, Batches], Batches]
"""From a key and the batches of its rows to batches of the result."""

KEYS: Final = ("cluster", "snapshot")
_NEEDED: Final = (BROKER, PARTITION, *OF_PLAN)
"""Tables that exist where they have no rows."""


class Snapshots(Mapping[str, "DataFrame"]):
    """The tables by name. `persist` and `unpersist` are as those of a DataFrame, for all tables together."""

    def __init__(
        self, packed: DataFrame, keys: Sequence[str], names: Sequence[str], steps: Sequence[Step] = ()
    ) -> None:
        self._packed, self._keys, self._names, self._steps = packed, tuple(keys), tuple(names), tuple(steps)

    @classmethod
    def of(cls, tables: Mapping[str, DataFrame]) -> Snapshots:
        """The given tables. Raises BadInput if some have keys and others do not."""
        if isinstance(tables, cls):
            return tables
        keyed = {name: tuple(key for key in KEYS if key in frame.columns) for name, frame in tables.items()}
        if len(set(keyed.values())) != 1:
            had = "; ".join(f"{name}: {', '.join(keys) or 'neither'}" for name, keys in keyed.items())
            raise BadInput(f"expected the columns cluster and snapshot in all tables, or in none; got {had}")
        keys = next(iter(keyed.values()))
        return cls(packed([pack(TABLES[name], frame, keys) for name, frame in tables.items()]), keys, tuple(tables))

    def then(self, step: Step) -> Snapshots:
        """The tables after one more step."""
        names = dict.fromkeys((*self._names, *(table.key for table in step.makes)))
        return Snapshots(self._packed, self._keys, tuple(names), (*self._steps, step))

    def persist(self) -> Snapshots:
        """The same tables, computed once at the first action and kept in the memory and on the disks of the workers."""
        return Snapshots(self._computed().persist(), self._keys, self._names)

    def unpersist(self) -> None:
        """Forget what `persist` has kept."""
        self._packed.unpersist()

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._names:
            raise KeyError(name)
        frame = self._computed()
        return frame.where(f"`{name}` IS NOT NULL").select(*self._keys, f"`{name}`.*")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def keys_of_rows(self) -> tuple[str, ...]:
        """The columns before those of each table."""
        return self._keys

    def each(self, result: Callable[[Key, Tables], Batches], columns: str) -> DataFrame:
        """What a worker makes of the tables of each snapshot, by its key. `columns`: of the batches."""
        tables, steps = [TABLES[name] for name in self._names], self._steps

        def work(key: Key, batches: Batches) -> Batches:
            found: Tables = {t.name: empty(t) for t in tables if t in _NEEDED} | gathered(tables, batches)
            try:
                for step in steps:
                    found = {**found, **step(found)}
            except PipelineError as error:
                raise type(error)(f"snapshot {'/'.join(map(str, key))}: {error}" if key else str(error)) from error
            return result(key, found)

        return grouped(self._packed, self._keys, work, columns)

    def _computed(self) -> DataFrame:
        if not self._steps:
            return self._packed
        keys, tables = self._keys, [TABLES[name] for name in self._names]

        def rows(key: Key, found: Tables) -> Batches:
            same, of = dict(zip(keys, key, strict=True)), schema(keys, tables)
            for table in (table for table in tables if table.name in found):
                yield from rows_of(of, same, table, conform(table, found[table.name], table.name))

        return self.each(rows, columns(keys, tables))


# --- one frame of all tables


def pack(table: Table, frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of a table as rows with one column of its name."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - this module can be imported without PySpark

    declared = [name for name in table.names if name in frame.columns]
    return frame.select(*keys, f.struct(*declared).alias(table.name))


def packed(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def grouped(frame: DataFrame, keys: Sequence[str], work: Work, columns: str, tasks: int | None = None) -> DataFrame:
    """What `work` makes of the rows of each key, in a worker. `columns`: of the result, as Spark writes them."""
    if not keys:
        return frame.repartition(1).mapInArrow(lambda batches: work((), batches), columns)
    count = tasks or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    spread = frame.repartition(count, *keys).sortWithinPartitions(*keys)
    return spread.mapInArrow(lambda batches: _each(work, by_key(batches, keys)), columns)


def _each(work: Work, groups: Iterator[tuple[Key, list[Any]]]) -> Batches:
    for key, some in groups:
        yield from work(key, iter(some))


def by_key(batches: Batches, keys: Sequence[str]) -> Iterator[tuple[Key, list[Any]]]:
    """The batches of each key, of rows that are sorted by it."""
    last: Key | None = None
    some: list[Any] = []
    for batch in batches:
        for start, end in _cuts(batch, keys):
            key = tuple(batch.column(name)[start].as_py() for name in keys)
            if some and key != last:
                yield last or (), some
                some = []
            last = key
            some.append(batch.slice(start, end - start))
    if some:
        yield last or (), some


def _cuts(batch: Any, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    changes = np.zeros(batch.num_rows, np.bool_)
    changes[:1] = True
    for name in keys:
        codes = batch.column(name).dictionary_encode().indices.fill_null(-1).to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    starts = np.nonzero(changes)[0].tolist()
    return zip(starts, [*starts[1:], batch.num_rows], strict=True)


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


# --- files


def read(
    spark: SparkSession, root: str, names: Sequence[str] = tuple(table.name for table in COLLECTED)
) -> dict[str, DataFrame]:
    """The tables below `root`, a location that Spark reads, of all clusters and snapshots: each with its columns
    `cluster` and `snapshot`, as text. Tables that are not there are left out. Lazy."""
    found = {}
    for table in tables_of(names):
        try:
            frame = spark.read.option("mergeSchema", "true").parquet(f"{root.rstrip('/')}/{table.name}")
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                continue
            raise BadInput(f"{root}: table {table.name}: {reason(error)}") from error
        found[table.key] = frame.drop(*KEYS).select(*map(_of_path, KEYS), "*")
    return found


def _of_path(key: str) -> Column:
    """From the file's path, since Spark would read a cluster 007 as the number 7. The path is escaped as a URI, the
    name in it as by Hive."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - as above

    name = f.regexp_extract(f.col("_metadata.file_path"), f"/{key}=([^/]*)/", 1)
    for _ in range(2):
        name = f.url_decode(f.regexp_replace(name, "\\+", "%2B"))  # it takes + for a space
    return name.alias(key)


def write(tables: Mapping[str, DataFrame], root: str) -> None:
    """The tables are below `root`, where the commands read them: a folder that all workers have, or a location of
    pyarrow such as s3://bucket/tables. Each snapshot is written by a worker. Validated rows are kept apart from those
    collected, which are not replaced. Raises BadInput for tables without the columns cluster and snapshot, and
    EngineFailed if the job fails: what was written stays, and doing it again writes the same."""
    given, place = Snapshots.of(tables), location(root).absolute()
    if given.keys_of_rows != KEYS:
        raise BadInput("expected tables with the columns cluster and snapshot, got none with both")

    def kept(key: Key, found: Tables) -> Batches:
        write_tables(Place(place, *map(str, key)), found)
        yield pa.RecordBatch.from_pylist([{"snapshots": 1}], schema=pa.schema([("snapshots", pa.int32())]))

    with failing():
        given.each(kept, "snapshots int").collect()
