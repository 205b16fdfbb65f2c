"""Tables of many snapshots as DataFrames, and functions of the local engine on them.

* A table has the columns that are declared for it, and `cluster` and `snapshot` before them, or neither if there is one
  snapshot only. All rows of a snapshot go to one worker, which calls the same functions as the local engine.
* Nothing is computed before the user's own action. Several steps are one pass over the rows, but each table that is
  read is a pass of its own: `persist` keeps the result for several.
* Samples of replicas, which may be more than fit into a worker, are rows that no worker gets: column functions reduce
  them to a row per replica first (`samples`).
* Tables below a location are read by the workers, so that their rows do not pass through the JVM, which would cost ten
  times as much as a plan (docs/decisions/0092). The worker reduces samples in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from ..arguments import check_frames
from ..errors import BadInput, PipelineError
from ..functions import collecting
from ..functions.steps import Step, Tables
from ..stages.usable import RATES, LoadSettings
from ..tables.arrow import conform, empty
from ..tables.declared import BROKER, OF_PLAN, PARTITION, REPLICA_LOAD, REPLICA_SAMPLE, SNAPSHOT_TIME, TABLES
from ..tables.files import Place, find_places
from ..tables.keys import KEYS, Batches, Key, keys_in
from ..tables.location import location
from ..tables.whole import COLLECTED, found_by, names_for, read_tables, tables_of, write_tables
from .failing import failing
from .packed import columns, frame_of, gathered, grouped, pack, packed, rows_of, schema, spread, tasks_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reads: TypeAlias = Callable[[Key, Batches], Tables]

_NEEDED: Final = (BROKER, PARTITION, REPLICA_LOAD, *OF_PLAN)
"""Tables that exist where they have no rows."""
_SAMPLES: Final = REPLICA_SAMPLE.name


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
        self._computed = frame

    @classmethod
    def of(cls, tables: Mapping[str, DataFrame]) -> Snapshots:
        """The given tables. Keys may be of any type that Spark finds in the names of folders. Raises BadInput if some
        have keys and others do not, or a table is none of the pipeline's."""
        if isinstance(tables, cls):
            return tables
        tables_of(tables)
        check_frames(tables)
        keys = keys_in({name: frame.columns for name, frame in tables.items()})
        rows = [
            pack(TABLES[name], frame.withColumns({key: frame[key].cast("string") for key in keys}), keys)
            for name, frame in tables.items()
        ]
        return cls(packed(rows), keys, tuple(tables))

    def then(self, step: Step) -> Snapshots:
        """The tables after one more step."""
        frame, is_spread = self._frame, self._is_spread
        if step.reduces is not None and _SAMPLES in frame.columns:
            if RATES.name in frame.columns:  # for other settings, which an earlier step needs
                return self._after(self._rows()).then(step)
            frame, is_spread = packed([frame, self._rates(step.reduces)]), False
        names = dict.fromkeys((*self._names, *(table.key for table in step.makes)))
        found = Snapshots(frame, self._keys, tuple(names), self._reads or _gathers(self._names), is_spread=is_spread)
        found._steps = (*self._steps, step)
        return found

    def _rates(self, settings: LoadSettings) -> DataFrame:
        """The reduced samples, as rows of a frame with a column per table."""
        from .samples import reduced  # noqa: PLC0415 - this module can be imported without PySpark

        times = _table(self._frame, SNAPSHOT_TIME.name, self._keys) if SNAPSHOT_TIME.name in self._names else None
        return pack(RATES, reduced(self[_SAMPLES], times, settings, self._keys), self._keys)

    def _after(self, rows: DataFrame) -> Snapshots:
        """The tables as rows that were computed, and the samples."""
        has_samples = _SAMPLES in self._names
        samples = [pack(REPLICA_SAMPLE, self[_SAMPLES], self._keys)] if has_samples else []
        is_spread = self._reads is not None and not has_samples
        found = Snapshots(packed([rows, *samples]), self._keys, self._names, is_spread=is_spread)
        found._computed = rows
        return found

    def persist(self) -> Snapshots:
        """As the function."""
        return self._after(self._rows().persist())

    def unpersist(self) -> None:
        """Forget what `persist` has kept."""
        self._computed.unpersist()

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._names:
            raise KeyError(name)
        if name != _SAMPLES:
            return _table(self._rows(), name, self._keys)
        rows = self._frame  # no step changes them
        if name not in rows.columns:
            rows = Snapshots(rows, self._keys, (name,), self._reads, is_spread=self._is_spread)._rows()  # noqa: SLF001 - of this class
        return _table(rows, name, self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def keys_of_rows(self) -> tuple[str, ...]:
        """The columns before those of each table."""
        return self._keys

    def each(self, result: Callable[[Key, Tables], Batches], columns: str, *, with_samples: bool = False) -> DataFrame:
        """What a worker makes of the tables of each snapshot, by its key. `columns`: of the batches."""
        reads, steps = self._reads or _gathers(self._names), self._steps

        def work(key: Key, batches: Batches) -> Batches:
            try:
                found = reads(key, batches)
                for step in steps:
                    found = {**found, **step(found)}
            except PipelineError as error:
                raise type(error)(f"snapshot {'/'.join(map(str, key))}: {error}" if key else str(error)) from error
            return result(key, {name: table for name, table in found.items() if name in TABLES})

        frame = self._frame if with_samples else _without_samples(self._frame)
        return grouped(frame if self._is_spread else spread(frame, self._keys), self._keys, work, columns)

    def _rows(self) -> DataFrame:
        """A frame with a column per table, which may be without the samples."""
        if self._reads is None:
            return _without_samples(self._frame)
        keys, is_alone = self._keys, self._names == (_SAMPLES,)
        tables = [TABLES[name] for name in self._names if name != _SAMPLES or is_alone]

        def rows(key: Key, found: Tables) -> Batches:
            same, of = dict(zip(keys, key, strict=True)), schema(keys, tables)
            for table in (table for table in tables if table.name in found):
                given = found[table.name]
                for some in given(table) if callable(given) else (conform(table, given, table.name),):
                    yield from rows_of(of, same, table, some)

        return self.each(rows, columns(keys, tables))


def _gathers(names: Sequence[str]) -> Reads:
    """The tables of a snapshot from its rows."""
    tables = [*(TABLES[name] for name in names), RATES]
    none = {table.name: empty(table) for table in tables if table in _NEEDED}
    return lambda _, batches: none | gathered(tables, batches)


def _without_samples(frame: DataFrame) -> DataFrame:
    return frame.where(f"`{_SAMPLES}` IS NULL").drop(_SAMPLES) if _SAMPLES in frame.columns else frame


def _table(rows: DataFrame, name: str, keys: Sequence[str]) -> DataFrame:
    return rows.where(f"`{name}` IS NOT NULL").select(*keys, f"`{name}`.*")


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
    wanted = [table.name for table in there if table is not REPLICA_SAMPLE]
    sampled = {_SAMPLES} & {table.name for table in there}

    def reads(key: Key, _: Batches) -> Tables:
        place = Place(at, *map(str, key))
        return {**read_tables(place, wanted, plan), **dict.fromkeys(sampled, place.batches)}

    return Snapshots(frame, KEYS, [table.key for table in there], reads, is_spread=True)


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

    is_raw = "replica_load" not in given  # otherwise the samples stay where they are
    gone = {name: empty(TABLES[name]) for name in given if TABLES[name] not in (*COLLECTED, SNAPSHOT_TIME)}

    def kept(key: Key, found: Tables) -> Batches:
        if is_raw and callable(samples := found.get(_SAMPLES)):
            rows = [*samples(REPLICA_SAMPLE)]
            found = {name: table for name, table in found.items() if name != _SAMPLES}
            found |= {_SAMPLES: pa.concat_tables(rows)} if rows else {}
        write_tables(Place(at, *map(str, key)), {**gone, **found})
        yield pa.RecordBatch.from_pylist([{"snapshots": 1}], schema=pa.schema([("snapshots", pa.int32())]))

    with failing():
        given.each(kept, "snapshots int", with_samples=is_raw).collect()
