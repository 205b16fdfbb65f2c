"""Tables of Delta, in a catalog and below a folder, and of Iceberg: the commands say, write and export what they do in
files. On the oldest Spark that is promised (`tests/lake_jars.py`), in one session."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.tables.files import Place
from tests.lake_jars import lakes
from tests.pipeline_spark import schemas
from tests.pipeline_spark.test_engines import files
from tests.sparks import CHECKOUT, SETTINGS

pytestmark = [
    pytest.mark.full,
    pytest.mark.server,
    pytest.mark.timeout(1200),  # three minutes alone: the first test makes all tables
]

# Where, in which format, and how many of the commands below: those that write show what a format has of its own.
KEPT_AS = {
    "delta": ("catalog:kedge", "delta", 5),
    "folder": ("{}/delta", "delta", 2),
    "iceberg": ("catalog:lake.kedge", "iceberg", 3),
}
# Those that the commands below write.
WRITTEN = ("broker", "broker_load", "broker_valid", "partition", "partition_valid", "plan", "plan_load", "plan_move",
           "rack_load", "replica_load", "snapshot_time", "violation")  # fmt: skip


def lines(tables: str, kind: str, folder: Path, out: str) -> list[list[str]]:
    """A second cluster beside the first; a plan, and one of its clusters planned again; the plan is read."""
    options = ("--format", kind)
    given = ("--broker-list", f"{folder}/brokers.json", "--snapshot", "1", "--taken-at", "2026-11-28", *options)
    collect = ["plan", "collect", tables, *given, "--map", f"{folder}/map.json", "--cluster"]
    every = ("--all-clusters", *options)
    return [
        [*collect, "east"],
        [*collect, "west"],
        ["plan", "drain", tables, "--brokers", "1", *every],
        ["plan", "drain", tables, "--brokers", "2", "--name", "drain", "--cluster", "west", *options],
        ["plan", "export", tables, f"{folder}/{out}", "--name", "drain", "--cluster", "west", *options],
    ]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lakes")
    placed = [{"topic": f"t{i % 4}", "partition": i // 4, "replicas": [1 + i % 4, 5 + i % 3]} for i in range(40)]
    (folder / "map.json").write_text(json.dumps({"version": 1, "partitions": placed}))
    (folder / "brokers.json").write_text(json.dumps({str(broker): f"r{broker % 3}" for broker in range(1, 9)}))
    return folder


@pytest.fixture(scope="module")
def local(here: Path) -> dict[str, list[tuple[int, str, str]]]:
    """What the local engine says, in files of its own for each."""
    said = {}
    for name, (_, _, few) in KEPT_AS.items():
        asked = lines(f"{here}/tables-{name}", "parquet", here, f"out-local-{name}")[:few]
        done = [CliRunner().invoke(kedge, line) for line in asked]
        assert not any(one.exit_code for one in done), [one.stderr for one in done]
        said[name] = [(one.exit_code, one.stdout, one.stderr) for one in done]
    return said


@pytest.fixture(scope="module")
def there(here: Path, local: dict[str, Any]) -> dict[str, Any]:
    """What is said, and what is in the tables, by how they are kept."""
    found = lakes()
    settings = {
        **SETTINGS,
        "spark.sql.warehouse.dir": str(here / "warehouse"),
        "spark.jars": ",".join(map(str, found.jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(here / "iceberg"),
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    jobs = {}
    assert local.keys() == KEPT_AS.keys()  # whose tables are there
    for name, (tables, kind, few) in KEPT_AS.items():
        root = tables.format(here)
        kept = f"delta.`{root}/{{}}`" if name == "folder" else f"{root.removeprefix('catalog:')}.`{{}}`"
        jobs[name] = {
            "lines": [[*line, "--engine", "spark"] for line in lines(root, kind, here, f"out-{name}")[:few]],
            "tables": {table: kept.format(table) for table in WRITTEN if (here / f"tables-{name}" / table).is_dir()},
        }
    given = {"settings": settings, "schemas": ["kedge", "lake.kedge"], "jobs": jobs}
    (here / "jobs.json").write_text(json.dumps(given))
    paths = os.pathsep.join((str(found.pyspark), str(CHECKOUT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline_spark.lake_runner", str(here / "jobs.json")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = pickle.loads((here / "jobs.said").read_bytes())  # noqa: S301 - ours
    return said


@pytest.mark.parametrize("name", KEPT_AS)
def test_tables_of_delta_and_iceberg_are_those_of_files(
    name: str, here: Path, local: dict[str, list[tuple[int, str, str]]], there: dict[str, Any]
) -> None:
    done, found = there[name]
    assert [repr(one).replace(f"out-{name}", f"out-local-{name}") for one in done] == list(map(repr, local[name]))
    assert files(here / f"out-{name}") == files(here / f"out-local-{name}")
    assert found == schemas.in_folder([Place(here / f"tables-{name}", cluster, "1") for cluster in ("east", "west")])
