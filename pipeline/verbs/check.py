"""`kedge plan validate`: broken rules, in the table violation and as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

from ...controller.model.plural import counted
from ..amounts import amount
from ..cautions import of_capacities, of_check
from ..stages.arrays import Limits
from ..stages.check import check
from ..tables.arrow import Arrow
from ..tables.declared import BROKER, PARTITION, REJECTED_ROWS, REPLICA_LOAD, VIOLATION
from ..tables.files import Place, Wanted, wanted
from .verb import Said, Tables, Told

_SHOWN_MAX: Final = 100  # violations that are printed, and returned: the others are in the table only


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
        first, notes = table.slice(0, _SHOWN_MAX).to_pylist(), _notes(given)
        counts = {row["values"]: row["counts"] for row in table["kind"].value_counts().to_pylist()}
        row = {**place.named, "counts": counts, "violations": first, "notes": notes}
        return Said(row, _lines(first, counts, notes), 1 if counts else 0)


def _lines(first: list[dict[str, Any]], counts: dict[str, int], notes: list[str]) -> list[tuple[str, str]]:
    shown, left = [(row["kind"], _words(row)) for row in first], sum(counts.values()) - len(first)
    more = [("and", f"{left} more in table violation")] if left else []
    return [*shown, *more, *(("note", text) for text in notes), ("found", violations(counts))]


def violations(counts: Mapping[str, int]) -> str:
    """The numbers of violations by their kind as text."""
    listed = [f"{counted(count, 'violation')} of {kind}" for kind, count in counts.items()]
    return ", ".join(listed) or "no rule is broken"


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


_SAYS: Final = {
    "RACK": "is in {} of {} possible racks",
    "RF": "has {} replicas instead of {}",
    "ISR": "has {} replicas in sync of {}",
    "DUP": "lists {} replicas, which are on {} brokers",
    "CAP_DISK": "holds {}, and may hold {}",
    "CAP_IN": "receives {}/s, and may receive {}/s",
    "CAP_OUT": "sends {}/s, and may send {}/s",
}


def _words(row: dict[str, Any]) -> str:
    partition, broker = f"{row['topic']}-{row['partition']}", f"broker {row['broker_id']}"
    if row["kind"] == "LEADER_ORDER":
        place = int(row["observed"])  # 0: not in the row, since the first one leading is no finding
        leader = f"replica {place + 1}" if place else "a broker that is not among the replicas"
        return f"{partition} is led by {leader} instead of the first one (the preferred leader)"
    if row["kind"] == "DEAD":
        return f"{partition} has a replica on {broker}, which is dead"
    form = amount if row["kind"].startswith("CAP") else "{:g}".format
    says = _SAYS[row["kind"]].format(form(row["observed"]), form(row["limit"]))
    would = "" if row["when"] == "now" else ", if all its replicas led"
    return f"{broker if row['topic'] is None else partition} {says}{would}"
