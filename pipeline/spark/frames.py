"""Tables on disk as DataFrames of Spark, of one snapshot of each cluster, and back.

* Files are named one by one: a plan's tables have many parts, and a listing of a fleet's folder would read them all.
* Schemas are declared. That the columns of a file are those of its table is seen here, from its footer, as the local
  engine sees it; so with a cluster of Spark, or Spark Connect, the folder must be the same on both sides.
* Writing is done by the workers, file by file, with the bytes that the local engine writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

from pipeline.errors import BadInput, NotFound, PipelineError
from pipeline.spark.packed import CLUSTERS, FILES, LINE, Frames, by_cluster, keyed, results, spark_columns
from pipeline.tables.arrow import Arrow, arrow_schema, conform
from pipeline.tables.declared import TABLES
from pipeline.tables.files import Place, Wanted
from pipeline.tables.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_THERE: Final = "array<struct<cluster:string,snapshot:string,there:array<string>>>"
_PATH: Final = r"([^/]+)/cluster=([^/]+)/snapshot=([^/]+)/[^/]+$"
_WRITTEN: Final = pa.schema([("table", pa.string()), ("rows", pa.int64())])


def read(
    spark: SparkSession,
    places: Sequence[Place],
    wanted: Sequence[Wanted],
    *,
    numbered: bool = False,
    refused: dict[Place, PipelineError] | None = None,
) -> Frames:
    """The tables of `places`, each of another cluster, below one root. `numbered`: with the line of each row. NotFound
    and BadInput as `Place.read` has them, but for what only the rows show; with `refused` they are put there, and the
    others are read."""
    there = _there(places, wanted, refused, native=True)
    frames = {CLUSTERS: _clusters(spark, there)}
    for one in wanted:
        holding = [place for place, names in there.items() if one.table.name in names]
        if holding:
            frames[one.table.name] = _read(spark, holding, one, numbered=numbered)
    return frames


def read_files(
    spark: SparkSession,
    places: Sequence[Place],
    wanted: Sequence[Wanted],
    *,
    refused: dict[Place, PipelineError] | None = None,
) -> Frames:
    """The same for stages that work on whole clusters (validating, plans, waves, exports): the files as they are, each
    to be read by the worker that works on its cluster."""
    there = _there(places, wanted, refused, native=False)
    parts = {one.table.name: one for one in wanted}
    held = [(place, parts[name]) for place, names in there.items() for name in names]
    paths = [str(place.path(one.table, one.part).absolute()) for place, one in held]
    # Looked for in folders of columns, a cluster 007 would become the number 7.
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(paths)
    where = [
        f.regexp_extract("path", _PATH, group).alias(name)
        for group, name in ((2, "cluster"), (3, "snapshot"), (1, "source"))
    ]
    packs = files.select(*where, f.lit(0).cast("long").alias("first"), f.col("content").alias("rows"))
    return {CLUSTERS: _clusters(spark, there), **({FILES: packs} if paths else {})}


def _there(
    places: Sequence[Place], wanted: Sequence[Wanted], refused: dict[Place, PipelineError] | None, *, native: bool
) -> dict[Place, list[str]]:
    there: dict[Place, list[str]] = {}
    for place in places:
        try:
            there[place] = [one.table.name for one in wanted if _is_there(place, one, native=native)]
        except PipelineError as error:
            if refused is None:
                raise
            refused[place] = error
    return there


def _is_there(place: Place, one: Wanted, *, native: bool) -> bool:
    if one.optional and not place.has(one.table, one.part):
        return False
    if not place.has(one.table, one.part):
        raise place.missing(one.table, one.part)
    check_columns(one.table, place.path(one.table, one.part), native=native)
    return True


def write(frames: Frames, root: Path) -> dict[tuple[str, str], dict[str, int]]:
    """The tables of every cluster below `root` hold the rows of `frames`, by their keys or else by their lines, and
    nothing else. How many rows each table has. BadInput of the first cluster whose rows are not of their table."""

    def work(key: tuple[str, str], tables: Mapping[str, Arrow]) -> dict[str, Arrow]:
        place = Place(root, *key)
        for name, rows in tables.items():
            place.write(TABLES[name], keyed(TABLES[name], rows))
        counts = {"table": list(tables), "rows": [rows.num_rows for rows in tables.values()]}
        return {"written": pa.table(counts, schema=_WRITTEN)}

    done = by_cluster(frames, [TABLES[name] for name in frames if name != CLUSTERS], work)
    counts = {}
    for key, found in results(done).items():
        if isinstance(found, Exception):
            raise found
        counts[key] = {row["table"]: row["rows"] for row in found["written"].to_pylist()}
    return counts


def check_columns(table: Table, path: Path, *, native: bool = True) -> None:
    """NotFound where there is no such file; BadInput where its columns are not those of the table. `native`:
    where Spark is to read them, which makes no type of another."""
    try:
        schema = pq.read_schema(path)
    except FileNotFoundError:
        raise NotFound(f"{path}: no table {table.name} of this snapshot") from None
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())[:300]}") from None
    conform(table, schema.empty_table(), str(path))
    wanted = arrow_schema(table)
    for name in table.names:
        if native and not _alike(schema.field(name).type, wanted.field(name).type):
            raise BadInput(
                f"{path}: column {name} is {schema.field(name).type}, {wanted.field(name).type} in table {table.name}"
            )


def _alike(got: Any, wanted: Any) -> bool:
    """Whether Spark reads the one as the other: names within lists, and the zone of a time, are of no matter."""
    if pa.types.is_timestamp(got) and pa.types.is_timestamp(wanted):
        return True
    if pa.types.is_list(got) and pa.types.is_list(wanted):
        return bool(got.value_type == wanted.value_type)
    return bool(got == wanted) or str(got).removeprefix("large_") == str(wanted)


def _read(spark: SparkSession, places: Sequence[Place], one: Wanted, *, numbered: bool) -> DataFrame:
    paths = [str(place.path(one.table, one.part).absolute()) for place in places]
    base = str((places[0].root / one.table.name).absolute())
    columns = f"{spark_columns(one.table)}, cluster string, snapshot string"
    found = spark.read.schema(columns).option("basePath", base).parquet(*paths)
    return found.withColumn(LINE, f.col("_metadata.row_index")) if numbered else found


def _clusters(spark: SparkSession, there: Mapping[Place, Sequence[str]]) -> DataFrame:
    rows = [{"cluster": p.cluster, "snapshot": p.snapshot, "there": list(names)} for p, names in there.items()]
    parsed = f.from_json(f.lit(json.dumps(rows)), _THERE)
    return spark.range(1).select(f.inline(parsed))
