"""`kedge plan drain`, `add` and so on: a plan of a snapshot, as tables with its name.

Making it again replaces them, and removes the waves of the earlier one. The table `plan` is written last: without it
there is no plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from ...controller.model.plural import counted
from ..cautions import copied_words, of_drain, of_plan, ratio_words
from ..errors import BadInput, NotFound
from ..stages.added import with_added
from ..stages.arrays import Limits
from ..stages.choice import Choice
from ..stages.export import chosen_dirs, plan_json
from ..stages.plan import plan
from ..stages.requests import KINDS, BalanceDisks, Drain, Request, Undo, settings_of
from ..tables.arrow import Arrow
from ..tables.declared import BROKER_DEFAULT, DRAINING, LOG_DIR, PLAN_MOVE, REJECTED_ROWS, REPLICA_LOG, SNAPSHOT
from ..tables.files import Place, Wanted, find_planned, wanted
from ..tables.whole import write_tables
from .saying import reason_counts, reason_rows
from .verb import Output, Said, Tables, Told


@attrs.frozen
class Plan:
    """Reads a snapshot, writes the tables of the plan `name`. `plans`: where to write plan.json, `pages`: where to
    write a page."""

    name: str
    request: Request
    limits: Limits
    ignore_racks: bool = False
    dry_run: bool = False
    plans: Output | None = None
    pages: Output | None = None
    choice: Choice = attrs.field(factory=Choice)

    @property
    def title(self) -> str:
        """As `Verb`."""
        return f"planning {self.name}"

    @property
    def wanted(self) -> Sequence[Wanted]:
        """As `Verb`."""
        more = [BROKER_DEFAULT, REJECTED_ROWS, LOG_DIR]
        more += [REPLICA_LOG] if isinstance(self.request, BalanceDisks) else []
        return *wanted(*SNAPSHOT), *wanted(*more, optional=True)

    def run(self, place: Place, given: Tables, told: Told) -> Said:
        """Exit code 1 if a part of the request is not in the plan."""
        undone = {"plan_move": _moves(place, self.request.undo)} if isinstance(self.request, Undo) else {}
        found = plan(
            {**given, **undone},
            self.request,
            name=self.name,
            limits=self.limits,
            choice=self.choice,
            ignore_racks=self.ignore_racks,
            told=told,
        )
        if not self.dry_run:
            write_tables(place, found)
            if self.plans is not None:
                self.plans.write(place, plan_json(found["plan_move"], dirs=chosen_dirs(found)))
            if self.pages is not None:
                from .page import page_of  # noqa: PLC0415 - needed for pages only

                self.pages.write(place, page_of(place.cluster, place.snapshot, {**given, **found}))
        return self._say(place, given, found)

    def _say(self, place: Place, given: Tables, found: Tables) -> Said:
        log_dirs = given[LOG_DIR.name].to_pylist() if LOG_DIR.name in given else []
        row, lines = describe(place, found, with_added(given, self.request).to_pylist(), log_dirs)
        if self.dry_run:
            lines[0] = (lines[0][0], f"{lines[0][1]}, not written")
        return Said({**row, "written": not self.dry_run}, lines, 0 if row["complete"] else 1)


def describe(
    place: Place, found: Tables, brokers: list[dict[str, Any]], log_dirs: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """A plan as a JSON object and as lines. `found`: its tables; `brokers`: with those that it adds; `log_dirs`: of the
    snapshot, which may have none."""
    (row,) = found["plan"].to_pylist()
    settings = settings_of(row)
    reasons = reason_counts(found["plan_reason"].column("reason").to_pylist())
    reductions = found["reduction"].to_pylist() if "reduction" in found else []
    notes = of_plan(row, brokers, found["plan_load"].to_pylist(), log_dirs)
    warnings = _warnings(row["kind"], settings, brokers)
    more = {"settings": settings, "reasons": reasons, "reductions": reductions, "notes": notes, "warnings": warnings}
    lines = _rows(row, place) + _reductions(reductions) + reason_rows("refused", "move", reasons)
    lines += [("note", text) for text in notes] + [("warning", text) for text in warnings]
    return {**row, **more, **place.named}, lines


def _moves(place: Place, name: str) -> Arrow:
    """What the plan changed: of the last snapshot that has it, up to the one at `place`."""
    if place.root.in_spark:
        raise BadInput(f"{place.root}: plans are undone only where tables are files that Spark is not needed for")
    planned = find_planned(place, name)
    if planned is None:
        raise NotFound(f"no plan {name} of cluster {place.cluster} in any snapshot up to {place.snapshot}")
    return planned.read(PLAN_MOVE, name)


def _warnings(kind: str, settings: dict[str, Any], brokers: list[dict[str, Any]]) -> list[str]:
    if kind != KINDS[Drain]:
        return []
    drained = settings["brokers"] or [row["broker_id"] for row in brokers if row["state"] == DRAINING]
    return [of_drain(drained)] if drained else []


_TIMES: Final = "{} at most {{:.4f}} times the mean before, {{:.4f}} times after"
_WAYS: Final = (("network-in", "network_in", "a broker gets"), ("network-out", "network_out", "a broker sends"))
_MOST: Final = (("bytes", "size", "a broker holds"), ("leaders", "leaders", "a broker leads"))
_WITHIN: Final = "a directory holds at most {:.4f} times the mean of its broker before, {:.4f} times after"


def _rows(row: dict[str, Any], place: Place) -> list[tuple[str, str]]:
    count, replicas = row["partitions_changed"], counted(row["replicas_copied"], "replica")
    within = row["kind"] == KINDS[BalanceDisks]
    copied = f"{replicas} {'is' if row['replicas_copied'] == 1 else 'are'} copied{' within brokers' * within}"
    networks = [way for way in _WAYS if row[f"{way[1]}_max_mean_before"]]
    changed = f"{counted(count, 'partition')} {'changes' if count == 1 else 'change'}, {copied}"
    return [
        ("plan", f"{row['plan']} of {place.cluster}, snapshot {place.snapshot}"),
        ("changes", changed if count else "nothing changes"),
        ("copies", copied_words(row)),
        *(
            (
                f"most {what}",
                ratio_words(
                    row[f"{of}_max_mean_before"],
                    row[f"{of}_max_mean_after"],
                    _WITHIN if within and of == "size" else _TIMES.format(does),
                ),
            )
            for what, of, does in (*_MOST, *networks)
        ),
    ]


def _reductions(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    keyed = "records of a key may be in two partitions for a while, since the partition of a key changes"
    shown = [("shrinks", f"{row['topic']}: {row['partitions']} to {row['total_count']}") for row in rows[:50]]
    more = [("shrinks", f"and {counted(len(rows) - 50, 'more topic')}")] if len(rows) > 50 else []
    return [*shown, *more, ("note", keyed)] if rows else []
