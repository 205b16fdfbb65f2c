"""Collects rows that cannot be used. No row is dropped silently, and one bad row never stops a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import pyarrow.compute as pc

from .arrow import Arrow, from_rows
from .declared import BROKER_SAMPLE, REJECTED_ROWS, REPLICA_SAMPLE

OF_TABLE: Final = "table "
_SAMPLED: Final = tuple(OF_TABLE + table.name for table in (REPLICA_SAMPLE, BROKER_SAMPLE))
_SAMPLES: Final = re.compile(r'"samples": ([0-9]+)')
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

    def add_samples(self, table: str, count: int, reason: str, **named: object) -> None:
        """Add a row for so many samples. `named`: what they are of."""
        self.add(OF_TABLE + table, None, {"samples": count, **named}, reason)

    def extend(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)

    def table(self) -> Arrow:
        return from_rows(REJECTED_ROWS, self.rows)


def has_rows_of_tables(rejected: Arrow | None) -> bool:
    """Whether some were rows of tables, which validation finds, and not of files."""
    return rejected is not None and bool(pc.any(pc.starts_with(rejected["source"], OF_TABLE)).as_py())


def without_samples(rejected: Arrow) -> Arrow:
    """The rows that are no samples of replicas."""
    return rejected.filter(pc.not_equal(rejected.column("source"), OF_TABLE + REPLICA_SAMPLE.name))


def rows_in(row: Mapping[str, Any]) -> int:
    """The number of rejected rows that a row of the table stands for."""
    found = _SAMPLES.search(row["raw"]) if row["source"] in _SAMPLED else None
    return 1 if found is None else int(found[1])


def rejected_counts(rejected: Arrow) -> Counter[str]:
    """The number of rejected rows by reason."""
    counts: Counter[str] = Counter()
    for row in rejected.select(["source", "raw", "reason"]).to_pylist():
        counts[row["reason"]] += rows_in(row)
    return counts


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
