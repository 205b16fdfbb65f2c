"""Plans of one or many snapshots, side by side: what each moves, its lower bound, its result, its time.

For each plan its row of the table `plan`, and the sums of its waves, if it has any.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..tables.arrow import Arrow
from .requests import settings_of

SUMMED: Final = ("partitions_changed", "replicas_copied", "bytes_copied", "bytes_bound", "rejected", "waves")
TIMES: Final = ("eta_s", "eta_low_s", "eta_high_s")
MEANT: Final = ("size_max_mean_before", "size_max_mean_after", "leaders_max_mean_before", "leaders_max_mean_after")


def row_of(plan: Arrow, wave: Arrow | None) -> dict[str, Any]:
    """The plan's row, `waves` (their number, None: not cut into waves) and the sum of their times (None: one has no
    time)."""
    (said,) = plan.to_pylist()
    waves = None if wave is None else wave.to_pylist()
    times = {name: None if waves is None else _sum(row[name] for row in waves) for name in TIMES}
    return {**said, "settings": settings_of(said), "waves": None if waves is None else len(waves), **times}


def _sum(values: Iterable[float | None]) -> float | None:
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


def total_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """For rows of one plan: the number of snapshots, sums, and means of ratios; None if a value is not known. Needs at
    least one row."""
    sums = {name: _sum(row[name] for row in rows) for name in (*SUMMED, *TIMES)}
    ratios = {name: _sum(row[name] for row in rows) for name in MEANT}
    means = {name: None if ratio is None else ratio / len(rows) for name, ratio in ratios.items()}
    return {"plan": rows[0]["plan"], "snapshots": len(rows), **sums, **means}


def differing(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """The settings that differ between rows: by their name and the plan's, each value once, in the rows' order."""
    listed = list(rows)
    names = sorted({name for row in listed for name in row["settings"]} | {"kind"})
    found: dict[str, dict[str, list[Any]]] = {}
    for name in names:
        values: dict[str, list[Any]] = {}
        for row in listed:
            value = row["kind"] if name == "kind" else row["settings"].get(name)
            if value not in values.setdefault(row["plan"], []):
                values[row["plan"]].append(value)
        if len({json.dumps(value) for several in values.values() for value in several}) > 1:
            found[name] = values
    return found
