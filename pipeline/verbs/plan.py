"""`kedge plan drain`, `add` and so on: a plan of a snapshot, as tables with its name.

Making it again replaces them, and removes the waves of the earlier one. The table `plan` is written last: without it
there is no plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from ...controller.model.plural import counted
from ..cautions import copied_words, of_plan, ratio_words
from ..stages.arrays import Limits
from ..stages.export import chosen_dirs, plan_json
from ..stages.plan import plan, with_added
from ..stages.requests import KINDS, BalanceDisks, Request, settings_of
from ..tables.declared import (
    BROKER_DEFAULT,
    LOG_DIR,
    OF_WAVES,
    PLAN,
    PLAN_LOG_DIR,
    REDUCTION,
    REJECTED_ROWS,
    REPLICA_LOG,
    SNAPSHOT,
    TABLES,
)
from ..tables.files import Place, Wanted, wanted
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

    @property
    def title(self) -> str:
        """As `Verb`."""
        return f"planning {self.name}"

    @property
    def wanted(self) -> Sequence[Wanted]:
        """As `Verb`."""
        more = [BROKER_DEFAULT, LOG_DIR]
        more += [] if self.pages is None else [REJECTED_ROWS]
        more += [REPLICA_LOG] if isinstance(self.request, BalanceDisks) else []
        return *wanted(*SNAPSHOT), *wanted(*more, optional=True)

    def run(self, place: Place, given: Tables, told: Told) -> Said:
        """Exit code 1 if a part of the request is not in the plan."""
        found = plan(given, self.request, name=self.name, told=told, limits=self.limits, ignore_racks=self.ignore_racks)
        if not self.dry_run:
            self._write(place, found)
            if self.plans is not None:
                self.plans.write(place, plan_json(found["plan_move"], dirs=chosen_dirs(found)))
            if self.pages is not None:
                from .page import page_of  # noqa: PLC0415 - needed for pages only

                self.pages.write(place, page_of(place, {**given, **found}))
        return self._say(place, given, found)

    def _write(self, place: Place, found: Tables) -> None:
        for table in (PLAN, *OF_WAVES[::-1], REDUCTION, PLAN_LOG_DIR):
            place.remove(table, self.name)
        for name in sorted(found, key=lambda name: name == "plan"):
            place.write(TABLES[name], found[name], self.name)

    def _say(self, place: Place, given: Tables, found: Tables) -> Said:
        (row,) = found["plan"].to_pylist()
        reasons = reason_counts(found["plan_reason"].column("reason").to_pylist())
        reductions = found["reduction"].to_pylist() if "reduction" in found else []
        brokers = with_added(given, self.request).to_pylist()
        log_dirs = given[LOG_DIR.name].to_pylist() if LOG_DIR.name in given else []
        notes = of_plan(row, brokers, found["plan_load"].to_pylist(), log_dirs)
        more = {"settings": settings_of(row), "reasons": reasons, "reductions": reductions, "notes": notes}
        written = {**place.named, "written": not self.dry_run}
        lines = (
            _rows(row, place, dry_run=self.dry_run) + _reductions(reductions) + reason_rows("refused", "move", reasons)
        )
        lines += [("note", text) for text in notes]
        return Said({**row, **more, **written}, lines, 0 if row["complete"] else 1)


_OF_BROKERS: Final = "a broker has at most {:.4f} times the mean before, {:.4f} times after"
_OF_DISKS: Final = "a directory has at most {:.4f} times the mean of its broker before, {:.4f} times after"


def _rows(row: dict[str, Any], place: Place, *, dry_run: bool) -> list[tuple[str, str]]:
    unwritten = ", not written" if dry_run else ""
    replicas = counted(row["replicas_copied"], "replica")
    within = row["kind"] == KINDS[BalanceDisks]
    copied = f"{replicas} copied{' within brokers' * within}"
    forms = (("bytes", "size", _OF_DISKS if within else _OF_BROKERS), ("leaders", "leaders", _OF_BROKERS))
    return [
        ("plan", f"{row['plan']} of {place.cluster}, snapshot {place.snapshot}{unwritten}"),
        ("changes", f"{counted(row['partitions_changed'], 'partition')}, {copied}"),
        ("copies", copied_words(row)),
        *(
            (f"most {what}", ratio_words(row[f"{column}_max_mean_before"], row[f"{column}_max_mean_after"], form))
            for what, column, form in forms
        ),
    ]


def _reductions(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    keyed = "records of a key may be in two partitions for a while, since the partition of a key changes"
    shown = [("shrinks", f"{row['topic']}: {row['partitions']} to {row['total_count']}") for row in rows[:50]]
    more = [("shrinks", f"and {counted(len(rows) - 50, 'more topic')}")] if len(rows) > 50 else []
    return [*shown, *more, ("note", keyed)] if rows else []
