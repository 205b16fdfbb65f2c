"""What scripts/test prints and decides from the reports of its parts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import checks
import pytest
import report

CHECKOUT = Path(__file__).resolve().parents[2]


def room(lines: tuple[int, int], branches: tuple[int, int], *, files: int = 1) -> report.Room:
    return report.Room("stores", files, lines, branches)


@pytest.mark.parametrize(
    "measured,failed",
    [
        (room((90, 100), (9, 10)), False),
        (room((100, 100), (89, 100)), True),
        (room((89, 100), (10, 10)), True),
        (room((10, 10), (0, 0)), False),
        (room((0, 0), (0, 0), files=0), True),
    ],
    ids=["at the floor", "few branches", "few lines", "no branch", "not measured"],
)
def test_a_room_is_held_by_lines_and_by_branches(measured: report.Room, failed: bool) -> None:
    assert measured.failed is failed


def test_a_room_is_a_package_or_a_module(tmp_path: Path) -> None:
    """Coverage of controller/machine is found whether it is one file or a folder; controller/machines is another."""
    summary = {"covered_lines": 4, "num_statements": 5, "covered_branches": 1, "num_branches": 2}
    paths = ["controller/machine.py", "controller/machines.py", "controller/state/rows/packed.py"]
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"files": {path: {"summary": summary} for path in paths}}))
    found = {room.name: room for room in report.read_rooms(file)}
    assert found["controller/machine"] == report.Room("controller/machine", 1, (4, 5), (1, 2))
    assert found["controller/state"].files == 1
    assert found["controller/rules"].failed


def test_errors_count_as_failed_in_the_closing_line() -> None:
    assert report.counts({"passed": 3, "failed": 1, "error": 1, "skipped": 2, "xfailed": 0}) == (
        "3 passed, 2 failed, 2 skipped"
    )


def test_a_row_shown_in_two_parts_counts_once() -> None:
    parts = [report.Part({}, 9, frozenset({1, 2})), report.Part({}, 9, frozenset({2, 6}))]
    assert report.checklist_lines(parts, listed=True) == [
        "checklist: 3 of 9 rows have a test that passed in this run",
        "rows without one: 3-5, 7-9",
    ]


@pytest.mark.parametrize("content", ["", "{", None])
def test_a_part_that_left_no_report_has_none(tmp_path: Path, content: str | None) -> None:
    """The caller counts such a part as failed: pytest may have been killed after it printed its last dot."""
    file = tmp_path / "part.json"
    if content is not None:
        file.write_text(content)
    assert report.read_part(file) is None


def test_every_test_file_is_in_a_part() -> None:
    """A test file that lies in no folder of tests/ would be run by nobody."""
    files = {str(file.relative_to(CHECKOUT)) for file in (CHECKOUT / "tests").rglob("test_*.py")}
    assert {file for file in files if not file.startswith(tuple(f"{part}/" for part in checks.parts()))} == set()


def test_what_is_ordered_and_traced_by_name_is_there() -> None:
    """A folder that is renamed would lose its place, or its room its floor, without a word."""
    assert {f"tests/{name}" for name in (*checks.ORDER, *checks.TRACED)} <= set(checks.parts())


def test_containers_that_cannot_be_had_are_named_as_not_run_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is no failure, and not silent either: it stands in the output and in the closing table."""
    (tmp_path / "none.py").write_text("import sys; sys.exit('no containers: no engine')")
    (tmp_path / "some.py").write_text("print('run by one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = checks.Run(Path(sys.executable), tmp_path)
    for name in ("none", "some"):
        monkeypatch.setattr(checks, "CONTAINERS", [name])
        checks.find_containers(run)
    assert [(step.name, step.failed) for step in run.steps] == [("containers", False)] * 2
    assert run.steps[0].note.startswith("NOT RUN: the bindings zookeeper-in-container and etcd-in-container")
    assert run.steps[0].note.endswith("no containers: no engine")
    assert run.steps[1].note == "run by one"
    assert "no engine" in capsys.readouterr().out


def test_a_server_that_is_missing_fails_by_name_and_says_how_to_go_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without servers that nobody asked for is not green, whatever the tests say that can be run."""
    monkeypatch.setattr(checks, "SERVERS", {"one": ["this"], "none": ["no_such_module"]})
    run = checks.Run(Path(sys.executable), tmp_path)
    assert not checks.find_servers(run)
    assert [(step.name, step.failed) for step in run.steps] == [("server one", False), ("server none", True)]
    assert "--no-servers" in run.steps[1].note
