"""Tables declared as plain data, a name and columns, from which each engine makes its own schema.

A column is (name, type, nullable). Types: byte, int, long, double, boolean, string, timestamp, array<T>, map<K,V>: the
names of Spark's simple strings. Schemas are declared, never inferred: an empty file has columns too.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import attrs

Column: TypeAlias = tuple[str, str, bool]

_SIMPLE: Final = "byte|int|long|double|boolean|string|timestamp"
_TYPE: Final = re.compile(rf"(?:{_SIMPLE})|array<(?:{_SIMPLE})>|map<(?:{_SIMPLE}),(?:{_SIMPLE})>")


def _check_columns(_: object, __: object, columns: tuple[Column, ...]) -> None:
    for name, kind, nullable in columns:
        if _TYPE.fullmatch(kind) is None or type(nullable) is not bool:
            raise ValueError(f"column {name}: expected (name, type, nullable), got {(name, kind, nullable)!r}")
    if len({name for name, _, _ in columns}) != len(columns):
        raise ValueError(f"expected unique names of columns, got {[name for name, _, _ in columns]}")


@attrs.frozen
class Table:
    """A declared table. `order`: the columns by which rows are sorted in a file, which are its key if it has one."""

    name: str
    columns: tuple[Column, ...] = attrs.field(validator=_check_columns)
    order: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.columns)
