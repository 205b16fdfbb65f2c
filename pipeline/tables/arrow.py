"""Arrow schemas of declared tables, and tables from rows or columns, checked against their declaration.

`conform` checks a table from outside: every declared column exists and has its type, others are dropped, and a null in
a column without nulls is an error that names the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

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
        made[field.name] = given.cast(field.type) if arrow else pa.array(given, field.type)
    found = pa.table(made, schema=schema)
    return found if is_sorted else in_order(table, found)


def in_order(table: Table, found: Arrow) -> Arrow:
    """The rows sorted by the table's order; rows with equal keys keep their order."""
    if not table.order or found.num_rows < 2:
        return found
    return found.sort_by([(name, "ascending") for name in table.order])


def empty(table: Table) -> Arrow:
    return arrow_schema(table).empty_table()


def conform(table: Table, found: Arrow, where: str) -> Arrow:
    """`found` with the columns of `table`, in order and type. Raises BadInput naming a column that is missing, of
    another type, or null where it must not be."""
    schema = arrow_schema(table)
    missing = [name for name in schema.names if name not in found.schema.names]
    if missing:
        raise BadInput(f"{where}: no column {', '.join(missing)}; table {table.name} needs {', '.join(schema.names)}")
    found = found.select(schema.names)
    for field in schema:
        if not field.nullable and found.column(field.name).null_count:
            raise BadInput(
                f"{where}: column {field.name} is null in {counted(found.column(field.name).null_count, 'row')}"
            )
    if found.schema.equals(schema):
        return found
    try:
        return found.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise BadInput(f"{where}: the types differ from those of table {table.name}: {error}") from None
