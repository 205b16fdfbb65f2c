"""`kedge plan validate`: broken rules, in the table violation and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs

from ..cautions import of_capacities, of_check
from ..stages.arrays import Limits
from ..stages.check import check
from ..tables.arrow import Arrow
from ..tables.declared import BROKER, PARTITION, REJECTED_ROWS, REPLICA_LOAD, VIOLATION
from ..tables.files import Place, Wanted, wanted
from .verb import Said, Tables, Told

_SHOWN_MAX: Final = 50


@attrs.frozen
class Check:
    """Reads a snapshot, writes `violation`. `factor`, `min_racks`: as in `kedge.pipeline.stages.check.check`."""

    limits: Limits
    factor: int | None = None
    ignore_racks: bool = False
    dry_run: bool = False
    min_racks: int | None = None

    title: ClassVar[str] = "checking"
    wanted: ClassVar[Sequence[Wanted]] = (
        *wanted(BROKER, PARTITION),
        *wanted(REPLICA_LOAD, REJECTED_ROWS, optional=True),
    )

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if a rule is broken."""
        racks = {"ignore_racks": self.ignore_racks, "min_racks": self.min_racks}
        table = check(given, limits=self.limits, factor=self.factor, **racks)  # type: ignore[arg-type]
        if not self.dry_run:
            place.write(VIOLATION, table)
        found, notes = table.to_pylist(), _notes(given)
        counts = dict(sorted(Counter(row["kind"] for row in found).items()))
        row = {**place.named, "counts": counts, "violations": found, "notes": notes}
        return Said(row, _lines(found, counts, notes), 1 if found else 0)


def _lines(found: list[dict[str, Any]], counts: dict[str, int], notes: list[str]) -> list[tuple[str, str]]:
    shown = [(row["kind"], _words(row)) for row in found[:_SHOWN_MAX]]
    more = [("and", f"{len(found) - _SHOWN_MAX} more in table violation")] if len(found) > _SHOWN_MAX else []
    totals = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no rule is broken"
    return [*shown, *more, *(("note", text) for text in notes), ("found", totals)]


def _notes(given: Tables) -> list[str]:
    """Limits of the check: capacities that were checked without all values."""
    brokers, loads = given["broker"], given.get("replica_load")
    count = given["partition"].num_rows

    def unknown(column: str) -> int:
        return count if loads is None else _nulls(loads, column)

    def has(*columns: str) -> bool:
        return any(_nulls(brokers, column) < brokers.num_rows for column in columns)

    return of_capacities(brokers.to_pylist()) + of_check(
        unsized=unknown("size_bytes"),
        unrated=unknown("write_bps"),
        has_disks=has("disk_capacity_bytes"),
        has_networks=has("nw_in_capacity_bps", "nw_out_capacity_bps"),
    )


def _nulls(rows: Arrow, column: str) -> int:
    count: int = rows.column(column).null_count
    return count


def _words(row: dict[str, Any]) -> str:
    parts = []
    if row["topic"] is not None:
        parts.append(f"{row['topic']}-{row['partition']}")
    if row["broker_id"] is not None:
        parts.append(f"broker {row['broker_id']}")
    if row["kind"] == "LEADER_ORDER":
        place = int(row["observed"])  # 0: not in the row, since the first one leading is no finding
        leader = f"replica {place + 1}" if place else "a broker that is not among the replicas"
        return f"{parts[0]}: led by {leader} instead of the first one (the preferred leader)"
    when = "" if row["when"] == "now" else ", if all its replicas led"
    return f"{', '.join(parts)}: {row['observed']:g}, limit {row['limit']:g} {row['unit']}{when}"
