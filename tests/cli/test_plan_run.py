"""`kedge plan apply-policy`: every cluster of a fleet by what the policy wants, once per contents of its snapshot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.pipeline.submit import read_export, window
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import PARTITION, REPLICA_LOAD, REPLICA_SAMPLE, SNAPSHOT_TIME
from kedge.pipeline.tables.files import Place
from tests.cli.plans import files as contents
from tests.cli.plans import put
from tests.pipeline.pages import Words

POLICY = """
tables = "tables"
out = "plans"
[default]
steps = ["drain", "rebalance"]
tolerance = 0.2
throttle = "100MB"
[cluster.skipped]
skip = true
[cluster.level]
steps = ["drain"]
"""


def run(policy: Path, *options: str) -> Result:
    return CliRunner().invoke(kedge, ["plan", "apply-policy", str(policy), *options])


def said(policy: Path, *options: str) -> tuple[int, dict[str, Any]]:
    done = run(policy, "--json", *options)
    assert done.stderr == ""
    return done.exit_code, {row["cluster"]: row for row in json.loads(done.stdout)["clusters"]}


SIZE = (12, 4, 9)


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Of a fleet with one cluster to drain, one to level, one of which nothing is asked, one that is left alone."""
    put(tmp_path / "tables", "drained", state="draining", size=SIZE, seed=4)
    for cluster in ("full", "level", "skipped"):
        put(tmp_path / "tables", cluster, size=SIZE, seed=4)
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_a_policy_may_begin_with_a_byte_order_mark(policy: Path) -> None:
    policy.write_text(POLICY, encoding="utf-8-sig")
    assert run(policy, "--dry-run").exit_code == 0


@pytest.mark.slow
def test_each_cluster_gets_the_first_step_that_changes_something(policy: Path) -> None:
    code, found = said(policy)
    assert {cluster: row.get("step") for cluster, row in found.items()} == {
        "drained": "drain",
        "full": "rebalance",
        "level": None,
        "skipped": None,
    }
    assert found["drained"]["plan"]["partitions_changed"] > 0
    assert found["drained"]["plan"]["waves"] == 1
    assert found["skipped"] == {"cluster": "skipped", "snapshot": "1", "skipped": True, "unchanged": False}
    assert code == max(bool(row.get("violations")) or not (row.get("plan") or {}).get("complete", True)
                       for row in found.values())  # fmt: skip
    out = policy.parent / "plans"
    assert (out / "drained/waves/wave-0001.json").is_file()
    assert sorted(path.name for path in out.iterdir()) == ["drained", "full", "index.html"]
    page = (out / "index.html").read_text()
    assert set(Words(page).loaded) == {"href"}  # links alone
    assert '<a href="drained/report.html">drained</a>' in page
    assert page.count("<tr>") == 1 + 4


@pytest.mark.slow
@pytest.mark.checklist(241)
def test_what_did_not_change_is_not_done_again(policy: Path) -> None:
    code, first = said(policy)
    before = files(policy.parent)
    again_code, again = said(policy)
    page = "plans/index.html"
    after = files(policy.parent)
    assert {path for path in before if path != page and after[path] != before[path]} == set()
    assert after.keys() == before.keys()
    assert again_code == code
    assert {c: {**row, "unchanged": False} for c, row in again.items()} == first
    assert [c for c, row in again.items() if row["unchanged"]] == ["drained", "full", "level"]

    put(
        policy.parent / "tables", "full", "2", state="draining", size=SIZE, seed=4
    )  # a later snapshot with other contents
    put(policy.parent / "tables", "drained", "2", state="draining", size=SIZE, seed=4)  # and one with the same
    found = said(policy)[1]
    assert (found["full"]["snapshot"], found["full"]["step"], found["full"]["unchanged"]) == ("2", "drain", False)
    assert (found["drained"]["snapshot"], found["drained"]["unchanged"]) == ("1", True)
    assert not said(policy, "--force")[1]["drained"]["unchanged"]
    policy.write_text(POLICY.replace("0.2", "0.3"))
    assert not said(policy)[1]["drained"]["unchanged"], "by another policy it is done anew"


