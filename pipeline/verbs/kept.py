"""A place that keeps what is written to it, until it is told to write it: for verbs in a row, of which all count or
none, and for a dry run of them."""

from __future__ import annotations

import attrs

from pipeline.tables.arrow import Arrow, conform
from pipeline.tables.files import PART, Place
from pipeline.tables.schema import Table


@attrs.frozen
class Kept(Place):
    """Reads what was written here, else what is at its place."""

    _changes: dict[tuple[str, str], tuple[Table, Arrow | None]] = attrs.field(factory=dict, eq=False)

    def has(self, table: Table, part: str = PART) -> bool:
        change = self._changes.get((table.name, part))
        return super().has(table, part) if change is None else change[1] is not None

    def read(self, table: Table, part: str = PART) -> Arrow:
        change = self._changes.get((table.name, part))
        if change is None:
            return super().read(table, part)
        if change[1] is None:
            raise self.missing(table, part)
        return change[1]

    def write(self, table: Table, rows: Arrow, part: str = PART) -> None:
        self._change(table, part, conform(table, rows, table.name))

    def remove(self, table: Table, part: str = PART) -> None:
        self._change(table, part, None)

    def _change(self, table: Table, part: str, rows: Arrow | None) -> None:
        self._changes.pop((table.name, part), None)  # its turn is that of the last change
        self._changes[table.name, part] = (table, rows)

    def keep(self, place: Place) -> None:
        """Do at `place` what was done here, in the order of the last changes."""
        for (_, part), (table, rows) in self._changes.items():
            place.remove(table, part) if rows is None else place.write(table, rows, part)
