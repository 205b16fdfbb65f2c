"""The plots of a plan: brokers before and after, bytes against the bound, waves over time, copies and rates per
broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..amounts import amount
from ..stages.requests import settings_of
from ..tables.arrow import Arrow
from .columns import Column, Pair, columns, pairs
from .gantt import ROWS_MAX, Wave, gantt
from .svg import bars

Plot = tuple[str, str, str]


def plots(said: dict[str, Any], tables: Mapping[str, Arrow]) -> Iterator[Plot]:
    """Title, drawing and caption of each; the drawing is empty if there is nothing to show."""
    brokers = brokers_of(tables)
    yield from _loads(said, tables, brokers)
    both = {"copied": float(said["bytes_copied"] or 0), "the least possible": float(said["bytes_bound"] or 0)}
    drawn = bars(both, "bytes copied against the lower bound", said=lambda value: amount(int(value)))
    caption = "The least is computed from the snapshot, independently of the moves."
    yield "Bytes against the lower bound", drawn if said["bytes_copied"] else "", caption
    if "wave" in tables:
        yield from _waves(tables, brokers)


def brokers_of(tables: Mapping[str, Arrow]) -> dict[int, dict[str, Any]]:
    """Rows of the table broker by id, each with `group`: the index of its rack."""
    rows = tables["broker"].to_pylist() if "broker" in tables else []
    racks = sorted({row["rack"] for row in rows if row["rack"] is not None})
    place = {rack: i for i, rack in enumerate(racks)}
    return {row["broker_id"]: {**row, "group": place.get(row["rack"], len(racks))} for row in rows}


def _loads(said: dict[str, Any], tables: Mapping[str, Arrow], brokers: dict[int, dict[str, Any]]) -> Iterator[Plot]:
    rows = tables["plan_load"].to_pylist()
    share = float(settings_of(said)["disk_share"])
    bars_are = "Bars: after the plan, in the colour of the rack; thin line: before; dashed: the mean of brokers above 0"
    sized = [row for row in rows if row["size_bytes_before"] is not None]
    drawn = columns([_column(row, brokers, "size_bytes", share) for row in sized], "bytes per broker", in_bytes=True)
    limit = f"; red: {share:.0%} of the disk, if it is known and fits the scale" if _has_disks(brokers) else ""
    yield "Bytes per broker", drawn, f"{bars_are}{limit}."
    drawn = columns(
        [_column(row, brokers, "leaders", None) for row in rows], "preferred leaders per broker", in_bytes=False
    )
    yield "Preferred leaders per broker", drawn, f"{bars_are}."


def _has_disks(brokers: dict[int, dict[str, Any]]) -> bool:
    return any(row["disk_capacity_bytes"] for row in brokers.values())


def _column(row: dict[str, Any], brokers: dict[int, dict[str, Any]], what: str, share: float | None) -> Column:
    broker = brokers.get(row["broker_id"], {})
    before, after = row[f"{what}_before"], row[f"{what}_after"]
    disk = broker.get("disk_capacity_bytes")
    limit = None if share is None or disk is None else disk * share
    words = (amount(before), amount(after)) if share is not None else (f"{before:,}", f"{after:,}")
    rack = broker.get("rack") or ""
    text = f"broker {row['broker_id']}{f', rack {rack}' if rack else ''}: {words[0]} before, {words[1]} after"
    return Column(str(row["broker_id"]), broker.get("group", 0), rack, float(before), float(after), limit, text)


def _waves(tables: Mapping[str, Arrow], brokers: dict[int, dict[str, Any]]) -> Iterator[Plot]:
    waves, rates = tables["wave"].to_pylist(), tables["wave_throttle"].to_pylist()
    ends: dict[int, list[int]] = {}
    for row in rates:
        counts = ends.setdefault(row["wave"], [0, 0])
        counts[0] += row["sends"] > 0
        counts[1] += row["receives"] > 0
    timed = all(row["eta_s"] is not None for row in waves)
    found = [
        Wave(
            str(row["wave"]),
            row["bytes"] or 0,
            *ends.get(row["wave"], (0, 0)),
            *((row[name] if timed else 0.0) for name in ("eta_low_s", "eta_s", "eta_high_s")),
        )
        for row in waves
    ]
    what = "Bar: from the begin to the expected end; thin line: from the shortest to the longest time"
    why = "Some sizes are not known" if any(row["unsized"] for row in waves) else "No rate is set"
    what = what if timed else f"{why}, so the bars show bytes, one wave after the other"
    merged = (
        ". Neighbouring waves share a row, with the largest number of brokers of any" if len(waves) > ROWS_MAX else ""
    )
    yield "Waves over time" if timed else "Waves", gantt(found, "waves over time"), f"{what}{merged}."
    yield from _ends(rates, brokers, sized=not any(row["unsized"] for row in waves))


def _ends(rates: list[dict[str, Any]], brokers: dict[int, dict[str, Any]], *, sized: bool) -> Iterator[Plot]:
    """The bytes that each broker sends and receives in all waves, and its rates."""
    sums: dict[int, list[int]] = {}
    for row in rates:
        values = sums.setdefault(row["broker_id"], [0, 0, 0, 0])
        values[0] += row["received_bytes"]
        values[1] += row["sent_bytes"]
        values[2] = max(values[2], row["follower_rate_bps"] or 0)
        values[3] = max(values[3], row["leader_rate_bps"] or 0)
    copied = [_pair(b, v[0], v[1], "", brokers) for b, v in sorted(sums.items())]
    yield (
        "Copied per broker",
        pairs(copied, "bytes received and sent per broker"),
        f"Up: received; down: sent; all waves{'' if sized else ', as far as sizes are known'}.",
    )
    fast = [_pair(b, v[2], v[3], " per second", brokers) for b, v in sorted(sums.items())]
    caption = (
        "Bytes per second. Up: limit of receiving; down: limit of sending; no bar: no throttle, or nothing to copy."
    )
    yield "Rates per broker", pairs(fast, "rates per broker"), caption


def _pair(broker_id: int, comes: int, goes: int, per: str, brokers: dict[int, dict[str, Any]]) -> Pair:
    broker = brokers.get(broker_id, {})
    text = f"broker {broker_id}: receives {amount(comes)}{per}, sends {amount(goes)}{per}"
    return Pair(str(broker_id), broker.get("group", 0), broker.get("rack") or "", float(comes), float(goes), text)