@pytest.mark.slow
def test_a_policy_says_in_which_windows_samples_count(policy: Path) -> None:
    """Of that cluster alone; the plan is made of what it then carries, and the next run finds nothing new."""
    days = [(datetime(2026, 11, day, tzinfo=UTC), day * 1000.0) for day in (1, 2, 2, 2)]
    days = [(ts + timedelta(hours=n), bps) for n, (ts, bps) in enumerate(days)]
    for cluster in ("full", "level"):
        place = Place(policy.parent / "tables", cluster, "1")
        first = place.read(PARTITION).to_pylist()[0]
        rows = [(ts, first["leader"], first["topic"], first["partition"], bps, None, True, False) for ts, bps in days]
        place.write(REPLICA_SAMPLE, from_rows(REPLICA_SAMPLE, rows))
        place.write(SNAPSHOT_TIME, from_rows(SNAPSHOT_TIME, [(days[-1][0],)]))
    before = {cluster: rate_of_first(policy, cluster) for cluster in ("full", "level")}
    policy.write_text(POLICY + "[cluster.full]\nwindow = 86_400\nsamples-age = 200_000\n")
    found = said(policy)[1]
    assert rate_of_first(policy, "full") == 1500.0  # a thousand on the first day, two thousand on the next
    assert rate_of_first(policy, "level") == before["level"]
    assert not found["full"]["unchanged"]
    assert said(policy)[1]["full"]["unchanged"]
    policy.write_text(POLICY + "[cluster.full]\nwindow = 3_600\nsamples-age = 200_000\n")
    assert not said(policy, "--dry-run")[1]["full"]["unchanged"]
    assert rate_of_first(policy, "full") == 1500.0, "a dry run writes nothing"
    said(policy)
    assert rate_of_first(policy, "full") == 1750.0
    policy.write_text(POLICY + '[cluster.full]\nsamples-age = 200_000\nstatistic = "max"\ngrowth = 1.5\n')
    said(policy)
    assert rate_of_first(policy, "full") == 3000.0


@pytest.mark.slow
def test_windows_of_a_policy_are_those_of_its_exports(policy: Path) -> None:
    policy.write_text(POLICY + "[cluster.full]\nwindows = ['Sat 22:00-04:00 UTC', '02:00-03:00']\n")
    said(policy)
    found = {cluster: read_export(policy.parent / "plans" / cluster).windows for cluster in ("full", "drained")}
    assert found == {"full": (window("Sat 22:00-04:00 UTC"), window("02:00-03:00")), "drained": ()}


def rate_of_first(policy: Path, cluster: str) -> float | None:
    place = Place(policy.parent / "tables", cluster, "1")
    first = place.read(PARTITION).to_pylist()[0]
    key = (first["topic"], first["partition"])
    (rate,) = (
        row["write_bps"] for row in place.read(REPLICA_LOAD).to_pylist() if (row["topic"], row["partition"]) == key
    )
    return None if rate is None else float(rate)


@pytest.mark.slow
@pytest.mark.checklist(240)
@pytest.mark.parametrize("lost", ["tables/run", "tables/plan", "tables/wave_move", "plans/drained"])
def test_run_that_ended_anywhere_is_repeated_to_the_same(policy: Path, lost: str) -> None:
    """The table `run` is written last, so what ended before lacks it, and whatever else was not written yet."""
    said(policy)
    whole = contents(policy.parent)
    shutil.rmtree(policy.parent / lost)
    if lost != "plans/drained":
        shutil.rmtree(policy.parent / "tables/run", ignore_errors=True)
    said(policy)
    whole.pop("plans/index.html")
    assert {path: data for path, data in contents(policy.parent).items() if path in whole} == whole


# Ends its process at the given rename below the folder: each table and each export is renamed to its name in the end.
DIES = """
import os, sys
from kedge.controller.cli.root import kedge
left, policy = int(sys.argv[1]), sys.argv[2]
def watch(event, arguments):
    global left
    if event == "os.rename" and os.path.abspath(str(arguments[1])).startswith(os.path.dirname(policy)):
        left -= 1
        if not left:
            os._exit(9)
sys.addaudithook(watch)
kedge(["plan", "apply-policy", policy, "--json"])
"""


@pytest.mark.full
@pytest.mark.checklist(240)
@pytest.mark.parametrize("rename", [1, 8, 14, 20])
def test_run_that_was_killed_is_repeated_to_the_same(policy: Path, tmp_path: Path, rename: int) -> None:
    """But for hidden files of the killed process, which nothing reads."""
    shutil.copytree(policy.parent, tmp_path / "whole")
    said(tmp_path / "whole/policy.toml")
    killed = shutil.copytree(policy.parent, tmp_path / "killed", ignore=shutil.ignore_patterns("whole"))
    words = [sys.executable, "-c", DIES, str(rename), str(killed / "policy.toml")]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 9
    said(killed / "policy.toml")
    ends = [contents(tmp_path / name) for name in ("whole", "killed")]
    for end in ends:
        end.pop("plans/index.html")
    hidden = {path for path in ends[1] if "/." in path}
    assert {path: data for path, data in ends[1].items() if path not in hidden} == ends[0]


