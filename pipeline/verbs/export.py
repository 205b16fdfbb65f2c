"""`kedge plan export`: a plan and its waves as files for operators and tools, with a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from ...controller.model.plural import counted
from ..amounts import amount
from ..stages.export import export, files
from ..stages.snapshots import check_same
from ..tables.declared import (
    BROKER_DEFAULT,
    LOG_DIR,
    OF_PLAN,
    OF_WAVES,
    PLAN_LOG_DIR,
    REDUCTION,
    REJECTED_ROWS,
    SNAPSHOT,
)
from ..tables.files import Place, Wanted, wanted
from .page import page_of
from .verb import Said, Tables, Told


@attrs.frozen
class Export:
    """Reads a snapshot, the plan `name` and its waves, writes `folder`; with `several` a folder per cluster below
    it. `windows`: in which waves may start."""

    name: str
    folder: Path
    dry_run: bool = False
    several: bool = False
    windows: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"export of {self.name}"

    @property
    def wanted(self) -> Sequence[Wanted]:
        of_plan = wanted(*OF_PLAN, part=self.name)
        of_waves = wanted(REDUCTION, PLAN_LOG_DIR, *OF_WAVES, part=self.name, optional=True)
        return *of_plan, *of_waves, *wanted(REJECTED_ROWS, BROKER_DEFAULT, LOG_DIR, optional=True), *wanted(*SNAPSHOT)

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Raises BadInput if the snapshot was collected again after the plan was made, or the folder holds something
        else."""
        check_same(given)
        if "wave" not in given:  # it is written last: without it the waves are incomplete
            given = {name: rows for name, rows in given.items() if name not in {"wave_move", "wave_throttle"}}
        folder = self.folder / place.cluster if self.several else self.folder
        report = page_of(place.cluster, place.snapshot, given).decode()
        if self.dry_run:
            sizes = {path: len(data) for path, data in files(given, report).items()}
        else:
            if self.several:
                self.folder.mkdir(parents=True, exist_ok=True)
            manifest = export(given, folder, **place.named, report=report, windows=self.windows)
            sizes = {path: entry["bytes"] for path, entry in manifest["files"].items()}
        named = place.named if self.several else {}
        row = {"plan": self.name, **named, "folder": str(folder), "files": sizes, "written": not self.dry_run}
        waves = sum(path.startswith("waves/") for path in sizes)
        unwritten = ", not written" if self.dry_run else ""
        held = f"{counted(len(sizes), 'file')}, {counted(waves, 'wave')}, {amount(sum(sizes.values()))}"
        line = f"{folder}: {held}{unwritten}"
        return Said(row, [("export", line)])
