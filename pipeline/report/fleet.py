"""The page of `kedge plan apply-policy`: a row per cluster, worst first, with a link to the page of its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...controller.model.plural import counted
from ..amounts import amount, duration
from ..cautions import known_amount
from ..stages.export import REPORT
from .page import Link, facts, page, table, verdict

_COLUMNS = ("cluster", "snapshot", "plan", "partitions", "bytes copied", "waves", "time", "violations", "refused")


def fleet_page(rows: Sequence[tuple[Mapping[str, Any], int]], failed: Mapping[str, str]) -> str:
    """A whole document. `rows`: the result of the command for each cluster, and its exit code; `failed`: why some
    clusters could not be used. The same rows give the same bytes."""
    ordered = sorted(rows, key=lambda one: (-one[1], one[0]["cluster"]))
    planned = [row["plan"] for row, _ in rows if not row["skipped"] and row["plan"] is not None]
    parts = [
        verdict(*_verdict(rows, failed)),
        facts(
            [
                ("clusters", f"{len(rows) + len(failed):,}"),
                ("with a plan", f"{sum(bool(plan['partitions_changed']) for plan in planned):,}"),
                ("partitions change", f"{sum(plan['partitions_changed'] for plan in planned):,}"),
                ("bytes copied", amount(sum(plan["bytes_copied"] or 0 for plan in planned))),
            ]
        ),
        table("Clusters that could not be used", ("cluster", "reason"), sorted(failed.items())),
        table("Clusters", _COLUMNS, [_row(row) for row, _ in ordered]),
    ]
    return page("Plans of all clusters", counted(len(rows) + len(failed), "cluster"), [part for part in parts if part])


def _verdict(rows: Sequence[tuple[Mapping[str, Any], int]], failed: Mapping[str, str]) -> tuple[str, str]:
    incomplete = sum(code > 0 for _, code in rows)
    if failed:
        return f"{len(failed)} of {counted(len(rows) + len(failed), 'cluster')} could not be used.", "bad"
    if incomplete:
        return (
            f"{incomplete} of {counted(len(rows), 'cluster')} with a broken rule or a refused part of the request.",
            "warn",
        )
    return "Every cluster keeps its rules, and every request is fulfilled.", ""


def _row(row: Mapping[str, Any]) -> tuple[object, ...]:
    if row["skipped"]:
        return (row["cluster"], row["snapshot"], "skipped", *[None] * (len(_COLUMNS) - 3))
    plan = row["plan"]
    broken = ", ".join(f"{count} {kind}" for kind, count in row["violations"].items())
    if plan is None:
        return (row["cluster"], row["snapshot"], "nothing to do", None, "", None, "", broken, None)
    return (
        Link(row["cluster"], f"{row['cluster']}/{REPORT}"),
        row["snapshot"],
        row["step"] + (", unchanged" if row["unchanged"] else ""),
        plan["partitions_changed"],
        known_amount(plan["bytes_copied"]),
        plan["waves"],
        "" if plan["eta_s"] is None else duration(plan["eta_s"]),
        broken,
        sum(plan["reasons"].values()),
    )
