"""The tables of a plan's page: brokers, waves, the largest moves, and counts by kind of what was refused, broken or set
aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ..amounts import amount, duration
from ..cautions import known_amount
from ..tables.arrow import Arrow
from ..tables.rejects import rows_in
from .page import table
from .plan_plots import brokers_of

MOVES_MAX: Final = 50
_EXAMPLE_CHARACTERS_MAX: Final = 160


def tables_of(tables: Mapping[str, Arrow]) -> Iterator[str]:
    """Each table as HTML, "" if it has no row."""
    yield _moves(tables["plan_move"])
    yield _reductions(tables)
    yield _counted("Refused, by reason", tables["plan_reason"], ("reason",), _partition)
    if "wave_reason" in tables:
        yield _counted("In no wave, by reason", tables["wave_reason"], ("reason",), _partition)
    yield _violations(tables)
    if "rejected_rows" in tables:
        rejected = tables["rejected_rows"]
        counts = [rows_in(row) for row in rejected.to_pylist()]
        yield _counted("Rejected rows, by reason", rejected, ("source", "reason"), _rejected, counts)
    yield _waves(tables)
    yield _brokers(tables)


def _moves(moves: Arrow) -> str:
    order = [("bytes", "descending"), ("topic", "ascending"), ("partition", "ascending")]
    most = moves.sort_by(order).slice(0, MOVES_MAX).to_pylist()
    rows = [
        (
            f"{row['topic']}-{row['partition']}",
            row["replicas"],
            row["target_replicas"],
            str(row["leader"]),
            known_amount(row["bytes"]),
        )
        for row in most
    ]
    total, unsized = pc.sum(moves.column("bytes")).as_py(), moves.column("bytes").null_count
    summed = known_amount(total) if unsized == moves.num_rows and unsized else amount(total or 0)
    title = f"Moves: {moves.num_rows:,}, {'bytes ' if total is None and unsized else ''}{summed} in all"
    title += f"; the {MOVES_MAX} largest are shown" if moves.num_rows > MOVES_MAX else ""
    return table(title, ("partition", "replicas", "target", "leader", "bytes to copy"), rows)


def _reductions(tables: Mapping[str, Arrow]) -> str:
    rows = tables["reduction"].to_pylist() if "reduction" in tables else []
    found = [
        (row["topic"], row["partitions"], row["total_count"], amount(row["size_bytes"]), row["basis"]) for row in rows
    ]
    return table("Topics that could have fewer partitions", ("topic", "partitions", "to", "bytes", "rates are"), found)


def _counted(
    title: str,
    found: Arrow,
    by: Sequence[str],
    example: Callable[[dict[str, Any]], str],
    counts: Sequence[int] | None = None,
) -> str:
    """A row per kind with its number and first example, the most frequent first. `counts`: what each row stands for."""
    placed = found.append_column("place", pa.array(range(found.num_rows), pa.int64()))
    counted = placed.append_column("count", pa.array(counts or [1] * found.num_rows, pa.int64()))
    groups = counted.group_by(list(by)).aggregate([("count", "sum"), ("place", "min")])
    order = [("count_sum", "descending"), *((name, "ascending") for name in by)]
    rows = []
    for row in groups.sort_by(order).to_pylist():
        (first,) = found.slice(row["place_min"], 1).to_pylist()
        rows.append((*(row[name] for name in by), row["count_sum"], example(first)[:_EXAMPLE_CHARACTERS_MAX]))
    return table(f"{title}: {pc.sum(counted['count']).as_py() or 0:,} in all", (*by, "number", "first example"), rows)


def _partition(row: dict[str, Any]) -> str:
    where = row["topic"] if row["partition"] is None else f"{row['topic']}-{row['partition']}"
    return where if row["broker_id"] is None else f"{where}, broker {row['broker_id']}"


def _rejected(row: dict[str, Any]) -> str:
    line = "" if row["line"] is None else f"line {row['line']}: "
    return f"{line}{row['raw']}"


def _violations(tables: Mapping[str, Arrow]) -> str:
    if "violation" not in tables or "violation_after" not in tables:
        return ""
    before, after = _kinds(tables["violation"]), _kinds(tables["violation_after"])
    rows = [
        (
            kind,
            "now" if when == "now" else "if every replica led",
            before.get((kind, when), 0),
            after.get((kind, when), 0),
        )
        for kind, when in sorted(before.keys() | after.keys())
    ]
    return table("Violations before and after", ("kind", "when", "before", "after"), rows, "None before, none after.")


def _kinds(found: Arrow) -> dict[tuple[str, str], int]:
    rows = found.group_by(["kind", "when"]).aggregate([("kind", "count")]).to_pylist()
    return {(row["kind"], row["when"]): row["kind_count"] for row in rows}


def _waves(tables: Mapping[str, Arrow]) -> str:
    rows = tables["wave"].to_pylist() if "wave" in tables else []
    found = [
        (
            row["wave"],
            row["partitions"],
            row["copies"],
            known_amount(row["bytes"]),
            "" if row["peak_disk_share"] is None else f"{row['peak_disk_share']:.1%}",
            *("" if row[name] is None else duration(row[name]) for name in ("eta_s", "eta_low_s", "eta_high_s")),
        )
        for row in rows
    ]
    columns = ("wave", "partitions", "copies", "bytes", "fullest disk", "expected", "at least", "at most")
    return table("Waves", columns, found)


def _brokers(tables: Mapping[str, Arrow]) -> str:
    brokers = brokers_of(tables)
    rates: dict[int, tuple[int | None, int | None]] = {}
    for row in tables["wave_throttle"].to_pylist() if "wave_throttle" in tables else ():
        sends, receives = rates.get(row["broker_id"], (None, None))
        rates[row["broker_id"]] = (row["leader_rate_bps"] or sends, row["follower_rate_bps"] or receives)
    rows = []
    for row in tables["plan_load"].to_pylist():
        broker = brokers.get(row["broker_id"], {})
        sizes = (known_amount(row["size_bytes_before"]), known_amount(row["size_bytes_after"]))
        counts = (row["replicas_before"], row["replicas_after"], row["leaders_before"], row["leaders_after"])
        fast = ("" if rate is None else f"{amount(rate)}/s" for rate in rates.get(row["broker_id"], (None, None)))
        rows.append((str(row["broker_id"]), broker.get("rack") or "", broker.get("state", ""), *sizes, *counts, *fast))
    names = ("broker", "rack", "state", "bytes", "after", "replicas", "after", "leaders", "after", "sends", "receives")
    return table("Brokers", names, rows)
