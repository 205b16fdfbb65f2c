"""Tables of clusters as few large rows: a stage of the local engine runs once per cluster of a fleet, in one job.

* A row is (cluster, snapshot, source, first, rows): up to `ROWS_MAX` rows of the table `source` as an Arrow stream, the
  first of which is row `first` of it. A million partitions are some twenty such rows: what is shuffled, sorted and
  grouped is those, and a hundred clusters are spread over the cores by one `groupBy(cluster).applyInArrow`.
* Tables that stand in files need no packing: such a row may as well hold the bytes of a Parquet file (`FILES`). No row
  of them is then looked at before the worker that works on its cluster; at a million rows that is most of the time.
* What a stage gives is rows of that kind again; `unpacked` makes a DataFrame of a table's columns of them.
* A cluster that a stage cannot work on (BadInput) is a row with `source` ERROR, and harms no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

from pipeline.errors import BadInput, EngineFailed, NotFound, NothingAsked, PipelineError
from pipeline.stages.arrays import keys_of, numbers, sorted_topics, topic_codes
from pipeline.tables.arrow import Arrow, arrow_schema, empty, in_order
from pipeline.tables.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY: Final = ("cluster", "snapshot")
LINE: Final = "_line"  # where a row stands in its file, from 0; a column beside those of the table
CLUSTERS: Final = "clusters"  # a frame of (cluster, snapshot, there): which tables there are, be they empty
FILES: Final = "files"  # a frame of packed rows: tables as they stand in their files
ERROR: Final = "!"
ROWS_MAX: Final = 50_000
PACKED: Final = "cluster string, snapshot string, source string, first long, rows binary"
Frames: TypeAlias = Mapping[str, "DataFrame"]
"""DataFrames by the names of tables: `cluster`, `snapshot`, the columns of the table, and `LINE` where it is known."""
Key: TypeAlias = tuple[str, str]
Work: TypeAlias = Callable[[Key, dict[str, Arrow]], Mapping[str, Arrow]]

_SCHEMA: Final = pa.schema(
    [(name, pa.string()) for name in (*KEY, "source")] + [("first", pa.int64()), ("rows", pa.binary())]
)
_HEADER: Final = ""
_PARQUET: Final = b"PAR1"
_ALL: Final[Mapping[str, Sequence[str]]] = {}
_ERRORS: Final = {kind.__name__: kind for kind in (BadInput, NotFound, NothingAsked)}


def by_cluster(
    frames: Frames, tables: Iterable[Table], work: Work, columns: Mapping[str, Sequence[str]] = {}
) -> DataFrame:
    """What `work` makes of the tables of each cluster, packed; `columns`: those of a table that it needs, not all.

    `work` gets the rows in the order of their lines, or by the table's key where no lines are known.
    """
    given = [table for table in tables if table.name in frames or FILES in frames]
    needed = {table.name: (columns or {}).get(table.name, table.names) for table in given}
    packs = [_packed(frames[table.name], table, needed[table.name]) for table in given if table.name in frames]
    packs += [frames[FILES]] if FILES in frames else []
    if CLUSTERS in frames:
        first, there = f.lit(0).cast("long").alias("first"), f.to_json("there").cast("binary").alias("rows")
        packs.append(frames[CLUSTERS].select(*KEY, f.lit(_HEADER).alias("source"), first, there))
    whole = reduce(lambda one, other: one.union(other), packs)
    return whole.groupBy(*KEY).applyInArrow(_group(work, given, needed), PACKED)


def unpacked(packs: DataFrame, table: Table, *, numbered: bool = False) -> DataFrame:
    """The rows of `table` among packed ones; with `LINE` where they are to be numbered. A cluster that could not be
    worked on is an error of the job: `results` tells them apart."""
    columns = f"cluster string, snapshot string, {spark_columns(table)}" + (f", {LINE} long" if numbered else "")
    chosen = packs.where(f.col("source").isin(table.name, ERROR))
    return chosen.mapInArrow(_unpacking(table, numbered=numbered), columns)


def results(packs: DataFrame) -> dict[Key, dict[str, Arrow] | PipelineError]:
    """The edge: packed tables in this process, by cluster and snapshot, or why there are none."""
    found: dict[Key, list[dict[str, Any]]] = {}
    for row in at_the_edge(packs).to_pylist():
        found.setdefault((row["cluster"], row["snapshot"]), []).append(row)
    return {key: _result(rows) for key, rows in sorted(found.items())}


def at_the_edge(frame: DataFrame) -> Arrow:
    """The rows in this process. EngineFailed where the job was not done."""
    try:
        return frame.toArrow()
    except Exception as error:  # of Spark, or of the JVM as it comes through py4j
        lines = [line.strip() for line in str(error).splitlines() if "Error: " in line or "Exception: " in line]
        raise EngineFailed(f"Spark: {' '.join((lines or [str(error)])[-1].split())[:500]}") from error


def spark_columns(table: Table) -> str:
    """The columns of a table, as Spark spells them; whatever a file holds may be null before it is looked at."""
    return ", ".join(f"`{name}` {kind}" for name, kind, _ in table.columns)


def failure(error: PipelineError) -> dict[str, Arrow]:
    return {ERROR: pa.table({"error": [str(error)], "kind": [type(error).__name__]})}


def _result(rows: list[dict[str, Any]]) -> dict[str, Arrow] | PipelineError:
    tables = {source: pa.concat_tables(parts) for source, parts in _by_source(rows).items()}
    if ERROR not in tables:
        return tables
    (said,) = tables[ERROR].to_pylist()
    return _ERRORS.get(said["kind"], BadInput)(said["error"])


def _by_source(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Sequence[str]] = _ALL
) -> dict[str, list[Arrow]]:
    found: dict[str, list[tuple[int, Arrow]]] = {}
    for row in rows:
        read = _read(row["rows"], row["source"], columns.get(row["source"]))
        found.setdefault(row["source"], []).append((row["first"], read))
    return {source: [rows for _, rows in sorted(parts, key=lambda part: part[0])] for source, parts in found.items()}


def _read(data: bytes, source: str, columns: Sequence[str] | None = None) -> Arrow:
    if data[:4] != _PARQUET:
        return pa.ipc.open_stream(data).read_all()
    try:
        return pq.read_table(pa.BufferReader(data), columns=None if columns is None else list(columns))
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"table {source}: cannot be read as Parquet: {' '.join(str(error).split())[:300]}") from None


def _written(rows: Arrow) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(rows.combine_chunks())
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _rows_of(key: Key, source: str, rows: Arrow, first: int = 0) -> Iterator[tuple[Any, ...]]:
    for start in range(0, max(rows.num_rows, 1), ROWS_MAX):
        yield (*key, source, first + start, _written(rows.slice(start, ROWS_MAX)))


def _batch(rows: Iterable[tuple[Any, ...]]) -> Any:
    listed = list(rows)
    columns = [pa.array([row[i] for row in listed], field.type) for i, field in enumerate(_SCHEMA)]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _packed(frame: DataFrame, table: Table, columns: Sequence[str]) -> DataFrame:
    line = [LINE] if LINE in frame.columns else []
    return frame.select(*KEY, *line, *columns).mapInArrow(_packing(table.name), PACKED)


def _packing(source: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        at, count = 0, 0
        waiting: list[Arrow] = []  # rows of one cluster, which go out together
        of: Key | None = None
        for batch in batches:
            for key, part in _runs(pa.Table.from_batches([batch])):
                if of is not None and (key != of or count >= ROWS_MAX):
                    yield _out(of, source, waiting, at)
                    at, waiting, count = at + count, [], 0
                of, count = key, count + part.num_rows
                waiting.append(part)
        if of is not None:
            yield _out(of, source, waiting, at)

    return pack


def _out(key: Key, source: str, waiting: list[Arrow], at: int) -> Any:
    rows = pa.concat_tables(waiting)
    if LINE in rows.schema.names:
        at = rows.column(LINE)[0].as_py()
        rows = rows.drop_columns([LINE])
    return _batch([(*key, source, at, _written(rows))])


def _runs(rows: Arrow) -> Iterator[tuple[Key, Arrow]]:
    """The rows of each cluster that stand together, without the columns that say which."""
    if not rows.num_rows:
        return
    codes = [rows.column(name).combine_chunks().dictionary_encode() for name in KEY]
    codes = [code.chunk(0) if isinstance(code, pa.ChunkedArray) else code for code in codes]
    changes = np.zeros(rows.num_rows - 1, np.bool_)
    for code in codes:
        places = code.indices.to_numpy()
        changes |= places[1:] != places[:-1]
    starts = [0, *(np.nonzero(changes)[0] + 1).tolist(), rows.num_rows]
    rest = rows.drop_columns(list(KEY))
    for start, end in pairwise(starts):
        cluster, snapshot = (code[start].as_py() for code in codes)
        yield (cluster, snapshot), rest.slice(start, end - start)


def _unpacking(table: Table, *, numbered: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def unpack(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                rows = _read(row["rows"], row["source"])
                if row["source"] == ERROR:
                    raise BadInput(f"cluster {row['cluster']}: {rows.column('error')[0].as_py()}")
                named = {name: pa.repeat(pa.scalar(row[name]), rows.num_rows) for name in KEY}
                lines = {LINE: pa.array(range(row["first"], row["first"] + rows.num_rows), pa.int64())}
                columns = {name: rows.column(name) for name in table.names}
                yield from pa.table({**named, **columns, **(lines if numbered else {})}).combine_chunks().to_batches()

    return unpack


def _group(work: Work, tables: Sequence[Table], columns: Mapping[str, Sequence[str]]) -> Callable[[Any, Any], Any]:
    def one(key: tuple[Any, ...], packs: Arrow) -> Arrow:
        named = (key[0].as_py(), key[1].as_py())
        try:
            done = work(named, _tables(packs.to_pylist(), tables, columns))
        except PipelineError as error:
            done = failure(error)
        return pa.Table.from_batches(
            [_batch(row for name, rows in done.items() for row in _rows_of(named, name, rows))]
        )

    return one


def _tables(
    packs: list[dict[str, Any]], tables: Sequence[Table], columns: Mapping[str, Sequence[str]]
) -> dict[str, Arrow]:
    headers = [json.loads(row["rows"]) for row in packs if row["source"] == _HEADER]
    parts = _by_source((row for row in packs if row["source"] in columns), columns)
    there = set(headers[0]) if headers else {table.name for table in tables}
    found = {}
    for table in tables:
        rows = pa.concat_tables(parts[table.name]) if table.name in parts else None
        if rows is not None:
            found[table.name] = _sound(table, rows)
        elif table.name in there:
            found[table.name] = empty(table).select(list(columns[table.name]))
    return found


def _sound(table: Table, rows: Arrow) -> Arrow:
    """The rows, of the declared types. BadInput for a null where none may be: files are not looked at before."""
    schema = arrow_schema(table)
    for name in rows.schema.names:
        if not schema.field(name).nullable and rows.column(name).null_count:
            raise BadInput(f"table {table.name}: column {name} is null in {rows.column(name).null_count} rows")
    try:
        return rows.cast(pa.schema([schema.field(name) for name in rows.schema.names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise BadInput(f"not of the types of table {table.name}: {error}") from None


def keyed(table: Table, rows: Arrow) -> Arrow:
    """The rows by the key of the table. For partitions by numbers: sorting a million names takes a second."""
    if table.order[:2] != ("topic", "partition") or len(table.order) > 2:
        return in_order(table, rows)
    keys = keys_of(topic_codes(rows.column("topic"), sorted_topics(rows)), numbers(rows.column("partition")))
    if len(keys) < 2 or (keys[1:] > keys[:-1]).all():
        return rows
    return rows.take(np.argsort(keys, kind="stable"))
