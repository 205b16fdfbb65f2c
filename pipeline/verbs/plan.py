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
from ..errors import BadInput, NotFound
from ..stages.arrays import Limits
from ..stages.choice import Choice
from ..stages.export import plan_json
from ..stages.plan import plan, with_added
from ..stages.requests import Request, Undo, settings_of
from ..tables.arrow import Arrow
from ..tables.declared import (
    BROKER_DEFAULT,
    OF_WAVES,
    PARTITION,
    PLAN,
    PLAN_MOVE,
    REDUCTION,
    REJECTED_ROWS,
    SNAPSHOT,
    TABLES,
)
from ..tables.files import Place, Wanted, find_snapshots, wanted
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
        more = (BROKER_DEFAULT,) if self.pages is None else (BROKER_DEFAULT, REJECTED_ROWS)
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
            self._write(place, found)
            if self.plans is not None:
                self.plans.write(place, plan_json(found["plan_move"]))
            if self.pages is not None:
                from .page import page_of  # noqa: PLC0415 - needed for pages only

                self.pages.write(place, page_of(place, {**given, **found}))
        return self._say(place, given, found)

    def _write(self, place: Place, found: Tables) -> None:
        for table in (PLAN, *OF_WAVES[::-1], REDUCTION):
            place.remove(table, self.name)
        for name in sorted(found, key=lambda name: name == "plan"):
            place.write(TABLES[name], found[name], self.name)

    def _say(self, place: Place, given: Tables, found: Tables) -> Said:
        (row,) = found["plan"].to_pylist()
        reasons = reason_counts(found["plan_reason"].column("reason").to_pylist())
        reductions = found["reduction"].to_pylist() if "reduction" in found else []
        brokers = with_added(given, self.request).to_pylist()
        notes = of_plan(row, brokers, found["plan_load"].to_pylist())
        more = {"settings": settings_of(row), "reasons": reasons, "reductions": reductions, "notes": notes}
        written = {**place.named, "written": not self.dry_run}
        lines = (
            _rows(row, place, dry_run=self.dry_run) + _reductions(reductions) + reason_rows("refused", "move", reasons)
        )
        lines += [("note", text) for text in notes]
        return Said({**row, **more, **written}, lines, 0 if row["complete"] else 1)


def _moves(place: Place, name: str) -> Arrow:
    """What the plan changed: of the last snapshot that has it, up to the one at `place`."""
    if place.root.in_spark:
        raise BadInput(f"{place.root}: plans are undone only where tables are files that Spark is not needed for")
    earlier = find_snapshots(place.root, PARTITION, place.cluster)
    planned = [one for one in earlier if one.snapshot <= place.snapshot and one.has(PLAN, name)]
    if not planned:
        raise NotFound(f"no plan {name} of cluster {place.cluster} in any snapshot up to {place.snapshot}")
    return planned[-1].read(PLAN_MOVE, name)


_TIMES: Final = "a broker has at most {:.4f} times the mean before, {:.4f} times after"


def _rows(row: dict[str, Any], place: Place, *, dry_run: bool) -> list[tuple[str, str]]:
    unwritten = ", not written" if dry_run else ""
    replicas = counted(row["replicas_copied"], "replica")
    return [
        ("plan", f"{row['plan']} of {place.cluster}, snapshot {place.snapshot}{unwritten}"),
        ("changes", f"{counted(row['partitions_changed'], 'partition')}, {replicas} copied"),
        ("copies", copied_words(row)),
        *(
            (f"most {what}", ratio_words(row[f"{column}_max_mean_before"], row[f"{column}_max_mean_after"], _TIMES))
            for what, column in (("bytes", "size"), ("leaders", "leaders"))
        ),
    ]


def _reductions(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    keyed = "records of a key may be in two partitions for a while, since the partition of a key changes"
    shown = [("shrinks", f"{row['topic']}: {row['partitions']} to {row['total_count']}") for row in rows[:50]]
    more = [("shrinks", f"and {counted(len(rows) - 50, 'more topic')}")] if len(rows) > 50 else []
    return [*shown, *more, ("note", keyed)] if rows else []
