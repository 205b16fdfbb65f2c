"""Tables declared as plain text, from which each engine makes its own schema.

Types: byte, int, long, double, boolean, string, timestamp, array<T>, map<K,V>: the names of Spark's simple strings.
Schemas are declared, never inferred: an empty file has columns too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import attrs

Column: TypeAlias = tuple[str, str, bool]
"""Name, type, and whether it may be null."""

_VALID: Final = "_valid"
_SIMPLE: Final = "byte|int|long|double|boolean|string|timestamp"
_TYPE: Final = re.compile(rf"(?:{_SIMPLE})|array<(?:{_SIMPLE})>|map<(?:{_SIMPLE}),(?:{_SIMPLE})>")


def _columns(text: str | tuple[Column, ...]) -> tuple[Column, ...]:
    if not isinstance(text, str):
        return text
    columns = []
    for column in re.split(r", *(?![^<]*>)", text):
        name, _, kind = column.partition(" ")
        if _TYPE.fullmatch(kind.removesuffix("?")) is None:
            raise ValueError(f"expected `name type` or `name type?`, got {column!r}")
        columns.append((name, kind.removesuffix("?"), kind.endswith("?")))
    if len({name for name, _, _ in columns}) != len(columns):
        raise ValueError(f"expected unique names of columns, got {text!r}")
    return tuple(columns)


def _names(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (tuple(text.split(", ")) if text else ()) if isinstance(text, str) else text


@attrs.frozen
class Table:
    """A declared table. `columns` is given as text: `name type` of each, with `?` after the type if a value may be
    null. `order`: the columns by which rows are sorted in a file, which are its key if it has one. `defaults`: the
    values of columns that are absent or null in a table from outside, although they are not null here. `about`: what a
    row is, and what its columns mean where their names do not say it, for docs/tables.md."""

    name: str
    columns: tuple[Column, ...] = attrs.field(converter=_columns)
    order: tuple[str, ...] = attrs.field(default="", converter=_names)
    defaults: Mapping[str, object] = attrs.field(factory=dict, eq=False)
    about: str = attrs.field(default="", eq=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.columns)

    @property
    def key(self) -> str:
        """Its name among the tables of a stage, which is the same before and after validation."""
        return self.name.removesuffix(_VALID)

    def valid(self) -> Table:
        """The table of its validated rows."""
        return attrs.evolve(self, name=self.name + _VALID)
