"""The journal rows of one partition: the trace of its move, in the form of KIP-455's example."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

_TRACE: Final = {"TargetSet", "IsrChanged", "ReplicasGrown", "ReplicasChanged", "TargetCleared", "IsrShrunk"}


def traces(lines: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each partition that are a trace's, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        row = json.loads(line)
        if row["event"] in _TRACE:
            found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row)
    return found


def longest_plain_trace(
    lines: Iterable[str], leave_out: Iterable[str], preferred: str | None = None
) -> tuple[str, list[dict[str, Any]]] | None:
    """The partition whose one move has the most rows, of those that went through undisturbed; `preferred` if it did."""
    left_out = set(leave_out)
    whole = {
        name: rows
        for name, rows in traces(lines).items()
        if name not in left_out
        and [row["event"] for row in rows].count("TargetSet") == 1
        and any(row["event"] == "TargetCleared" and row["cause"] == "completed" for row in rows)
    }
    name = max(whole, key=lambda name: (name == preferred, len(whole[name]), name), default=None)
    return None if name is None else (name, _from_target_on(whole[name]))


def _from_target_on(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = next(i for i, row in enumerate(rows) if row["event"] == "TargetSet")
    return rows[first:]


def columns(row: dict[str, Any]) -> tuple[str, ...]:
    """R, I, T, leader and epoch, event."""
    target = "-" if "target" not in row else _ids(row["target"])
    leader = f"{row['leader']}/{row['leader_epoch']}"
    return (f"R {_ids(row['replicas'])}", f"I {_ids(row['isr'])}", f"T {target}", leader, row["event"])


def _ids(brokers: list[int]) -> str:
    return "[" + ",".join(map(str, brokers)) + "]"
