"""Further runs of tests that depend on the timing of real processes, and the ledger of those that needed one.

Rules
* Only a test marked `@pytest.mark.timing("reason")` is run again when it fails, at most twice. A marker without a
  reason stops the run.
* A rerun fails the run, even when the test passed in the end, unless the ledger `reruns.toml` names the test and says
  what is known about it. Every rerun is printed and counted either way.
* An entry of the ledger without one of its fields, or with others, stops the run.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import attrs
import pytest

RERUNS: Final = 2
LEDGER: Final = Path(__file__).with_name("reruns.toml")
_OPTION: Final = "rerun_ledger"


@attrs.frozen(kw_only=True)
class Known:
    """`tests`: a test id; `*` and `?` stand for what they do in file names. `since`: a date."""

    tests: str = attrs.field(validator=attrs.validators.instance_of(str))
    known: str = attrs.field(validator=attrs.validators.min_len(1))
    since: str = attrs.field(validator=attrs.validators.matches_re(r"\d{4}-\d\d-\d\d"))

    def covers(self, nodeid: str) -> bool:
        """Whether the entry is about this test. The brackets of a parametrized test are letters like others."""
        return fnmatchcase(nodeid, self.tests.replace("[", "[[]"))


def ledger(file: Path) -> tuple[Known, ...]:
    """The entries of a ledger. Raises pytest.UsageError."""
    try:
        return tuple(Known(**entry) for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("rerun", []))
    except (OSError, ValueError, TypeError) as error:
        raise pytest.UsageError(f"{file}: {error}") from error


class Reruns:
    """The tests that were run again. One per run of pytest."""

    def __init__(self, known: tuple[Known, ...]) -> None:
        self._known = known
        self._seen: dict[str, Known | None] = {}

    @property
    def unknown(self) -> list[str]:
        """The tests that were run again and that the ledger does not name."""
        return [nodeid for nodeid, entry in self._seen.items() if entry is None]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            markers = list(item.iter_markers("timing"))
            for marker in markers:
                _check(item.nodeid, marker)
            if markers:
                item.add_marker(pytest.mark.flaky(reruns=RERUNS))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: str = report.outcome  # pytest-rerunfailures has one more than pytest
        if outcome == "rerun":
            self._seen[report.nodeid] = next((entry for entry in self._known if entry.covers(report.nodeid)), None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.unknown and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in terminalreporter.getreports("rerun"):
            terminalreporter.section(f"failed, and run again: {report.nodeid}", sep="_")
            report.toterminal(terminalreporter._tw)  # noqa: SLF001 - as pytest itself prints what failed
        for nodeid, entry in self._seen.items():
            why = f"known since {entry.since}: {entry.known}" if entry else f"FAILED: not in {LEDGER.name}"
            terminalreporter.write_line(f"run again: {nodeid}: {why}")


def _check(nodeid: str, marker: pytest.Mark) -> None:
    if marker.kwargs or len(marker.args) != 1 or not str(marker.args[0]).strip():
        raise pytest.UsageError(f"{nodeid}: timing takes the reason in one sentence, got {marker.args or 'nothing'}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rerun-ledger",
        dest=_OPTION,
        type=Path,
        default=LEDGER,
        help=f"Ledger of known reruns (default: tests/{LEDGER.name}).",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Reruns(ledger(config.getoption(_OPTION))), "kedge-reruns")
