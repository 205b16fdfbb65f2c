"""What scripts/test prints and decides from the reports of its parts."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import checks
import environment
import needs
import pytest
import pythons
import report
import steps

from tests import kafka_jars, lake_jars, left_out
from tests.browser import chromium
from tests.clients import machine

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
    due, left = frozenset(range(1, 10)), frozenset({10, 12})
    parts = [report.Part({}, due, left, frozenset({1, 2})), report.Part({}, due, left, frozenset({2, 6}))]
    assert report.checklist_lines(parts, listed=True) == [
        "checklist: 3 of 9 rows have a test that passed in this run; 2 are open",
        "rows without one: 3-5, 7-9",
        "rows that are open: 10, 12",
    ]


@pytest.mark.parametrize("content", ["", "{", None])
def test_a_part_that_left_no_report_has_none(tmp_path: Path, content: str | None) -> None:
    """The caller counts such a part as failed: pytest may have been killed after it printed its last dot."""
    file = tmp_path / "part.json"
    if content is not None:
        file.write_text(content)
    assert report.read_part(file) is None


def test_every_test_file_is_in_a_part() -> None:
    """A test file that lies in no folder of tests/ would never run."""
    files = {str(file.relative_to(CHECKOUT)) for file in (CHECKOUT / "tests").rglob("test_*.py")}
    assert {file for file in files if not file.startswith(tuple(f"{part}/" for part in checks.parts()))} == set()


def test_what_is_ordered_and_traced_by_name_is_there() -> None:
    """A folder that is renamed would lose its place, or its room its floor, without a word."""
    assert {f"tests/{name}" for name in (*checks.ORDER, *checks.TRACED)} <= set(checks.parts())


def test_places_that_cannot_be_had_are_named_as_not_run_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is no failure, and not silent either: it is in the output and in the closing table."""
    (tmp_path / "none.py").write_text("import sys; sys.exit('no containers: no engine')")
    (tmp_path / "some.py").write_text("print('run by one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(needs, "PLACES", {name: ([name], "some tests") for name in ("none", "some")})
    run = steps.Run(Path(sys.executable), tmp_path)
    needs.find_places(run)
    assert [(step.name, step.failed, step.note) for step in run.steps] == [
        ("none", False, "NOT RUN: some tests: no containers: no engine"),
        ("some", False, "run by one"),
    ]
    assert "no engine" in capsys.readouterr().out


def test_a_server_that_is_missing_fails_by_name_and_says_how_to_go_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without servers that was not requested is not green, whatever the tests say that can be run."""
    monkeypatch.setattr(needs, "SERVERS", {"one": ["this"], "none": ["no_such_module"]})
    run = steps.Run(Path(sys.executable), tmp_path)
    assert not needs.find_servers(run)
    assert [(step.name, step.failed) for step in run.steps] == [("server one", False), ("server none", True)]
    assert "--no-servers" in run.steps[1].note


def test_programs_that_are_missing_leave_out_their_own_tests_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of clients in Go that cannot be built here, nothing else is left out, and the run passes."""
    (tmp_path / "none.py").write_text("import sys; sys.exit('there is no go on the PATH')")
    (tmp_path / "some.py").write_text("print('a browser')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(needs, "FAMILIES", {"go": ["none"], "browser": ["some"]})
    run = steps.Run(Path(sys.executable), tmp_path)
    needs.find_families(run)
    assert [(step.name, step.failed, step.note) for step in run.steps] == [
        ("programs go", False, "NOT RUN: the tests that need go: there is no go on the PATH"),
        ("programs browser", False, ""),
    ]
    assert run.left_out == ["go"]
    monkeypatch.setenv(left_out.VARIABLE, " ".join(run.left_out))
    with pytest.raises(pytest.skip.Exception, match="go is missing"):
        machine.in_go()
    assert "a browser" in capsys.readouterr().out


def test_every_family_that_may_be_missing_is_asked_for_by_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that no test's program belongs to would be left out by name only, and its tests would fail."""
    monkeypatch.setenv(left_out.VARIABLE, " ".join(needs.FAMILIES))
    uses = {"browser": chromium, "kafka": kafka_jars.kafka_classpath, "node": machine.kafkajs, "go": machine.in_go}
    uses["lakes"] = lake_jars.lakes
    assert set(uses) == set(needs.FAMILIES)
    for family, use in uses.items():
        with pytest.raises(pytest.skip.Exception, match=f"{family} is missing"):
            use()


@pytest.mark.checklist(275)
def test_other_pythons_run_the_fast_tests_and_one_without_an_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepared(_: str, version: str) -> Path:
        if version == "3.99.0":
            raise environment.InstallFailed("no wheel\nfailed with exit code 1: pip install")
        return Path(sys.executable)

    own = "{}.{}.0".format(*sys.version_info)  # all tests run on another release of it
    versions = (own, "3.98.4", "3.99.0")
    monkeypatch.setattr(pythons, "found", lambda: dict.fromkeys(versions, sys.executable))
    monkeypatch.setattr(environment, "prepare_fast", prepared)
    run = steps.Run(Path(sys.executable), tmp_path)
    assert needs.find_pythons(run) == {"python 3.98.4": Path(sys.executable)}
    assert [(step.name, step.failed) for step in run.steps] == [
        ("environment 3.98.4", False),
        ("environment 3.99.0", False),
    ]
    assert run.steps[1].note == "NOT RUN: the fast tests on Python 3.99.0: failed with exit code 1: pip install"


def test_what_reads_pages_and_sources_runs_on_one_python() -> None:
    left_out = {part.removeprefix("--ignore=") for part in checks.FAST if part.startswith("--ignore=")}
    assert left_out == {"tests/docs", "tests/house"}
    assert left_out < set(checks.parts())


@pytest.mark.parametrize("own", ["3.12.4", "3.12.10"])
def test_the_oldest_release_of_a_minor_version_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    """Not the one that comes first on the PATH. Names that fail or lie are passed over, as
    pyenv's are, which print how to switch a version on."""
    for name, program in {
        "first/python3.12": f"echo CPython {own.replace('.', ' ')}",
        "second/python3.12": "echo CPython 3 12 9",
        "third/python3.12": "echo CPython 3 12 9",
        "first/python3.11": "echo CPython 3 14 0",
        "second/python3.11": "echo PyPy 3 11 0",
        "first/python3.13": "echo 'pyenv: python3.13: command not found' >&2; exit 127",
        "kept/versions/3.14.0/bin/python3.14": "echo CPython 3 14 0",
    }.items():
        stub = tmp_path / name
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(f"#!/bin/sh\n{program}\n")
        stub.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("first", "second", "third")))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "kept"))
    release, folder = ("3.12.4", "first") if own == "3.12.4" else ("3.12.9", "second")
    assert pythons.found() == {
        release: str(tmp_path / folder / "python3.12"),
        "3.14.0": str(tmp_path / "kept/versions/3.14.0/bin/python3.14"),
    }


def test_coverage_is_measured_of_the_rooms_that_have_a_floor() -> None:
    """A room that is held to a floor and not measured would fail every run."""
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    measured = settings["tool"]["coverage"]["run"]["source_pkgs"]
    assert sorted(measured) == sorted(room.replace("/", ".") for room in report.ROOMS)
