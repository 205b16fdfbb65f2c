"""Tables of many snapshots as DataFrames, and functions of the local engine on them.

* A table has the columns that are declared for it, and `cluster` and `snapshot` before them, or neither if there is one
  snapshot only. All rows of a snapshot go to one worker, which calls the same functions as the local engine.
* Nothing is computed before the user's own action. Several steps are one pass over the rows, but each table that is
  read is a pass of its own: `persist` keeps the result for several.
* Tables below a location are read by the workers, so that their rows do not pass through the JVM, which would cost ten
  times as much as a plan (docs/decisions/0092).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from ..errors import BadInput, PipelineError
from ..functions import collecting
from ..functions.steps import Step, Tables
from ..tables.arrow import conform, empty
from ..tables.declared import BROKER, OF_PLAN, PARTITION, TABLES
from ..tables.files import Place, find_places
from ..tables.keys import KEYS, Batches, Key, keys_in
from ..tables.location import location
from ..tables.whole import found_by, names_for, read_tables, tables_of, write_tables
from .failing import failing
from .packed import columns, frame_of, gathered, grouped, pack, packed, rows_of, schema, spread, tasks_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reads: TypeAlias = Callable[[Key, Batches], Tables]

_NEEDED: Final = (BROKER, PARTITION, *OF_PLAN)
"""Tables that exist where they have no rows."""


class Snapshots(Mapping[str, "DataFrame"]):
    """The tables by name. `persist` and `unpersist` are as those of a DataFrame, for all tables together."""

    def __init__(
        self,
        frame: DataFrame,
        keys: Sequence[str],
        names: Sequence[str],
        reads: Reads | None = None,
        *,
        is_spread: bool = False,
    ) -> None:
        """`frame`: the rows of all tables. With `reads` a row per snapshot, of which it reads the tables in a worker.
        `is_spread`: the rows of a snapshot are in one partition, one after the other."""
        self._frame, self._keys, self._names, self._is_spread = frame, tuple(keys), tuple(names), is_spread
        self._reads = reads
        self._steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, DataFrame]) -> Snapshots:
        """The given tables. Raises BadInput if some have keys and others do not."""
        if isinstance(tables, cls):
            return tables
        keys = keys_in({name: frame.columns for name, frame in tables.items()})
        return cls(packed([pack(TABLES[name], frame, keys) for name, frame in tables.items()]), keys, tuple(tables))

    def then(self, step: Step) -> Snapshots:
        """The tables after one more step."""
        names = dict.fromkeys((*self._names, *(table.key for table in step.makes)))
        found = Snapshots(self._frame, self._keys, tuple(names), self._reads or _gathers(self._names))
        found._is_spread, found._steps = self._is_spread, (*self._steps, step)
        return found

    def persist(self) -> Snapshots:
        """As the function."""
        return Snapshots(self._rows().persist(), self._keys, self._names, is_spread=True)

    def unpersist(self) -> None:
        """Forget what `persist` has kept."""
        self._frame.unpersist()

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._names:
            raise KeyError(name)
        return self._rows().where(f"`{name}` IS NOT NULL").select(*self._keys, f"`{name}`.*")

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
        reads, steps = self._reads or _gathers(self._names), self._steps

        def work(key: Key, batches: Batches) -> Batches:
            try:
                found = reads(key, batches)
                for step in steps:
                    found = {**found, **step(found)}
            except PipelineError as error:
                raise type(error)(f"snapshot {'/'.join(map(str, key))}: {error}" if key else str(error)) from error
            return result(key, found)

        frame = self._frame if self._is_spread else spread(self._frame, self._keys)
        return grouped(frame, self._keys, work, columns)

    def _rows(self) -> DataFrame:
        """A frame with a column per table."""
        if self._reads is None:
            return self._frame
        keys, tables = self._keys, [TABLES[name] for name in self._names]

        def rows(key: Key, found: Tables) -> Batches:
            same, of = dict(zip(keys, key, strict=True)), schema(keys, tables)
            for table in (table for table in tables if table.name in found):
                yield from rows_of(of, same, table, conform(table, found[table.name], table.name))

        return self.each(rows, columns(keys, tables))


def _gathers(names: Sequence[str]) -> Reads:
    """The tables of a snapshot from its rows."""
    tables = [TABLES[name] for name in names]
    none = {table.name: empty(table) for table in tables if table in _NEEDED}
    return lambda _, batches: none | gathered(tables, batches)


def read(
    spark: SparkSession,
    root: str,
    names: Sequence[str] | None = None,
    *,
    snapshot: str | None = None,
    plan: str | None = None,
) -> Snapshots:
    """The tables below `root` of every cluster's snapshot of this name, by default of its newest one. `root`: a folder
    that all workers have, or a location of pyarrow such as s3://bucket/tables; the driver lists it, the workers read
    it. `names`, `plan`: as of `kedge.pipeline.local.read`. Raises NotFound if there is none."""
    at, tables = location(root).absolute(), tables_of(names_for(plan) if names is None else names)
    found = find_places(at, found_by(plan), snapshot)
    places = [(place.cluster, place.snapshot) for place in found]
    frame = spark.createDataFrame(places, "cluster string, snapshot string").repartition(tasks_of(len(places)))
    there = [table for table in tables if at.is_there(table.name)]
    wanted = [table.name for table in there]
    return Snapshots(
        frame,
        KEYS,
        [table.key for table in there],
        lambda key, _: read_tables(Place(at, *map(str, key)), wanted, plan),
        is_spread=True,
    )


def collect(
    spark: SparkSession, *, cluster: str | None = None, snapshot: str | None = None, **sources: Any
) -> dict[str, DataFrame]:
    """The tables of `kedge.pipeline.local.collect`, which takes the `sources`, with columns of these names for the
    cluster and the snapshot. The driver reads the sources."""
    named = {key: name for key, name in zip(KEYS, (cluster, snapshot), strict=True) if name is not None}
    tables = collecting.collect(**sources)
    return {name: frame_of(spark, TABLES[name], rows, named) for name, rows in tables.items()}


def persist(tables: Mapping[str, DataFrame]) -> Snapshots:
    """The same tables, computed once at the first action and kept in the memory and on the disks of the workers until
    `unpersist` is called: for several tables of a result, each of which would be a pass of its own."""
    return Snapshots.of(tables).persist()


def write(tables: Mapping[str, DataFrame], root: str) -> None:
    """The tables are below `root`, a location as for `read`, where the commands read them. A worker writes a snapshot.
    Validated rows are kept apart from those collected, which are not replaced. Raises BadInput for tables
    without the columns cluster and snapshot, and EngineFailed if the job fails: what was written stays, and doing it
    again writes the same."""
    given, at = Snapshots.of(tables), location(root).absolute()
    if given.keys_of_rows != KEYS:
        raise BadInput("expected tables with the columns cluster and snapshot")

    def kept(key: Key, found: Tables) -> Batches:
        write_tables(Place(at, *map(str, key)), found)
        yield pa.RecordBatch.from_pylist([{"snapshots": 1}], schema=pa.schema([("snapshots", pa.int32())]))

    with failing():
        given.each(kept, "snapshots int").collect()
