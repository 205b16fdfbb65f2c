"""The closing tables of scripts/test, from the reports that pytest writes in JUnit's format, and coverage's JSON."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

COVERED_PERCENT_MIN = 90.0
# A package or a module, with a floor for lines and one for branches: coverage.py's own total adds both, and lines are
# many and easily covered.
ROOMS = (
    *("controller/audit", "controller/rules", "controller/machine", "controller/state"),
    *("pipeline/collect", "pipeline/kernel", "pipeline/stages", "pipeline/tables", "stores"),
)
CONFORMANCE = Path(__file__).resolve().parent.parent / "docs" / "conformance.md"


@dataclass
class Step:
    """Something that the run does, with its outcome."""

    name: str
    seconds: float = 0.0
    failed: bool = False
    note: str = ""


class Case(NamedTuple):
    """One test of a report. `rows`: the rows of the conformance page that it shows."""

    name: str
    part: str
    seconds: float
    outcome: str
    reason: str
    rows: frozenset[int]


def cases(report: Path) -> Iterator[Case]:
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        end = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
        outcome = "passed" if end is None else "skipped" if end.tag == "skipped" else "failed"
        reason = "" if end is None else (end.get("message") or "").partition("\n")[0]
        module = case.get("classname", "")
        rows = frozenset(
            int(each.get("value", "0")) for each in case.iter("property") if each.get("name") == "checklist"
        )
        parts = [*module.split("."), "", ""]
        yield Case(f"{module}::{case.get('name')}", parts[1], float(case.get("time", "0")), outcome, reason, rows)


def closing(steps: Sequence[Step], reports: Sequence[Path], left_out: Mapping[str, str], elapsed_s: float) -> str:
    """The tables, and the closing line: `N passed, N failed`."""
    found = [case for report in reports for case in cases(report)]
    outcomes = Counter(case.outcome for case in found)
    skipped = Counter(case.reason for case in found if case.outcome == "skipped")
    failed = [step.name for step in steps if step.failed]
    lines = [
        *("", *_parts(found), "", "slowest tests:"),
        *(f"{case.seconds:8.1f}  {case.name}" for case in sorted(found, key=lambda case: -case.seconds)[:10]),
        *("", *_steps(steps, elapsed_s), ""),
        *(f"left out: {name}: {reason}" for name, reason in left_out.items()),
        *(f"skipped: {count} x {reason}" for reason, count in skipped.most_common()),
        _conformance(found),
        f"failed: {', '.join(failed)}" if failed else "every check passed",
        f"{outcomes['passed']} passed, {outcomes['failed']} failed"
        + (f", {outcomes['skipped']} skipped" if skipped else ""),
    ]
    return "\n".join(lines)


def _conformance(found: Sequence[Case]) -> str:
    shown = frozenset[int]().union(*(case.rows for case in found if case.outcome == "passed"))
    rows = re.findall(r"^\| \d+ \|", CONFORMANCE.read_text(encoding="utf-8"), re.MULTILINE)
    return f"docs/conformance.md: {len(shown)} of {len(rows)} rows have a test that passed in this run"


def _parts(found: Sequence[Case]) -> list[str]:
    """The tests of each folder, and their seconds."""
    parts: dict[str, list[Case]] = defaultdict(list)
    for case in found:
        parts[case.part].append(case)
    seconds = {name: sum(case.seconds for case in part) for name, part in parts.items()}
    width = max(map(len, parts), default=4)
    return [
        f"{'part':<{width}}  tests  seconds of one worker",
        *(
            f"{name:<{width}}  {len(parts[name]):5}  {took:7.1f}"
            for name, took in sorted(seconds.items(), key=lambda part: -part[1])
        ),
    ]


def _steps(steps: Sequence[Step], elapsed_s: float) -> list[str]:
    """`elapsed_s`: of the whole run, whose first steps are done two at a time."""
    width = max(len(step.name) for step in steps)
    rows = [f"{'step':<{width}}  seconds  outcome"]
    for step in steps:
        outcome = "failed" if step.failed else "passed"
        rows.append(f"{step.name:<{width}}  {step.seconds:7.1f}  {outcome}  {step.note}".rstrip())
    return [*rows, f"{'elapsed':<{width}}  {elapsed_s:7.1f}"]


def rooms(file: Path) -> tuple[str, bool]:
    """The coverage of each of ROOMS, and whether one is below its floor."""
    files = json.loads(file.read_text())["files"]
    lines, failed = [f"{'room':<18}  files  lines %  branches %  (each at least {COVERED_PERCENT_MIN:g})"], False
    for room in ROOMS:
        found = [f["summary"] for path, f in files.items() if path == f"{room}.py" or fnmatch(path, f"{room}/*.py")]
        covered = _percent(found, "covered_lines", "num_statements")
        branches = _percent(found, "covered_branches", "num_branches")
        below = not found or min(covered, branches) < COVERED_PERCENT_MIN
        failed = failed or below
        lines.append(f"{room:<18}  {len(found):5}  {covered:7.1f}  {branches:10.1f}  {'below' * below}".rstrip())
    return "\n".join(lines), failed


def _percent(summaries: Sequence[Mapping[str, int]], done: str, possible: str) -> float:
    """100 where nothing is to be covered."""
    total = sum(each[possible] for each in summaries)
    return 100.0 * sum(each[done] for each in summaries) / total if total else 100.0
