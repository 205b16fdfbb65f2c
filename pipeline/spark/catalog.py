"""Tables that Spark keeps, in a schema of a catalog or in Delta below a folder: one per name, with the columns
`cluster` and `snapshot` before its own, partitioned by those and, if it has one, by `plan`.

* Whole snapshots of a table, or whole plans of a snapshot, are replaced: in Parquet by overwriting or dropping
  partitions, in Delta and Iceberg by a condition in one commit. So repeating a write changes nothing.
* All tables of a schema have one format. An existing table is used as it is if its columns are those of `tables`; a
  table that is only read may have others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import attrs
from pyspark.sql import functions as f

from ..errors import BadInput, NotFound
from ..tables.declared import SNAPSHOT_TIME
from ..tables.files import EVERY, PART, escaped, stamped
from ..tables.keys import KEYS
from ..tables.listed import Listed
from ..tables.location import PARQUET, Location
from ..tables.schema import Table
from .failing import failing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Key = tuple[str, str, str]
"""Cluster, snapshot and part: all rows of a table that a verb wrote at once."""

_PLAN: Final = "plan"
_TYPES: Final[Mapping[str, str]] = {"byte": "tinyint", "long": "bigint"}
_WIDER: Final = {("tinyint", "int"), ("tinyint", "bigint"), ("int", "bigint")}  # Iceberg has no tinyint
_NOT_THERE: Final = {"TABLE_OR_VIEW_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "PATH_NOT_FOUND"}
_OVERWRITE: Final = "spark.sql.sources.partitionOverwriteMode"
_OVERWRITING: Final = threading.Lock()
_DROPPED_AT_ONCE: Final = 500


@attrs.frozen
class Catalog:
    """The tables of a location. Raises BadInput for what cannot be used, NotFound for what does not exist."""

    spark: SparkSession
    root: Location

    def check(self) -> None:
        """Raises NotFound if the schema does not exist."""
        if self.root.is_catalog:
            try:
                self.spark.sql(f"DESCRIBE NAMESPACE {_quoted(self.root.schema)}").collect()
            except Exception as error:
                raise NotFound(f"{self.root}: {_reason(error)}") from error

    def listed(self, *wanted: tuple[Table, str]) -> Listed:
        """The snapshots that have these tables and parts."""
        self.check()
        files = set[str]()
        for table, part in dict.fromkeys(wanted):
            folder = f"{table.name}/cluster={{}}/snapshot={{}}/{part}.parquet"
            files |= {folder.format(escaped(row[0]), escaped(row[1])) for row in self._distinct(table, part, *KEYS)}
        for cluster, snapshot, taken_at in self._distinct(SNAPSHOT_TIME, PART, *KEYS, "unix_micros(taken_at)"):
            part = stamped(datetime.fromtimestamp(taken_at / 1e6, UTC), snapshot)
            files.add(f"{SNAPSHOT_TIME.name}/cluster={escaped(cluster)}/{part}.parquet")
        return Listed(self.root.text, self.root.format, frozenset(files))

    def _distinct(self, table: Table, part: str, *columns: str) -> list[Any]:
        frame = self.read(table)
        if frame is None:
            return []
        frame = frame if part == PART else frame.where(f.col(_PLAN) == part)
        with failing():
            named = frame.where("cluster IS NOT NULL AND snapshot IS NOT NULL")
            found: list[Any] = named.selectExpr(*columns).distinct().collect()
        return found

    def read(self, table: Table) -> DataFrame | None:
        """The rows, with their keys as texts; None if there is no such table. Which types its other columns may have is
        decided where they are read."""
        frame = self._kept(table)
        if frame is None:
            return None
        # Spark takes a snapshot called 1 for a number, where it finds the keys in the names of folders.
        kinds = dict(frame.dtypes)
        texts = {key: frame[key].cast("string") for key in KEYS if kinds[key] != "string"}
        return frame.withColumns(texts) if texts else frame

    def _kept(self, table: Table) -> DataFrame | None:
        """The rows as the table has them; None if there is no such table."""
        name = self._name(table)
        try:
            frame = self.spark.table(name)
            columns = set(frame.columns)
            described = self.spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Provider'").collect()
        except Exception as error:
            if _condition(error) in _NOT_THERE:
                return None
            raise BadInput(f"{self.root}: table {table.name}: {_reason(error)}") from error
        kept_as = described[0]["data_type"].lower() if described else "unknown format"
        if kept_as != self.root.format:
            raise BadInput(f"{self.root}: table {table.name}: expected --format {self.root.format}, got {kept_as}")
        needed = {name for name, _, nullable in table.columns if not nullable} - table.defaults.keys()
        if missing := sorted({*KEYS, *needed} - columns):
            raise BadInput(f"{self.root}: table {table.name}: no column {', '.join(missing)}")
        return frame

    def ready(self, tables: Iterable[Table], made: Iterable[Table]) -> dict[str, tuple[str, ...]]:
        """The present columns of each of `tables` that can be written; those of `made` are created if missing. Creates
        none if a table cannot be written."""
        self.check()
        found = {}
        for table in tables:
            frame = self._kept(table)
            if frame is not None:
                self._check_types(table, dict(frame.dtypes))
            found[table.name] = () if frame is None else tuple(frame.columns)
        for table in made:
            if not found[table.name]:
                found[table.name] = self._make(table)
        return {name: columns for name, columns in found.items() if columns}

    def _check_types(self, table: Table, found: Mapping[str, str]) -> None:
        """Raises BadInput if not every row of the table can be written."""
        where = f"{self.root}: table {table.name}"
        if more := sorted(found.keys() - _columns(table).keys()):
            raise BadInput(f"{where} has unknown columns: {', '.join(more)}")
        for column, kind in _columns(table).items():
            got = found.get(column, "no such column")
            if got != kind and (kind, got) not in _WIDER:
                raise BadInput(f"{where}: column {column}: expected {kind}, got {got}")

    def _make(self, table: Table) -> tuple[str, ...]:
        name, columns = self._name(table), ", ".join(f"`{name}` {kind}" for name, kind in _columns(table).items())
        made = f"CREATE TABLE {name} ({columns}) USING {self.root.format} PARTITIONED BY ({', '.join(_keys(table))})"
        try:
            self.spark.sql(made).collect()
            return tuple(self.spark.table(name).columns)
        except Exception as error:
            raise BadInput(f"{self.root}: table {table.name} cannot be created: {_reason(error)}") from error

    def replace(self, table: Table, keys: Mapping[Key, bool], frame: DataFrame) -> None:
        """Under `keys` the table holds the rows of `frame`, and no others. `keys`: which of them have rows there."""
        name = self._name(table)
        with failing():
            if self.root.format != PARQUET:
                frame.writeTo(name).overwrite(f.expr(condition(table, keys)))
                return
            with self._partitions_alone() as option:
                insert = f"INSERT OVERWRITE TABLE {name} {option} SELECT * FROM {{frame}}"  # noqa: S608 - as below
                self.spark.sql(insert, frame=frame).collect()
        self.empty(table, [key for key, has_rows in keys.items() if not has_rows])

    def empty(self, table: Table, keys: Iterable[Key]) -> None:
        """Under `keys` the table holds no rows."""
        name, some = self._name(table), list(keys)
        with failing():
            if self.root.format != PARQUET and some:
                self.spark.sql(f"DELETE FROM {name} WHERE {condition(table, some)}").collect()  # noqa: S608 - checked names
            elif self.root.format == PARQUET:
                for start in range(0, len(some), _DROPPED_AT_ONCE):
                    dropped = ", ".join(_partition(table, key) for key in some[start : start + _DROPPED_AT_ONCE])
                    self.spark.sql(f"ALTER TABLE {name} DROP IF EXISTS {dropped}").collect()

    @contextmanager
    def _partitions_alone(self) -> Iterator[str]:
        """The option with which INSERT OVERWRITE replaces only those partitions that the new rows belong to. Spark 3.5
        has no such option, but a setting of the session, which applies to its other statements meanwhile."""
        if not self.spark.version.startswith("3."):
            yield "WITH ('partitionOverwriteMode' = 'dynamic')"
            return
        with _OVERWRITING:  # else another thread could set it back before the statement
            before = self.spark.conf.get(_OVERWRITE)
            self.spark.conf.set(_OVERWRITE, "dynamic")
            try:
                yield ""
            finally:
                self.spark.conf.set(_OVERWRITE, before or "static")

    def _name(self, table: Table) -> str:
        if self.root.is_catalog:
            return _quoted((*self.root.schema, table.name))
        folder = self.root.absolute().text.rstrip("/").replace("`", "``")
        return f"{self.root.format}.`{folder}/{table.name}`"


def condition(table: Table, keys: Iterable[Key]) -> str:
    """The rows under `keys`, as a condition in SQL."""
    groups = []
    for (snapshot, part), same in groupby(sorted((s, p, c) for c, s, p in keys), lambda key: key[:2]):
        clusters = ", ".join(_text(cluster) for _, _, cluster in same)
        plan = f" AND {_PLAN} = {_text(part)}" if _PLAN in table.names and part != EVERY else ""
        groups.append(f"(snapshot = {_text(snapshot)}{plan} AND cluster IN ({clusters}))")
    return " OR ".join(groups)


def _text(name: str) -> str:
    """A name as a literal of SQL."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _keys(table: Table) -> tuple[str, ...]:
    return (*KEYS, _PLAN) if _PLAN in table.names else KEYS


def _partition(table: Table, key: Key) -> str:
    values = zip(_keys(table), key, strict=False)  # a table without plans has no column for the part
    named = ", ".join(f"{name} = {_text(value)}" for name, value in values)
    return f"PARTITION ({named})"


def _columns(table: Table) -> dict[str, str]:
    """The types of the columns, in Spark's names."""
    return dict.fromkeys(KEYS, "string") | {name: _TYPES.get(kind, kind) for name, kind, _ in table.columns}


def _quoted(names: Iterable[str]) -> str:
    return ".".join(f"`{name}`" for name in names)


def _condition(error: Exception) -> str | None:
    """Spark's name of an error, if it has one."""
    named = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)  # PySpark 3.5
    return None if named is None else named()


def _reason(error: Exception) -> str:
    """The first sentence of Spark's message."""
    lines: Iterator[str] = (line for line in str(error).splitlines() if "Exception: " in line or line.startswith("["))
    said = next(lines, str(error)).rpartition("Exception: ")[2]
    return " ".join(said.split()).partition(". ")[0][:300]
