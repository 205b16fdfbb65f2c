"""`kedge plan ... --all-clusters`: every cluster of the tables in one run, each for itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
from tests.cli.plans import files, put
from tests.kit.commands import plan as run

SIZE = (12, 4, 9)


def put_in(fleet: Path, cluster: str, snapshot: str = "1", **first: Any) -> None:
    put(fleet, cluster, snapshot, size=SIZE, seed=len(cluster), **first)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Two clusters of which a broker is to be drained."""
    tables = tmp_path / "tables"
    for cluster in ("east", "north"):
        put_in(tables, cluster, state="draining")
    return tables


@pytest.mark.slow
def test_a_fleet_is_planned_cut_and_exported_as_its_clusters_are_one_by_one(fleet: Path, tmp_path: Path) -> None:
    lines: list[tuple[object, ...]] = [("drain", fleet), ("waves", fleet, "--name", "drain", "--throttle", "1GB")]
    for line in lines:
        for cluster in ("east", "north"):
            assert run(*line, "--cluster", cluster).exit_code == 0
            run("export", fleet, tmp_path / "one" / cluster, "--name", "drain", "--cluster", cluster)
    one_by_one = files(fleet)
    (fleet / "plan_move" / "cluster=east" / "snapshot=1" / "drain.parquet").unlink()
    lines.append(("export", fleet, tmp_path / "all", "--name", "drain"))
    assert [run(*line, "--all-clusters").exit_code for line in lines] == [0, 0, 0]
    assert files(fleet) == one_by_one


@pytest.mark.slow
def test_what_is_said_of_a_fleet_names_each_cluster(fleet: Path, tmp_path: Path) -> None:
    found = json.loads(run("drain", fleet, "--all-clusters", "--json", "--out", tmp_path / "out").stdout)
    assert [(row["cluster"], row["complete"]) for row in found["clusters"]] == [("east", True), ("north", True)]
    assert sorted(files(tmp_path / "out")) == ["east.json", "north.json"]
    lines = run("waves", fleet, "--name", "drain", "--all-clusters").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("cluster")] == ["east", "north"]
    assert run("validate", fleet, "--all-clusters", "--json").exit_code == 0


@pytest.mark.checklist(239)
def test_cluster_that_cannot_be_planned_is_reported_and_the_others_are_done(fleet: Path) -> None:
    put_in(fleet, "west", rack=None, state="draining")
    put_in(fleet, "wester", rack=None)
    result = run("drain", fleet, "--all-clusters", "--json")
    assert result.exit_code == 2
    assert [row["cluster"] for row in json.loads(result.stdout)["clusters"]] == ["east", "north"]
    (told,) = [line for line in result.stderr.splitlines() if "west:" in line]
    assert told.startswith("cluster west: ")
    assert Place(fleet, "north", "1").has(TABLES["plan"], "drain")


def test_cluster_without_a_request_is_reported_and_is_no_failure(fleet: Path) -> None:
    put_in(fleet, "south")
    result = run("drain", fleet, "--all-clusters")
    assert result.exit_code == 0
    assert result.stderr == "cluster south: drain: no broker was named, and none has the state draining\n"
    waves = run("waves", fleet, "--name", "drain", "--all-clusters", "--json")
    assert [row["cluster"] for row in json.loads(waves.stdout)["clusters"]] == ["east", "north"]


def test_a_fleet_is_of_the_snapshot_that_is_named_or_the_last_of_each_cluster(fleet: Path) -> None:
    put_in(fleet, "north", "2")
    rows = json.loads(run("balance-leaders", fleet, "--all-clusters", "--json").stdout)["clusters"]
    assert [(row["cluster"], row["snapshot"]) for row in rows] == [("east", "1"), ("north", "2")]
    rows = json.loads(run("balance-leaders", fleet, "--all-clusters", "--json", "--snapshot", "2").stdout)["clusters"]
    assert [row["cluster"] for row in rows] == ["north"]


@pytest.mark.parametrize("missing", ["pyspark", "java"])
def test_fleet_is_planned_locally_where_spark_is_missing(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "pyspark":
        monkeypatch.setitem(sys.modules, "pyspark", None)
    else:
        pytest.importorskip("pyspark")
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    done = run("validate", fleet, "--all-clusters", "--engine", "auto")
    assert done.exit_code in (0, 1)
    assert done.stderr.startswith("kedge: engine: local, although there are 2 clusters: ")
    assert ("pyspark is not installed" in done.stderr) == (missing == "pyspark")
