"""What scripts/test prints at its end, and when it fails."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import checks
import pytest
import pythons
import summary

from tests import kafka_jars, lake_jars, left_out
from tests.browser import chromium
from tests.clients import machine

CHECKOUT = Path(__file__).resolve().parents[2]
REPORT = """<testsuites><testsuite>
<testcase classname="tests.rules.test_isr" name="test_a" time="2.5">
<properties><property name="checklist" value="76"/></properties></testcase>
<testcase classname="tests.rules.test_isr" name="test_b" time="0.5">
<failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="tests.wire.test_tls" name="test_c" time="0.1"><error/>
<properties><property name="port" value="any"/></properties></testcase>
<testcase classname="tests.wire.test_tls" name="test_d" time="0"><skipped message="no browser"/>
<properties><property name="checklist" value="77"/></properties></testcase>
</testsuite></testsuites>"""


def coverage_of(tmp_path: Path, **figures: int) -> tuple[str, bool]:
    covered = {"covered_lines": 9, "num_statements": 10, "covered_branches": 9, "num_branches": 10}
    paths = [f"{room}/one.py" for room in summary.ROOMS if room != "stores"]
    files = {path: {"summary": covered} for path in paths} | {"stores/base.py": {"summary": covered | figures}}
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"files": files}))
    return summary.rooms(file)


def test_the_closing_lines_count_tests_skips_and_rows(tmp_path: Path) -> None:
    """Errors count as failed; a skipped test shows no row, and its reason is printed."""
    report = tmp_path / "tests.xml"
    report.write_text(REPORT)
    steps = [summary.Step("mypy", 4.0), summary.Step("tests", 3.1, failed=True)]
    lines = summary.closing(steps, [report], {"browser": "no chromium"}, 7.5).splitlines()
    assert lines[-5:-3] == ["left out: browser: no chromium", "skipped: 1 x no browser"]
    assert lines[-3].startswith("docs/conformance.md: 1 of 285 rows")
    assert lines[-2:] == ["failed: tests", "1 passed, 2 failed, 1 skipped"]
    assert "rules      2      3.0" in lines


@pytest.mark.parametrize(
    "figures,failed",
    [({}, False), ({"covered_branches": 8}, True), ({"covered_lines": 8}, True), ({"num_branches": 0}, False)],
    ids=["at the floor", "few branches", "few lines", "no branch"],
)
def test_a_package_has_a_floor_for_lines_and_for_branches(
    tmp_path: Path, figures: dict[str, int], failed: bool
) -> None:
    assert coverage_of(tmp_path, **figures)[1] is failed


def test_a_package_of_which_nothing_was_measured_is_below_its_floor(tmp_path: Path) -> None:
    file = tmp_path / "coverage.json"
    file.write_text('{"files": {}}')
    table, failed = summary.rooms(file)
    assert failed
    assert table.count("below") == len(summary.ROOMS)


def test_coverage_is_measured_where_there_is_a_floor() -> None:
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    measured = settings["tool"]["coverage"]["run"]["source_pkgs"]
    assert sorted(measured) == sorted(f"kedge.{room.replace('/', '.')}" for room in summary.ROOMS)


def test_folders_that_are_traced_exist() -> None:
    """A folder that is renamed would silently lose its coverage."""
    assert [name for name in checks.TRACED if not (CHECKOUT / "tests" / name).is_dir()] == []


USES = {
    "browser": chromium,
    "kafka": kafka_jars.kafka_classpath,
    "node": machine.kafkajs,
    "go": machine.in_go,
    "lakes": lake_jars.lakes,
}


def test_what_is_missing_leaves_out_the_tests_that_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that no test asks for would be left out by name only, and its tests would fail."""
    families = {need.family for need in checks.NEEDS if need.family}
    monkeypatch.setenv(left_out.VARIABLE, ",".join(families))
    assert families - set(USES) == {"sound etcd", "containers", "networks"}  # whose tests decide by themselves
    for family, use in USES.items():
        with pytest.raises(pytest.skip.Exception, match=f"{family} is missing"):
            use()


def test_what_only_the_whole_run_installs_is_asked_for_by_none_of_the_other_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine that has it, too: else the mark would be missed on a fresh one only."""
    monkeypatch.delenv(left_out.VARIABLE, raising=False)
    for name, value in checks.ALL_ONLY.items():
        monkeypatch.setenv(name, value)
    for family in sorted(USES.keys() - {"kafka"}):
        with pytest.raises(pytest.fail.Exception, match=f"installs {family}"):
            USES[family]()


@pytest.mark.checklist(275)
def test_the_oldest_and_the_newest_python_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each minor version its oldest release. A name that fails or lies is ignored, as pyenv's names do for versions
    that are not switched on."""
    for place, version in (
        ("first", "3.97.9"),
        ("second", "3.97.10"),
        ("first", "3.98.0"),
        ("kept/versions/3.99.4/bin", "3.99.4"),
    ):
        minor = version.rpartition(".")[0]
        write_stub(tmp_path / place / f"python{minor}", f"echo CPython {version.replace('.', ' ')}")
    write_stub(tmp_path / "second" / "python3.99", "echo 'pyenv: command not found' >&2; exit 127")
    monkeypatch.setattr(pythons, "VERSIONS", ("3.97", "3.98", "3.99"))
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("first", "second")))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "kept"))
    oldest, newest = tmp_path / "first" / "python3.97", tmp_path / "kept/versions/3.99.4/bin/python3.99"
    assert pythons.ends() == {"3.97.9": str(oldest), "3.99.4": str(newest)}
    monkeypatch.setattr(sys, "version_info", (3, 97, 1))
    assert pythons.ends() == {"3.99.4": str(newest)}


def write_stub(file: Path, line: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)
