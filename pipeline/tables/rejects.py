"""Collects rows that cannot be used. No row is dropped silently, and one bad row never stops a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from .arrow import Arrow, from_rows
from .declared import REJECTED_ROWS

_RAW_CHARACTERS_MAX: Final = 2000
Row = tuple[str, int | None, str, str, str | None, int | None, Sequence[int] | None]
_INT_MAX: Final = 2**31 - 1


@attrs.define
class Rejects:
    """Rows of the table rejected_rows, in the order in which they were found."""

    rows: list[Row] = attrs.field(factory=list)

    def add(self, source: str, line: int | None, raw: object, reason: str, *, topic: str | None = None) -> None:
        """Add a row: its place (`line`: of a text file, or the number of the row, from 1), its content, and the reason.
        `topic`: of a row without which the replicas of all its partitions are unknown."""
        text = raw if isinstance(raw, str) else json.dumps(raw, default=str, sort_keys=True)
        safe = text[:_RAW_CHARACTERS_MAX].encode("utf-8", "backslashreplace").decode()
        whose = (topic, None, ()) if topic is not None else _partition_of(raw)
        self.rows.append((source, line, safe, reason, *whose))

    def extend(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)

    def table(self) -> Arrow:
        return from_rows(REJECTED_ROWS, self.rows)


def _partition_of(raw: object) -> tuple[str | None, int | None, Sequence[int] | None]:
    """The partition that a row is about and its brokers, as far as they can be read; nulls if it is about no partition
    with replicas."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("topic"), str) or "replicas" not in raw:
        return None, None, None
    replicas, target = (
        [b for b in some if _is_id(b)] if isinstance(some := raw.get(name), list) else []
        for name in ("replicas", "target_replicas")
    )
    number = raw.get("partition")
    return raw["topic"], number if _is_id(number) else None, replicas + [b for b in target if b not in replicas]


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= _INT_MAX
