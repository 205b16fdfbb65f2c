"""Places that are no folders: one that keeps what is written to it, for a sequence of verbs that succeeds or fails as a
whole, for a dry run, and for Spark's writes; and one over tables that were read beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import pyarrow.compute as pc

from ..errors import NotFound
from ..tables.arrow import Arrow, conform, empty
from ..tables.declared import OF_WAVES, PLAN, WAVE, WAVE_REASON
from ..tables.files import PART, Place
from ..tables.schema import Table

_CUT: Final = (WAVE, WAVE_REASON)


@attrs.frozen
class Kept(Place):
    """Reads what was written here, else what is at `base`."""

    base: Place
    _changes: dict[tuple[str, str], tuple[Table, Arrow | None]] = attrs.field(factory=dict, eq=False)

    @classmethod
    def over(cls, base: Place) -> Kept:
        return cls(base.root, base.cluster, base.snapshot, base)

    def has(self, table: Table, part: str = PART) -> bool:
        change = self._changes.get((table.name, part))
        return self.base.has(table, part) if change is None else change[1] is not None

    def read(self, table: Table, part: str = PART) -> Arrow:
        change = self._changes.get((table.name, part))
        if change is None:
            return self.base.read(table, part)
        if change[1] is None:
            raise self.base.missing(table, part)
        return change[1]

    def last_with(self, table: Table) -> Place | None:
        return self.base.last_with(table)

    def parts(self, table: Table) -> list[str]:
        return self.base.parts(table)

    def check_replaceable(self, table: Table, part: str = PART) -> None:
        """Nothing is replaced before `keep`."""

    def write(self, table: Table, rows: Arrow, part: str = PART) -> None:
        self._change(table, part, conform(table, rows, table.name))

    def remove(self, table: Table, part: str = PART) -> None:
        self._change(table, part, None)

    def _change(self, table: Table, part: str, rows: Arrow | None) -> None:
        self._changes.pop((table.name, part), None)  # it moves to the end of the order
        self._changes[table.name, part] = (table, rows)

    def changes(self) -> Iterator[tuple[Table, str, Arrow | None]]:
        """Table, part and rows (None: removed) of each change, in the order of the last changes."""
        for (_, part), (table, rows) in self._changes.items():
            yield table, part, rows

    def keep(self, place: Place) -> None:
        """Make the same changes at `place`. Raises as `Place.write`, and before the first change where another program
        wrote one of the tables."""
        for table, part, rows in self.changes():
            if rows is not None:
                place.check_replaceable(table, part)
        for table, part, rows in self.changes():
            place.remove(table, part) if rows is None else place.write(table, rows, part)


@attrs.frozen
class Given(Place):
    """Reads `tables` by name, those that have rows, of the requested parts; it cannot be written.

    A table without rows does not exist here. Exceptions are the tables of an existing plan, and those of its waves if
    it moves nothing, or a reason says that moves are in no wave: otherwise a plan without waves could not be
    recognised.
    """

    tables: Mapping[str, Arrow] = attrs.field(factory=dict, eq=False)

    def has(self, table: Table, part: str = PART) -> bool:
        plan = self._of(PLAN, part)
        if self._of(table, part) is not None or table not in OF_WAVES or plan is None:
            return self._of(table, part) is not None
        is_cut = any(self._of(cut, part) is not None for cut in _CUT)
        return is_cut or not pc.sum(plan["partitions_changed"]).as_py()

    def read(self, table: Table, part: str = PART) -> Arrow:
        found = self._of(table, part)
        if found is None:
            if "plan" not in table.names or self._of(PLAN, part) is None:
                raise self.missing(table, part)
            found = empty(table)
        return _sorted(table, conform(table, found, f"{self.root}: table {table.name}"))

    def _of(self, table: Table, part: str) -> Arrow | None:
        """The rows of that part; None if there are none."""
        found = self.tables.get(table.name)
        if found is None or "plan" not in table.names:
            return found
        rows = found.filter(pc.equal(found["plan"], part))
        return rows if rows.num_rows else None

    def missing(self, table: Table, part: str = PART) -> NotFound:
        of = f"of cluster {self.cluster}, snapshot {self.snapshot}"
        if table.name == "plan":
            return NotFound(f"no plan {part} {of}: {self.root} has no such plan")
        return NotFound(f"{self.root}: no table {table.name} {of}")

    def last_with(self, table: Table) -> Place | None:
        return self if self.has(table) else None

    def parts(self, table: Table) -> list[str]:
        """Of a table of plans."""
        rows = self.tables.get(table.name)
        return [] if rows is None else sorted(set(rows["plan"].to_pylist()))


def _sorted(table: Table, found: Arrow) -> Arrow:
    """Rows in the table's order; for equal keys the other columns decide."""
    simple = [name for name, kind, _ in table.columns if name not in table.order and "<" not in kind]
    return found.sort_by([(name, "ascending") for name in (*table.order, *simple)])
