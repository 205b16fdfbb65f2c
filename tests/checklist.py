"""Counts which rows of the conformance page a run shows, and writes the report that scripts/test adds up.

Rules
* The rows stand in `docs/conformance.md`, one line of a table each. One whose last cell says `open` has no test yet.
* `@pytest.mark.checklist(76, 101)` names rows; a row that is not on the page, or no row, stops the run: a typing error
  would otherwise show a row that nothing shows.
* A row is shown by a test that passed in this run. A test that was skipped or failed shows nothing.
* With KEDGE_TEST_REPORT set, the counts and rows go to that file as JSON, so that parts run by separate processes
  can be added up.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "conformance.md"
OPEN: Final = "open"
REPORT_VARIABLE: Final = "KEDGE_TEST_REPORT"
_ROW: Final = re.compile(r"^\| (\d+) \| (.+?) \|(?: (.*?))? \|$")


class Row(NamedTuple):
    """One line of the page: the number that tests name, the point in a sentence, and the tests or `open`."""

    number: int
    sentence: str
    shown_by: str


def row_of(line: str) -> Row | None:
    """The row that stands in a line of the page."""
    found = _ROW.match(line)
    return None if found is None else Row(int(found[1]), found[2], found[3] or "")


ROWS: Final = {row.number: row for line in PAGE.read_text(encoding="utf-8").splitlines() if (row := row_of(line))}
DUE: Final = frozenset(number for number, row in ROWS.items() if row.shown_by != OPEN)


class Checklist:
    """The rows of the collected tests, and what became of them. One per run of pytest."""

    def __init__(self) -> None:
        self._rows_by_test: dict[str, frozenset[int]] = {}
        self._spoiled: set[str] = set()
        self._shown: set[int] = set()
        self._named: set[int] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            rows = [row for marker in item.iter_markers("checklist") for row in _rows(item.nodeid, marker)]
            if rows:
                self._rows_by_test[item.nodeid] = frozenset(rows)

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            self._rows_by_test.pop(item.nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        rows = self._rows_by_test.get(report.nodeid, frozenset())
        self._named |= rows
        # A test that passes and whose teardown fails shows nothing, so the verdict falls with the teardown.
        # What is run once more (tests/reruns.py) is judged by its last run.
        if report.when == "setup":
            self._spoiled.discard(report.nodeid)
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self._spoiled.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._spoiled:
            self._shown |= rows

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        line = f"checklist: {len(self._shown)} of {len(DUE)} rows have a test that passed in this run"
        only_named = self._named - self._shown
        if only_named:
            line += f"; {len(only_named)} more are named by tests that did not pass"
        if self._named or config.getoption("checklist"):  # a part without rows should not look like a failure
            terminalreporter.write_line(line)
        if config.getoption("checklist"):
            missing = sorted(DUE - self._shown)
            terminalreporter.write_line(f"rows without one: {', '.join(map(str, missing)) or 'none'}")
        file = os.environ.get(REPORT_VARIABLE)
        if file:
            reruns = config.pluginmanager.get_plugin("kedge-reruns")
            self._write(Path(file), terminalreporter, [] if reruns is None else reruns.unknown)

    def _write(self, file: Path, terminalreporter: pytest.TerminalReporter, unknown: list[str]) -> None:
        counted = Counter({name: len(reports) for name, reports in terminalreporter.stats.items()})
        outcomes = {name: counted[name] for name in ("passed", "failed", "error", "skipped", "xfailed", "rerun")}
        report = {
            "outcomes": outcomes,
            "rows_due": sorted(DUE),
            "rows_open": sorted(ROWS.keys() - DUE),
            "rows_shown": sorted(self._shown),
            "reruns_unknown": unknown,
        }
        file.write_text(json.dumps(report))


def _rows(nodeid: str, marker: pytest.Mark) -> tuple[int, ...]:
    good = [isinstance(row, int) and row in ROWS for row in marker.args]
    if not good or not all(good) or marker.kwargs:
        raise pytest.UsageError(
            f"{nodeid}: checklist takes rows of {PAGE.name}, got {marker.args} {marker.kwargs or ''}".rstrip()
        )
    return marker.args


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--checklist", action="store_true", help="list the rows of the checklist without a test")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Checklist(), "kedge-checklist")
