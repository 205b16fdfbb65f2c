"""Only tests that depend on timing run again, and a rerun fails the run unless the ledger names the test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checklist import REPORT_VARIABLE
from tests.reruns import LEDGER, Known, ledger

MARKERS = "[pytest]\nmarkers =\n    timing(reason): t\n    slow: s\n    server: s\n    checklist(*rows): c\n"
LATE = """
import pytest

runs = [0]

@pytest.mark.checklist(7)
@pytest.mark.timing("A process is killed.")
def test_late():
    runs[0] += 1
    assert runs[0] > 1, "too late"
"""
ENTRY = '[[rerun]]\ntests = "{tests}"\nknown = "{known}"\nsince = "{since}"\n'
GOOD = {"tests": "test_one.py::test_*", "known": "It is slow.", "since": "2026-11-22"}


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(MARKERS)
    pytester.makeconftest('pytest_plugins = ["tests.checklist", "tests.reruns"]')
    return pytester


def with_ledger(inner: pytest.Pytester, text: str) -> pytest.RunResult:
    file = inner.path / "reruns.toml"
    file.write_text(text)
    return inner.runpytest_inprocess(f"--rerun-ledger={file}")


def test_a_rerun_that_the_ledger_does_not_name_fails_the_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test itself is judged by its last run, and all runs are printed."""
    file = inner.path / "report.json"
    monkeypatch.setenv(REPORT_VARIABLE, str(file))
    inner.makepyfile(test_one=LATE)
    result = with_ledger(inner, "")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*failed, and run again: *test_late*", "*AssertionError: too late*"])
    result.stdout.fnmatch_lines(["run again: test_one.py::test_late: FAILED: not in reruns.toml"])
    written = json.loads(file.read_text())
    assert (written["outcomes"]["rerun"], written["rows_shown"]) == (1, [7])
    assert written["reruns_unknown"] == ["test_one.py::test_late"]


def test_a_rerun_that_the_ledger_names_is_counted_and_printed(inner: pytest.Pytester) -> None:
    inner.makepyfile(test_one=LATE)
    result = with_ledger(inner, ENTRY.format(**GOOD))
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["run again: test_one.py::test_late: known since 2026-11-22: It is slow.", "*1 rerun*"])


def test_what_is_slow_or_needs_a_server_is_not_run_again(inner: pytest.Pytester) -> None:
    inner.makepyfile("import pytest\n@pytest.mark.slow\n@pytest.mark.server\ndef test_broken(): assert False")
    result = with_ledger(inner, "")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*run again*")


def test_a_test_that_always_fails_is_run_three_times_and_fails(inner: pytest.Pytester) -> None:
    inner.makepyfile(test_one='import pytest\n@pytest.mark.timing("Why.")\ndef test_broken(): assert False')
    result = with_ledger(inner, ENTRY.format(**GOOD))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"failed": 1, "rerun": 2}


@pytest.mark.parametrize("arguments", ["", "''", "' '", "'a', 'b'", "reason='a'"])
def test_a_timing_marker_without_a_reason_stops_the_run(inner: pytest.Pytester, arguments: str) -> None:
    inner.makepyfile(f"import pytest\n@pytest.mark.timing({arguments})\ndef test_one(): pass")
    result = inner.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*timing takes the reason in one sentence*"])


@pytest.mark.parametrize(
    "text",
    [
        "[[rerun",
        ENTRY.format(**GOOD | {"known": ""}),
        ENTRY.format(**GOOD | {"since": "lately"}),
        ENTRY.format(**GOOD) + "until = 1",
        '[[rerun]]\ntests = "*"',
    ],
)
def test_a_ledger_that_cannot_be_read_stops_the_run(tmp_path: Path, text: str) -> None:
    file = tmp_path / "reruns.toml"
    file.write_text(text)
    with pytest.raises(pytest.UsageError, match=r"reruns\.toml: "):
        ledger(file)


def test_the_brackets_of_a_parametrized_test_are_taken_as_they_are() -> None:
    assert Known(**GOOD | {"tests": "a.py::test_b[zookeeper]"}).covers("a.py::test_b[zookeeper]")
    assert not Known(**GOOD | {"tests": "a.py::test_b[zookeeper]"}).covers("a.py::test_bz")


def test_the_ledger_names_files_that_there_are() -> None:
    checkout = Path(__file__).resolve().parents[2]
    for entry in ledger(LEDGER):
        assert list(checkout.glob(entry.tests.partition("::")[0])), entry
