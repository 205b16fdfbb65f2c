"""`kedge plan waves`: which parts of a plan are copied at the same time, their rates, and their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from ...controller.model.plural import counted
from ..amounts import duration
from ..cautions import of_capacities, of_waves, size_words, too_long
from ..stages.added import with_planned
from ..stages.waves import WaveSettings, waves
from ..tables.declared import BROKER_DEFAULT, BROKER_LOAD, OF_WAVES, PLAN, PLAN_MOVE, SNAPSHOT, WAVE
from ..tables.files import Place, Wanted, wanted
from .saying import reason_counts, reason_rows
from .verb import Said, Tables, Told


@attrs.frozen
class Waves:
    """Reads a snapshot and the plan `name`, writes its waves; the table `wave` last, since without it they are
    incomplete. `named`: the JSON output names cluster and snapshot."""

    name: str
    settings: WaveSettings
    dry_run: bool = False
    named: bool = False

    @property
    def title(self) -> str:
        return f"waves of {self.name}"

    @property
    def wanted(self) -> Sequence[Wanted]:
        of_plan = wanted(PLAN, PLAN_MOVE, part=self.name)
        return *of_plan, *wanted(*SNAPSHOT), *wanted(BROKER_LOAD, BROKER_DEFAULT, optional=True)

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if a move is in no wave, or a wave takes unreasonably long."""
        found = waves(given, self.name, self.settings)
        if not self.dry_run:
            place.remove(WAVE, self.name)
            for table in OF_WAVES:
                place.write(table, found[table.name], self.name)
        listed = found["wave"].to_pylist()
        reasons = reason_counts(found["wave_reason"].column("reason").to_pylist())
        named = place.named if self.named else {}
        notes = of_waves(listed)
        if listed:
            notes += of_capacities(with_planned(given).to_pylist(), networks=self.settings.throttle_bps is None)
        made = {"waves": listed, "reasons": reasons, "notes": notes, "written": not self.dry_run}
        shown = [(f"wave {row['wave']}", wave_words(row)) for row in listed]
        lines = [*shown, *reason_rows("refused", "move", reasons), *(("note", text) for text in notes), _total(listed)]
        return Said({"plan": self.name, **named, **made}, lines, 1 if reasons or too_long(listed) else 0)


def wave_words(row: dict[str, Any]) -> str:
    """A row of the table wave as text."""
    peak = "" if row["peak_disk_share"] is None else f", fullest disk {row['peak_disk_share']:.1%}"
    what = f"{counted(row['partitions'], 'partition')}, {counted(row['copies'], 'copy')}"
    return f"{what}, {size_words(row['bytes'])}{peak}{_eta(row)}"


def _eta(row: dict[str, Any]) -> str:
    if row["unsized"]:
        return ", time not known"
    if row["eta_s"] is None:
        return ", not throttled"
    return f", {duration(row['eta_s'])} ({duration(row['eta_low_s'])} to {duration(row['eta_high_s'])})"


def _total(listed: list[dict[str, Any]]) -> tuple[str, str]:
    times = [row["eta_s"] for row in listed]
    whole = "" if None in times or not times else f" in {duration(sum(times))}"
    known = [row["bytes"] for row in listed if row["bytes"] is not None]
    size = size_words(sum(known) if known or not listed else None)
    return "in all", f"{counted(len(listed), 'wave')} with {size}{whole}"
