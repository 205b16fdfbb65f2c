"""What the closing tables of scripts/test say, and where they read it.

A part's report is the JSON that tests/checklist.py writes: counts per outcome, and the rows of the conformance page by
what became of their tests. Coverage is the JSON of coverage.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

COVERED_PERCENT_MIN = 90.0
# A room is a package or a module of that name; with `*`, fnmatch crosses folders.
ROOMS = (
    "controller/audit",
    "controller/rules",
    "controller/machine",
    "controller/state",
    "pipeline/collect",
    "pipeline/kernel",
    "pipeline/stages",
    "pipeline/tables",
    "stores",
)
OTHERS = ("skipped", "xfailed", "rerun")


@dataclass
class Step:
    name: str
    seconds: float = 0.0
    failed: bool = False
    note: str = ""


@dataclass(frozen=True)
class Part:
    """`rows_due`: the rows of the conformance page that have tests; `rows_open`: those that have none yet."""

    outcomes: Mapping[str, int]
    rows_due: frozenset[int]
    rows_open: frozenset[int]
    rows_shown: frozenset[int]
    reruns_unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Room:
    """Covered and possible lines and branches of the files of a room."""

    name: str
    files: int = 0
    lines: tuple[int, int] = (0, 0)
    branches: tuple[int, int] = (0, 0)

    @property
    def failed(self) -> bool:
        """True when either figure is below the floor, or no file of the room was seen.

        Lines and branches are held apart: coverage.py's own total adds them, and lines are many and easily covered.
        """
        return not self.files or min(percent(self.lines), percent(self.branches)) < COVERED_PERCENT_MIN


def percent(covered: tuple[int, int]) -> float:
    """Of no branches all are covered."""
    done, possible = covered
    return 100.0 * done / possible if possible else 100.0


def read_part(file: Path) -> Part | None:
    try:
        data = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    due, left, shown = (frozenset(data[f"rows_{name}"]) for name in ("due", "open", "shown"))
    return Part(data["outcomes"], due, left, shown, tuple(data["reruns_unknown"]))


def read_rooms(file: Path) -> list[Room]:
    files = json.loads(file.read_text())["files"]
    rooms = []
    for name in ROOMS:
        found = [entry["summary"] for path, entry in files.items() if _in_room(path, name)]
        lines = (_sum(found, "covered_lines"), _sum(found, "num_statements"))
        branches = (_sum(found, "covered_branches"), _sum(found, "num_branches"))
        rooms.append(Room(name, len(found), lines, branches))
    return rooms


def _in_room(path: str, room: str) -> bool:
    return path == f"{room}.py" or fnmatch(path, f"{room}/*.py")


def _sum(summaries: Sequence[Mapping[str, int]], name: str) -> int:
    return sum(summary[name] for summary in summaries)


def step_table(steps: Sequence[Step], elapsed_s: float) -> list[str]:
    """`elapsed_s`: of the whole run, whose steps are partly done at once."""
    width = max(len(step.name) for step in steps)
    rows = [f"{'part':<{width}}  seconds  outcome"]
    for step in steps:
        outcome = "failed" if step.failed else "passed"
        rows.append(f"{step.name:<{width}}  {step.seconds:7.1f}  {outcome}  {step.note}".rstrip())
    rows.append(f"{'elapsed':<{width}}  {elapsed_s:7.1f}")
    return rows


def room_table(rooms: Sequence[Room]) -> list[str]:
    width = max(len(room.name) for room in rooms)
    rows = [f"{'room':<{width}}  files  lines %  branches %  (each at least {COVERED_PERCENT_MIN:g})"]
    for room in rooms:
        if not room.files:
            rows.append(f"{room.name:<{width}}  below: no test imports it")
            continue
        figures = f"{room.files:5}  {percent(room.lines):7.1f}  {percent(room.branches):10.1f}"
        rows.append(f"{room.name:<{width}}  {figures}  {'below' if room.failed else ''}".rstrip())
    return rows


def checklist_lines(parts: Sequence[Part], *, listed: bool) -> list[str]:
    if not parts:
        return []
    due, left = parts[0].rows_due, parts[0].rows_open
    shown = frozenset[int]().union(*(part.rows_shown for part in parts))
    passed = f"{len(shown & due)} of {len(due)} rows have a test that passed in this run"
    lines = [f"checklist: {passed}; {len(left)} are open"]
    if listed:
        lines.append(f"rows without one: {ranges(due - shown)}")
        lines.append(f"rows that are open: {ranges(left)}")
    return lines


def ranges(rows: frozenset[int]) -> str:
    """`1-3, 7` for {1, 2, 3, 7}; `none` for no rows."""
    spans: list[tuple[int, int]] = []
    for row in sorted(rows):
        if spans and row == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], row)
        else:
            spans.append((row, row))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans) or "none"


def counts(outcomes: Mapping[str, int]) -> str:
    """`12 passed, 0 failed, 3 skipped`: the first two always, errors are failed, the others where they occur."""
    failed = outcomes.get("failed", 0) + outcomes.get("error", 0)
    others = [f"{number} {name}" for name, number in sorted(outcomes.items()) if name in OTHERS and number]
    return ", ".join([f"{outcomes.get('passed', 0)} passed", f"{failed} failed", *others])
