"""The rows of a table that pass its checks, and the others with the reason of each.

Of a table that is checked in batches, the first rows of each reason are kept, and the others are counted: a table with
as many rejected rows as there were samples would be of no use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import Ints
from ..tables.arrow import Arrow, conform
from ..tables.rejects import Rejects
from ..tables.schema import Table

SHOWN_MAX: Final = 10


@attrs.define
class Sieve:
    """The remaining rows of one table, and the reasons of the removed ones; the first failed check counts. `before`:
    the rows of earlier batches. `counts`: of the table's rejected rows so far, by reason; None: all are shown."""

    table: Table
    rows: Arrow
    rejects: Rejects
    before: int = 0
    counts: Counter[str] | None = None
    reason: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = conform(self.table, self.rows, self.table.name)
        self.reason = np.full(self.rows.num_rows, "", dtype=object)

    def column(self, name: str) -> Any:
        return self.rows.column(name)

    def refuse(self, where: Any, reason: str) -> None:
        if where.any():
            self.reason[where & (self.reason == "")] = reason

    def refuse_negative(self, *names: str) -> None:
        """Numbers below 0, infinite or NaN; null is neither."""
        for name in names:
            values = np.asarray(pc.fill_null(self.column(name), 0).to_numpy())
            self.refuse((values < 0) | ~np.isfinite(values), f"{name} is negative or not a number")

    def result(self) -> Arrow:
        """The rows without a reason; the others are rejected."""
        good = np.asarray(self.reason == "", np.bool_)
        if good.all():
            return self.rows
        places = np.nonzero(~good)[0]
        if self.counts is not None:
            places = np.sort(np.concatenate(list(self._first(places, self.counts))))
        for place, row in zip(places.tolist(), _listed(self.rows.take(places)), strict=True):
            self.rejects.add(f"table {self.table.name}", self.before + place + 1, row, str(self.reason[place]))
        return self.rows.filter(pa.array(good))

    def _first(self, places: Ints, counts: Counter[str]) -> Iterator[Ints]:
        """Those of the rejected rows that are among the first of their reason."""
        for reason in sorted(set(self.reason[places])):
            of_reason = places[self.reason[places] == reason]
            yield of_reason[: max(0, SHOWN_MAX - counts[reason])]
            counts[reason] += len(of_reason)


def count_rest(table: Table, rejects: Rejects, counts: Counter[str]) -> None:
    """Add a row for those of each reason that are not shown."""
    for reason, count in sorted(counts.items()):
        if count > SHOWN_MAX:
            rejects.add_more(f"table {table.name}", count - SHOWN_MAX, reason)


def _listed(rows: Arrow) -> list[dict[str, Any]]:
    """The rows as objects; times that no datetime can hold as microseconds since 1970."""
    with suppress(OverflowError, ValueError):
        return list(rows.to_pylist())
    whole = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in rows.columns]
    return list(pa.table(whole, names=rows.schema.names).to_pylist())
