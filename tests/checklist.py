"""Counts which rows of the checklist a run shows, and writes the report that scripts/test adds up.

Rules
* `@pytest.mark.checklist(76, 101)` names rows; a row outside 1..ROWS_TOTAL, or no row, stops the run: a typing error
  would otherwise show a row that nothing shows.
* A row is shown by a test that passed in this run. A test that was skipped or failed shows nothing.
* With KEDGE_TEST_REPORT set, the counts and rows go to that file as JSON, so that parts run by separate processes
  can be added up.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

# The rows stand in shared/spec/checklist.md beside the checkout, which a user does not have; so the number stands here.
ROWS_TOTAL: Final = 275
# Rows above this one describe work that has only begun: they are counted apart.
ROWS_DUE: Final = 233
REPORT_VARIABLE: Final = "KEDGE_TEST_REPORT"


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
        later = sum(row > ROWS_DUE for row in self._shown)
        line = f"checklist: {len(self._shown) - later} of {ROWS_DUE} rows have a test that passed in this run"
        if later:
            line += f", and {later} of {ROWS_DUE + 1}-{ROWS_TOTAL}, which are not due yet"
        only_named = self._named - self._shown
        if only_named:
            line += f"; {len(only_named)} more are named by tests that did not pass"
        if self._named or config.getoption("checklist"):  # a part without rows should not look like a failure
            terminalreporter.write_line(line)
        if config.getoption("checklist"):
            missing = sorted(set(range(1, ROWS_DUE + 1)) - self._shown)
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
            "rows_due": ROWS_DUE,
            "rows_total": ROWS_TOTAL,
            "rows_shown": sorted(self._shown),
            "reruns_unknown": unknown,
        }
        file.write_text(json.dumps(report))


def _rows(nodeid: str, marker: pytest.Mark) -> tuple[int, ...]:
    good = [isinstance(row, int) and 1 <= row <= ROWS_TOTAL for row in marker.args]
    if not good or not all(good) or marker.kwargs:
        raise pytest.UsageError(
            f"{nodeid}: checklist takes rows from 1 to {ROWS_TOTAL}, got {marker.args} {marker.kwargs or ''}".rstrip()
        )
    return marker.args


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--checklist", action="store_true", help="list the rows of the checklist without a test")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Checklist(), "kedge-checklist")