@pytest.mark.slow
def test_a_dry_run_says_the_same_and_writes_nothing(policy: Path) -> None:
    before = files(policy.parent)
    code, dry = said(policy, "--dry-run")
    assert files(policy.parent) == before
    real_code, real = said(policy)
    assert code == real_code
    assert {c: row.get("written", False) for c, row in real.items()} == {c: c != "skipped" for c in real}
    assert {c: {**row, "written": True} for c, row in dry.items() if c != "skipped"} == {
        c: row for c, row in real.items() if c != "skipped"
    }


@pytest.mark.slow
def test_a_cluster_that_cannot_be_used_stops_no_other(policy: Path) -> None:
    (policy.parent / "plans/drained").mkdir(parents=True)
    (policy.parent / "plans/drained/notes.txt").write_text("not an export")
    (policy.parent / "tables/replica_load/cluster=level/snapshot=1/part.parquet").write_bytes(b"torn")
    done = run(policy)
    assert done.exit_code == 2
    assert [line.partition(": ")[0] for line in done.stderr.splitlines()] == ["cluster drained", "cluster level"]
    assert "full" in done.stdout
    assert "2 of 4 clusters could not be used" in (policy.parent / "plans/index.html").read_text()
    assert (policy.parent / "plans/full/plan.json").is_file()
    assert (policy.parent / "plans/drained/notes.txt").is_file()
    shutil.rmtree(policy.parent / "plans/drained")
    done = run(policy)
    assert "drain changes 11 partitions" in done.stdout
    assert done.stdout.count("unchanged since the last run") == 1


@pytest.mark.checklist(242)
@pytest.mark.parametrize(
    "text, line, message",
    [
        ("tables = ", "", "invalid TOML: Invalid value (at end of document)"),
        ("tables = " + "[" * 5000, "", "lists or tables are nested too deeply in it"),
        ('out = "x"', "", "tables: the value is missing"),
        ('tables = 1\nout = "x"', ":1", "tables: expected a text, got 1"),
        ('tables = "t"\nout = "x"\n[defaults]', ":3", "defaults: unknown name; expected one of tables, format, out"),
        ("{}[default]\n\ntolerence = 1", ":5", "default.tolerence: unknown name"),
        ("{}[default]\ntolerance = 2", ":4", "default: tolerance: expected 0 or more"),
        ("{}[default]\nskip = true\nsteps = ['grow']", ":5", "default: steps: expected some of drain"),
        ("{}[default]\nsteps = []", ":4", "default: steps: expected some of drain"),
        ("{}[default]\nsteps = ['set-replication-factor']", ":4",
         "default: steps: set-replication-factor needs a factor"),
        ("{}[default]\nthrottle = 'fast'", ":4",
         "default.throttle: expected bytes such as 123, 5GiB or 1.5GB, got 'fast'"),
        ("{}[cluster.full]\nper-broker = 0", ":3", "cluster.full: "),
        ("{}[default]\nwindow = 0", ":4", "default: window: expected at least 1 second, got 0"),
        ("{}[default]\nwindows = ['soon']", ":4", "default: windows: expected a window such as '22:00-04:00 UTC'"),
        ("{}[default]\nwindows = '22:00-04:00'", ":4", "default.windows: expected a list, got '22:00-04:00'"),
        ("{}[default]\nsamples-age = -1", ":4", "default: samples-age: expected seconds, at least 0, got -1"),
        ("{}[default]\ngrowth = 0.0", ":4", "default: growth: expected a number above 0, got 0.0"),
        ('{}[default]\nstatistic = "p99"', ":4", "default: statistic: expected one of mean, p95, max, got 'p99'"),
        ("{}[default]\nsamples-age = inf", ":4", "default: samples-age: expected seconds"),
        ("{}[default]\nskip = true\n[cluster.full]\nskip = 'yes'", ":6",
         "cluster.full.skip: expected true or false, got 'yes'"),
        ('{}[cluster."fulll"]\nskip = true', ":3", "cluster.fulll: "),
        ("{}[cluster]\nfull = 3", ":4", "cluster.full: expected a table, got 3"),
        ("{}cluster = {full = {skip = 'yes'}}", "", "cluster.full.skip: expected true or false, got 'yes'"),
    ],
)  # fmt: skip
def test_a_policy_that_is_not_understood_is_one_line_and_nothing_is_written(
    policy: Path, text: str, line: str, message: str
) -> None:
    policy.write_text(text.replace("{}", 'tables = "tables"\nout = "plans"\n'))
    before = files(policy.parent)
    done = run(policy)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kedge: {policy}{line}: {message}")
    assert files(policy.parent) == before


def test_tables_within_tables_are_one_line(policy: Path) -> None:
    policy.write_text('tables = "tables"\nout = "plans"\n[default]\nthrottle' + ".a" * 2000 + " = 1")
    done = run(policy)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kedge: {policy}:")
