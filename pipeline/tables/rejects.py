"""Collects rows that cannot be used. No row is dropped silently, and one bad row never stops a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from .arrow import Arrow, from_rows
from .declared import REJECTED_ROWS

_RAW_CHARACTERS_MAX: Final = 2000
_MORE_ROWS: Final = "more_rows"
Row = tuple[str, int | None, str, str]


@attrs.define
class Rejects:
    """Rows of the table rejected_rows, in the order in which they were found."""

    rows: list[Row] = attrs.field(factory=list)

    def add(self, source: str, line: int | None, raw: object, reason: str) -> None:
        """Add a row: its place (`line`: of a text file, or the number of the row, from 1), its content, and the
        reason."""
        text = raw if isinstance(raw, str) else json.dumps(raw, default=str, sort_keys=True)
        safe = text[:_RAW_CHARACTERS_MAX].encode("utf-8", "backslashreplace").decode()
        self.rows.append((source, line, safe, reason))

    def add_more(self, source: str, count: int, reason: str) -> None:
        """Add one row for `count` rejected rows that are not shown."""
        self.add(source, None, {_MORE_ROWS: count}, reason)

    def extend(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)

    def table(self) -> Arrow:
        return from_rows(REJECTED_ROWS, self.rows)


def rows_in(row: Mapping[str, Any]) -> int:
    """The number of rejected rows that a row of the table stands for."""
    is_many = row["line"] is None and row["raw"].startswith(f'{{"{_MORE_ROWS}": ')
    return int(json.loads(row["raw"])[_MORE_ROWS]) if is_many else 1


def rejected_counts(rejected: Arrow) -> Counter[str]:
    """The number of rejected rows by reason, with those that are not shown."""
    counts: Counter[str] = Counter()
    for row in rejected.to_pylist():
        counts[row["reason"]] += rows_in(row)
    return counts
