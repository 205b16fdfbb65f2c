"""Whose session it is: an active one stays as it is; of one of our own, what the user says goes above our defaults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.spark import NoSpark, session
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


def test_a_session_that_another_thread_made_is_used(spark: SparkSession) -> None:
    def look() -> Any:
        with session() as found:
            return found

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() is spark
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    "options,named",
    [
        (("--master", "local[1]"), "spark.master=local[1]"),
        (
            ("--conf", "spark.sql.ansi.enabled=false", "--conf", "spark.a=b=c"),
            "spark.sql.ansi.enabled=false, spark.a=b=c",
        ),
        (("--packages", "g:a:1"), "spark.jars.packages=g:a:1"),
    ],
)
def test_the_active_session_cannot_be_made_another(
    spark: SparkSession, tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    fleets.write(tmp_path, fleets.generated(1))
    why = f"kedge: the active session of this process cannot take {named}\n"
    assert run("plan", "validate", str(tmp_path), "--engine", "spark", *options) == (2, "", why)
    assert spark.range(3).count() == 3


def test_a_master_and_a_server_at_once_are_refused() -> None:
    for given in ({"remote": "sc://b:1"}, {"settings": {"spark.remote": "sc://b:1"}}):
        with pytest.raises(NoSpark, match="expected a master or a remote, got both"), session("local[1]", **given):
            pass


SAY = """
import json, sys
from kedge.pipeline.spark import session
said = []
for _ in range(2):
    with session(settings={"spark.sql.files.openCostInBytes": "5"}) as spark:
        context = spark.sparkContext
        names = ("session.timeZone", "warehouse.dir", "shuffle.partitions", "files.openCostInBytes")
        said.append([context.master, context.appName, context.getConf().get("spark.driver.host")])
        said[-1] += [spark.conf.get(f"spark.sql.{name}", None) for name in names]
        said[-1].append(spark.range(4).mapInArrow(lambda batches: batches, "id long").count())
print(json.dumps(said))
"""


def test_what_the_user_says_of_spark_goes_above_our_defaults(tmp_path: Path) -> None:
    """A file of SPARK_CONF_DIR, PYSPARK_SUBMIT_ARGS above it, what the caller asks for above both; a second session of
    the process is the same; nothing is left, and the JVM has ended before its output has."""
    for name in ("conf", "tmp"):
        (tmp_path / name).mkdir()
    defaults = {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.warehouse.dir": str(tmp_path / "theirs"),
        "spark.sql.shuffle.partitions": "5",
        "spark.driver.host": "127.0.0.2",
        "spark.app.name": "of the file",
        "spark.sql.files.openCostInBytes": "4",
    }
    lines = [f"{name} {value}\n" for name, value in defaults.items()]
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(["# spark.master spark://nobody:1\n", *lines]))
    environment = {
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.shuffle.partitions=6 --master local[1] pyspark-shell",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    done = subprocess.run(
        [sys.executable, "-c", SAY],
        env={**os.environ, **environment, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = ["local[1]", "of the file", "127.0.0.2", "Asia/Tokyo", f"file:{tmp_path}/theirs", "6", "5", 4]
    assert json.loads(done.stdout) == [wanted, wanted]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert commands_with(str(tmp_path)) == []


def commands_with(word: str) -> list[str]:
    """Running processes whose command line has the word in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        found += [command] * (word in command)
    return found
