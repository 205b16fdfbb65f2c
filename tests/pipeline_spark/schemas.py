"""Fleets in tables of Spark for tests, written as a data engineer would, and what is in such tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kedge.pipeline.tables.arrow import Arrow, conform
from kedge.pipeline.tables.declared import SNAPSHOT_TIME, TABLES
from kedge.pipeline.tables.files import Place
from tests.pipeline_spark.fleets import SNAPSHOT, Fleet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = dict[tuple[str, str, str], list[dict[str, Any]]]


def fill(spark: SparkSession, schema: str, fleet: Fleet, format_: str = "parquet") -> None:
    """The fleet's tables in `schema`, which is made."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {schema}")
    for name in sorted({name for tables in fleet.values() for name in tables}):
        given = [_keyed(tables[name], cluster) for cluster, tables in fleet.items() if name in tables]
        # In one piece: PySpark loses what comes after an empty one.
        frame = spark.createDataFrame(pa.concat_tables(given).combine_chunks())
        frame.write.format(format_).partitionBy("cluster", "snapshot").saveAsTable(f"{schema}.`{name}`")


def append(spark: SparkSession, schema: str, fleet: Fleet) -> None:
    """More rows in tables that are there."""
    for cluster, tables in fleet.items():
        for name, table in tables.items():
            there = f"{schema}.`{name}`"
            frame = spark.createDataFrame(_keyed(table, cluster).combine_chunks())
            frame.select(*spark.table(there).columns).write.insertInto(there)


def _keyed(table: Arrow, cluster: str) -> Arrow:
    for name, value in (("cluster", cluster), ("snapshot", SNAPSHOT)):
        table = table.append_column(name, pa.repeat(value, table.num_rows))
    return table


def in_schema(spark: SparkSession, schema: str) -> dict[str, Rows]:
    """By table the rows of each snapshot, and plan, that has some, sorted."""
    names = [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}").collect()]
    return {name: found for name in names if (found := rows_of(spark, f"{schema}.`{name}`", name))}


def rows_of(spark: SparkSession, name: str, table: str) -> Rows:
    """Those of a table that is there."""
    found: Rows = {}
    read = spark.table(name).toArrow()
    places = zip(read.column("cluster").to_pylist(), read.column("snapshot").to_pylist(), strict=True)
    for place, row in zip(places, conform(TABLES[table], read, name).to_pylist(), strict=True):
        found.setdefault((*place, row.get("plan", "part")), []).append(row)
    return {key: _sorted(rows) for key, rows in found.items()}


def in_folder(places: list[Place]) -> dict[str, Rows]:
    """The same of tables in files."""
    found: dict[str, Rows] = {}
    for place in places:
        for table in TABLES.values():
            for part in place.parts(table):
                if rows := place.read(table, part).to_pylist():
                    key = (place.cluster, place.snapshot, "part" if table is SNAPSHOT_TIME else part)
                    found.setdefault(table.name, {})[key] = _sorted(rows)
    return found


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the numbers of rejected rows: among rows of one key a catalog has no order."""
    return sorted(({name: value for name, value in row.items() if name != "line"} for row in rows), key=repr)
