"""The job of examples/spark, as a data engineer runs it: on tables of pandas and of Spark, on the oldest and the newest
PySpark, into files and Delta; and the commands over a catalog on the oldest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit.commands import CHECKOUT
from tests.lake_jars import lakes, oldest
from tests.sparks import SETTINGS, submit_arguments

pytestmark = [pytest.mark.server, pytest.mark.full]

JOB = CHECKOUT / "examples" / "spark" / "plan_fleet.py"
CATALOG_JOB = Path(__file__).with_name("catalog_job.py")
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
PRINTED = "east: 2 partitions move, complete: True\nwest: 1 partitions move, complete: False\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Two clusters, as pandas writes them: numbers of 64 bits, a leader that is null, and no columns that need not be.
    In `west` a partition has a broker twice."""
    brokers = [{"broker_id": n, "state": "ALIVE", "team": "x"} for n in (1, 2, 3, 4)]
    rows = [("t", 0, [3, 1], 3), ("t", 1, [1, 2], 1), ("u", 0, [2, 3], None)]
    for cluster, partitions in (("east", rows), ("west", [*rows[:2], ("u", 0, [3, 2, 3], 3)])):
        listed = [
            {"topic": t, "partition": p, "replicas": r, "isr": r, "leader": leader} for t, p, r, leader in partitions
        ]
        for name, table in (("broker", brokers), ("partition", listed)):
            folder = tmp_path / "raw" / name / f"cluster={cluster}" / "snapshot=1"
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(table), folder / "8c1d3f-0.parquet")
    return tmp_path / "raw"


def run(
    pyspark: Path | None, folder: Path, *arguments: object, job: Path = JOB, lake: Mapping[str, str] | None = None
) -> str:
    """What it prints."""
    where = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    conf = submit_arguments({**SETTINGS, **where, **(lake or {})})
    paths = [*([] if pyspark is None else [str(pyspark)]), str(CHECKOUT)]
    done = subprocess.run(
        [sys.executable, str(job), *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": " ".join(["--master local[2]", *map(repr, conf), "pyspark-shell"]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("which", [oldest, lambda: None], ids=["3.5", "newest"])
def test_a_fleet_in_files_is_planned(which: object, raw: Path, tmp_path: Path) -> None:
    assert callable(which)
    assert run(which(), tmp_path, raw, tmp_path / "out", "3") == PRINTED
    moved = pq.read_table(tmp_path / "out" / "plan_move")
    assert sorted(zip(moved["cluster"].to_pylist(), moved["topic"].to_pylist(), strict=True)) == [
        ("east", "t"), ("east", "u"), ("west", "t"),
    ]  # fmt: skip
    (rejected,) = pq.read_table(tmp_path / "out" / "rejected_rows").to_pylist()
    assert (rejected["cluster"], rejected["brokers"]) == ("west", [3, 2, 3])


def test_a_plan_of_one_cluster_in_a_catalog_leaves_the_others_as_they_are(raw: Path, tmp_path: Path) -> None:
    """On the oldest Spark. `tests/pipeline_spark/test_lakes.py` does the same on a newer one."""
    assert run(oldest(), tmp_path, raw, job=CATALOG_JOB) == (
        "broker_valid east:4 west:4\nreplica_load east:3 west:2\nplan east:1 west:1\nplan_move east:2 west:1\n"
    )


def test_a_fleet_in_files_is_planned_into_delta(raw: Path, tmp_path: Path) -> None:
    found = lakes()
    jars = {"spark.jars": ",".join(map(str, found.jars))}
    assert run(found.pyspark, tmp_path, raw, tmp_path / "out", "3", "delta", lake={**DELTA, **jars}) == PRINTED
    assert (tmp_path / "out" / "plan_move" / "_delta_log").is_dir()
