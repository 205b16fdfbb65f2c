"""Arrow schemas of declared tables, and tables from rows or columns, checked against their declaration.

`conform` checks a table from outside: every declared column exists and has its type, others are dropped, and a null in
a column without nulls is an error that names the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ...controller.model.plural import counted
from ..errors import BadInput
from .schema import Table

Arrow: TypeAlias = Any
"""A pyarrow.Table; pyarrow ships no type hints."""

_SIMPLE: Final = {
    "byte": pa.int8(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def arrow_type(kind: str) -> Any:
    """The Arrow type of a declared type."""
    if kind.startswith("array<"):
        return pa.list_(pa.field("element", _SIMPLE[kind[6:-1]]))
    if kind.startswith("map<"):
        key, _, value = kind[4:-1].partition(",")
        return pa.map_(_SIMPLE[key], _SIMPLE[value])
    return _SIMPLE[kind]


def arrow_schema(table: Table) -> Any:
    """A pyarrow.Schema with the columns of `table`, in order."""
    return pa.schema([pa.field(name, arrow_type(kind), nullable) for name, kind, nullable in table.columns])


def from_rows(table: Table, rows: Iterable[Sequence[object]]) -> Arrow:
    """An Arrow table of `rows`, each with the columns of `table` in order, sorted by its order."""
    columns: list[Sequence[object]] = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    return from_columns(table, dict(zip(table.names, columns, strict=True)), is_sorted=False)


def from_columns(table: Table, columns: Mapping[str, Any], *, is_sorted: bool = True) -> Arrow:
    """An Arrow table of columns by name (lists, numpy or Arrow arrays), sorted by the table's order."""
    schema = arrow_schema(table)
    made = {}
    for field in schema:
        given = columns[field.name]
        arrow = isinstance(given, pa.Array | pa.ChunkedArray)
        made[field.name] = given.cast(field.type) if arrow else array_of(given, field.type)
    found = pa.table(made, schema=schema)
    return found if is_sorted else in_order(table, found)


def array_of(values: Sequence[Any], kind: Any) -> Any:
    """An Arrow array. Half of a surrogate pair, which JSON may have and UTF-8 cannot, is written as its escape."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(map(_encodable, values), kind)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return type(value)(map(_encodable, value)) if isinstance(value, list | tuple) else value


def in_order(table: Table, found: Arrow) -> Arrow:
    """The rows sorted by the table's order; rows with equal keys keep their order."""
    if not table.order or found.num_rows < 2:
        return found
    return found.sort_by([(name, "ascending") for name in table.order])


def empty(table: Table) -> Arrow:
    return arrow_schema(table).empty_table()


def conform(table: Table, found: Arrow, where: str) -> Arrow:
    """`found` with the columns of `table`, in order and type. Raises BadInput naming a column that is missing, of
    another type, or null where it must not be.

    Tables of other programs need not have columns that may be null or have a default; other columns are dropped, and
    types are cast where every value fits (`bigint` for int, `timestamp` without a zone for UTC)."""
    schema = arrow_schema(table)
    if found.schema.equals(schema) and not any(_has_nulls(found, field) for field in schema):
        return found
    there = set(found.schema.names)
    missing = [f.name for f in schema if f.name not in there and not f.nullable and f.name not in table.defaults]
    if missing:
        needed = ", ".join(schema.names)
        raise BadInput(f"{where}: no column {', '.join(missing)}; table {table.name} has the columns {needed}")
    return pa.table([_column(table, field, found, where) for field in schema], schema=schema)


def _has_nulls(found: Arrow, field: Any) -> bool:
    return not field.nullable and found.column(field.name).null_count > 0


def _column(table: Table, field: Any, found: Arrow, where: str) -> Any:
    default = table.defaults.get(field.name)
    if field.name not in found.schema.names:
        return pa.repeat(pa.scalar(default, field.type), found.num_rows)
    column = found.column(field.name)
    try:
        column = column if column.type == field.type else pc.cast(column, field.type, safe=not _is_time(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        what = f"column {field.name} of table {table.name}"
        raise BadInput(f"{where}: {what}: expected {field.type}, got {column.type}: {error}") from None
    if column.null_count and not field.nullable:
        if default is None:
            raise BadInput(f"{where}: column {field.name} is null in {counted(column.null_count, 'row')}")
        column = pc.fill_null(column, pa.scalar(default, field.type))
    return column


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind))  # parts of a microsecond may be lost
