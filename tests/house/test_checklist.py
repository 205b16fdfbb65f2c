"""The checklist counts what passed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checklist import DUE, REPORT_VARIABLE, ROWS

INI = "[pytest]\nmarkers =\n    checklist(*rows): rows\n"


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """A run of pytest inside the run, with the plugin and nothing else of this project."""
    pytester.makeini(INI)
    pytester.makeconftest('pytest_plugins = ["tests.checklist"]')
    return pytester


def test_rows_of_passed_tests_are_counted_once(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        """
        import pytest

        @pytest.mark.checklist(76, 101)
        def test_one(): pass

        @pytest.mark.checklist(101)
        @pytest.mark.parametrize("case", [1, 2])
        def test_two(case): pass
        """
    )
    inner.runpytest_inprocess().stdout.fnmatch_lines([f"checklist: 2 of {len(DUE)} rows have a test that passed*"])


def test_failed_and_skipped_tests_show_no_row(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        """
        import pytest

        @pytest.fixture
        def broken():
            yield
            raise ValueError

        @pytest.mark.checklist(1)
        def test_failing(): assert False

        @pytest.mark.checklist(2)
        @pytest.mark.skip(reason="no server")
        def test_skipped(): pass

        @pytest.mark.checklist(3)
        def test_teardown_fails(broken): pass

        @pytest.mark.checklist(4)
        @pytest.mark.xfail
        def test_expected_to_fail(): assert False

        @pytest.mark.checklist(5)
        def test_passing(): pass
        """
    )
    inner.runpytest_inprocess().stdout.fnmatch_lines(
        [f"checklist: 1 of {len(DUE)} rows * 4 more are named by tests that did not pass"]
    )


def test_the_rows_without_a_test_are_listed_on_demand(inner: pytest.Pytester) -> None:
    rows = ", ".join(str(row) for row in DUE - {7, 233})
    inner.makepyfile(f"import pytest\n@pytest.mark.checklist({rows})\ndef test_most(): pass")
    inner.runpytest_inprocess("--checklist").stdout.fnmatch_lines(["rows without one: 7, 233"])
    inner.runpytest_inprocess().stdout.no_fnmatch_line("rows without one*")


def test_a_run_without_rows_says_nothing_of_them(inner: pytest.Pytester) -> None:
    """It would look like a failure."""
    inner.makepyfile("def test_one(): pass")
    inner.runpytest_inprocess().stdout.no_fnmatch_line("checklist:*")
    inner.runpytest_inprocess("--checklist").stdout.fnmatch_lines([f"checklist: 0 of {len(DUE)} rows*"])


@pytest.mark.parametrize("arguments", ["0", str(max(ROWS) + 1), "'7'", "", "row=7"])
def test_a_row_that_does_not_exist_stops_the_run(inner: pytest.Pytester, arguments: str) -> None:
    inner.makepyfile(f"import pytest\n@pytest.mark.checklist({arguments})\ndef test_one(): pass")
    result = inner.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*checklist takes rows of conformance.md, got *"])


def test_the_report_of_a_part_holds_counts_and_rows(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "part.json"
    monkeypatch.setenv(REPORT_VARIABLE, str(file))
    inner.makepyfile(
        """
        import pytest

        @pytest.mark.checklist(9)
        def test_passing(): pass

        def test_failing(): assert False

        @pytest.fixture
        def broken(): raise ValueError

        def test_error(broken): pass
        """
    )
    inner.runpytest_inprocess()
    assert json.loads(file.read_text()) == {
        "outcomes": {"passed": 1, "failed": 1, "error": 1, "skipped": 0, "xfailed": 0, "rerun": 0},
        "rows_due": sorted(DUE),
        "rows_open": sorted(ROWS.keys() - DUE),
        "rows_shown": [9],
        "reruns_unknown": [],
    }
