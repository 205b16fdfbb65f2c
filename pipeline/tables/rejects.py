"""Collects rows that cannot be used. No row is dropped silently, and one bad row never stops a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import attrs

from .arrow import Arrow, from_rows
from .declared import REJECTED_ROWS

_RAW_CHARACTERS_MAX: Final = 2000
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

    def extend(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)

    def table(self) -> Arrow:
        return from_rows(REJECTED_ROWS, self.rows)
