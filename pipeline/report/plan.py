"""The report of a plan: its effect in a sentence, brokers before and after, bytes against the lower bound, waves over
time, rates, and the tables below them.

* It is made from the plan's tables alone, without a clock: the same tables give the same bytes.
* Its size does not grow with the cluster: it shows the largest moves and the number of the others, and counts reasons,
  violations and rejected rows by kind, with an example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...controller.model.extras import missing
from ...controller.model.plural import counted

try:
    from pyarrow import compute as pc
except ImportError as error:
    raise ImportError(missing("pipeline", error)) from error

from ..amounts import amount, duration
from ..cautions import known_amount, of_brokers, of_partitions, of_plan, of_waves, ratio_words, too_long
from ..stages.requests import settings_of
from ..tables.arrow import Arrow, empty
from ..tables.declared import BROKER, LOG_DIR, PLAN_LOAD
from ..tables.rejects import rejected_counts
from .page import facts, page, plot, verdict
from .plan_plots import plots
from .plan_tables import tables_of

_DOES: Final[Mapping[str, str]] = {
    "drain": "empties {brokers}",
    "fill-brokers": "levels bytes onto {brokers}",
    "rebalance": "levels {by} over all brokers",
    "balance-disks": "levels bytes over the directories of each broker",
    "fix-racks": "spreads partitions over racks",
    "set-replication-factor": "gives partitions {factor} replicas",
    "balance-leaders": "evens out preferred leaders without copying",
    "demote": "takes preferred leaders away from {brokers} without copying",
    "undo": "puts the order of replicas back as it was before plan {undo}",
    "reduce-partitions": "lists topics that could have fewer partitions",
}


def plan_page(tables: Mapping[str, Arrow], *, cluster: str, snapshot: str) -> str:
    """A whole document, from the tables `plan`, `plan_move`, `plan_reason`, `plan_load` and `broker`, and, if given,
    the tables of waves, `wave_reason`, `reduction`, `violation`, `violation_after`, `rejected_rows`."""
    (said,) = tables["plan"].to_pylist()
    parts = [verdict(*_verdict(said, tables)), _facts(said, tables)]
    parts += [plot(*one) for one in plots(said, tables)]
    parts += tables_of(tables)
    return page(f"Plan {said['plan']}", f"Cluster {cluster}, snapshot {snapshot}", [part for part in parts if part])


def _verdict(said: dict[str, Any], tables: Mapping[str, Arrow]) -> tuple[str, str]:
    settings = settings_of(said)
    does = _DOES.get(said["kind"], "changes partitions").format(
        brokers=_brokers(settings.get("brokers", ())),
        factor=settings.get("factor", ""),
        undo=settings.get("undo", ""),
        by=", ".join(settings.get("by", ())),
    )
    waves = tables["wave"].to_pylist() if "wave" in tables else []
    kind = "" if said["complete"] and not said["copied_unsized"] and not too_long(waves) else "warn"
    rejected = rejected_counts(tables["rejected_rows"]).total() if "rejected_rows" in tables else 0
    rows = counted(rejected, "row", ",")
    beside = f" Left out: {rows} of the snapshot, which were rejected." if rejected else ""
    tables = {LOG_DIR.name: empty(LOG_DIR), **tables}
    known = (tables[table.name].to_pylist() for table in (BROKER, PLAN_LOAD, LOG_DIR))
    notes = "".join(f" Note: {text}." for text in of_plan(said, *known) + of_waves(waves))
    return f"This plan {does}: {_changes(said)}.{_waves(waves)}{_refused(said, tables)}{beside}{notes}", kind


def _brokers(listed: Sequence[Any]) -> str:
    """The brokers of `[1, 2]` or `[[7, "a"], [8, null]]` as words."""
    ids = [one[0] if isinstance(one, list) else one for one in listed]
    return of_brokers(ids) if ids else "the brokers that are draining"


def _changes(said: dict[str, Any]) -> str:
    if said["kind"] == "reduce-partitions":
        return f"{of_partitions(said['partitions_changed'])} could be removed"
    if not said["partitions_changed"]:
        return "there is nothing to do" if said["complete"] else "the whole request was refused"
    count = said["partitions_changed"]
    changed = f"{of_partitions(count)} {'changes' if count == 1 else 'change'}"
    if not said["replicas_copied"]:
        return f"{changed}, and no data is copied"
    if said["bytes_copied"] is None:
        return f"{changed}, {counted(said['replicas_copied'], 'copied replica', ',')} of unknown size"
    over = said["bytes_copied"] - said["bytes_bound"]
    worth = "the least possible" if not over else f"{amount(over)} more than the least possible"
    more = f" and {of_partitions(said['copied_unsized'])} of unknown size" if said["copied_unsized"] else ""
    return f"{changed}, {amount(said['bytes_copied'])}{more} are copied, {worth}"


def _waves(waves: Sequence[dict[str, Any]]) -> str:
    if not waves:
        return ""
    count = f" {counted(len(waves), 'wave')}"
    if any(row["unsized"] for row in waves):
        return f"{count}."
    if any(row["eta_s"] is None for row in waves):
        return f"{count}, not throttled, so their time is not known."
    low, expected, high = (duration(sum(row[name] for row in waves)) for name in ("eta_low_s", "eta_s", "eta_high_s"))
    return f"{count}, about {expected} ({low} to {high})."


def _refused(said: dict[str, Any], tables: Mapping[str, Arrow]) -> str:
    late = tables["wave_reason"].num_rows if "wave_reason" in tables else 0
    found = f" {counted(said['rejected'], 'refused move', ',')}, each with a reason." if said["rejected"] else ""
    return found + (f" No wave has room for {of_partitions(late)}." if late else "")


def _facts(said: dict[str, Any], tables: Mapping[str, Arrow]) -> str:
    form = "{:.3f} → {:.3f}"
    found = [
        ("partitions change", f"{said['partitions_changed']:,}"),
        ("replicas copied", f"{said['replicas_copied']:,}"),
        ("bytes copied", known_amount(said["bytes_copied"])),
        ("the least possible", known_amount(said["bytes_bound"])),
        ("bytes, fullest to mean", ratio_words(said["size_max_mean_before"], said["size_max_mean_after"], form)),
        ("leaders, most to mean", form.format(said["leaders_max_mean_before"], said["leaders_max_mean_after"])),
    ]
    for way in ("in", "out"):
        before, after = (said[f"network_{way}_max_mean_{when}"] for when in ("before", "after"))
        if before is not None:
            found.append((f"network {way}, most to mean", form.format(before, after)))
    if "wave" in tables:
        found.append(("waves", f"{tables['wave'].num_rows:,}"))
    reasons = tables["plan_reason"]
    if reasons.num_rows:
        kinds = len(pc.unique(reasons.column("reason")))
        found.append((f"refused for {counted(kinds, 'reason')}", f"{reasons.num_rows:,}"))
    return facts(found)
