"""Which session is used: an active one, unchanged; or a new one, whose defaults settings of the user override."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline import generate, local
from kedge.pipeline.spark import session
from kedge.pipeline.spark.calls import each
from tests.pipeline_journal.journals import write as write_journal
from tests.pipeline_journal.journals import written
from tests.pipeline_spark import fleets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.full, pytest.mark.server]


def run(*line: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(kedge, line)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.checklist(236)
def test_a_command_uses_the_active_session_and_leaves_it(spark: SparkSession, tmp_path: Path) -> None:
    """Not stopped, no setting changed."""
    fleets.write(tmp_path / "tables", fleets.generated(2))
    write_journal(tmp_path / "journal", written())
    before = spark.conf.getAll
    check = ("plan", "validate", str(tmp_path / "tables"), "--all-clusters", "--json")
    assert run(*check, "--engine", "spark") == run(*check)
    audit = ("journal", "audit", str(tmp_path / "journal"), "--json")
    code, out, err = run(*audit)
    assert run(*audit, "--engine", "auto") == (code, out, f"kedge: engine: spark, because a session is active\n{err}")
    assert spark.conf.getAll == before
    assert spark.range(3).count() == 3
    with session() as found:
        assert found is spark


def _noted(folder: Path, number: int) -> int:
    with (folder / str(number)).open("a") as file:
        file.write("once")
    return -number


def test_each_call_in_a_worker_is_made_once_whatever_the_number_of_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A call writes; so a second one could see what the first one wrote."""
    before = spark.conf.get("spark.sql.shuffle.partitions") or "1"
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        numbers = list(range(8))
        assert each(spark, partial(_noted, tmp_path), [(n,) for n in numbers]) == [-n for n in numbers]
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {str(n): "once" for n in numbers}


def test_a_session_that_another_thread_made_is_used(spark: SparkSession) -> None:
    def look() -> Any:
        with session() as found:
            return found

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() is spark
    assert spark.range(3).count() == 3


SAY = """
import json, os
from kedge.pipeline import generate, local
from kedge.pipeline.spark import session
from kedge.pipeline.spark.calls import each
before, said = dict(os.environ), []
for _ in range(2):
    with session() as spark:
        names = ("master", "ui.enabled", "sql.shuffle.partitions", "sql.files.openCostInBytes", "log.level")
        said.append([spark.sparkContext.getConf().get(f"spark.{name}") for name in names])
        said[-1].append(spark.range(4).mapInArrow(lambda batches: batches, "id long").count())
assert os.environ == before
print(json.dumps(said))
"""


def test_settings_of_the_user_override_the_defaults(tmp_path: Path) -> None:
    """Those of a file of SPARK_CONF_DIR and, above it, of PYSPARK_SUBMIT_ARGS. A second session of the process has the
    same settings, and workers run this interpreter."""
    defaults = {"spark.sql.shuffle.partitions": "5", "spark.sql.files.openCostInBytes": "4", "spark.log.level": "OFF"}
    lines = [f"{name} {value}\n" for name, value in defaults.items()]
    (tmp_path / "spark-defaults.conf").write_text("".join(lines))
    environment = {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.shuffle.partitions=6 --master local[1] pyspark-shell",
    }
    without = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, "-c", SAY], env={**without, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    wanted = ["local[1]", "false", "6", "4", "OFF", 4]
    assert json.loads(done.stdout) == [wanted, wanted]


def test_a_session_that_cannot_be_created_is_one_line(tmp_path: Path) -> None:
    """Of Kedge; the JVM prints its own reason above it."""
    fleets.write(tmp_path, fleets.generated(1))
    command = [sys.executable, "-c", "from kedge.controller.cli import main; main()", "plan", "validate", str(tmp_path)]
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--master bogus pyspark-shell"}
    done = subprocess.run([*command, "--engine", "spark"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("kedge: Spark did not start: ")
    assert "Traceback" not in done.stderr


def test_the_driver_gets_counts_and_what_is_printed(tmp_path: Path) -> None:
    """Of 12,000 violations in four clusters, by a driver that takes no more than a megabyte from the workers."""
    for seed in range(4):
        tables = generate(brokers=6, topics=30, partitions=100, seed=seed)
        local.write(tables, tmp_path, cluster=f"c{seed}", snapshot="1")
    command = [sys.executable, "-c", "from kedge.controller.cli import main; main()", "plan", "validate", str(tmp_path)]
    asked = ["--all-clusters", "--factor", "5", "--json", "--engine", "spark"]
    arguments = "--conf spark.driver.maxResultSize=1m --master local[1] pyspark-shell"
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": arguments}
    done = subprocess.run([*command, *asked], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    found = [(row["counts"], len(row["violations"])) for row in json.loads(done.stdout)["clusters"]]
    assert found == [({"RF": 3000}, 100)] * 4
