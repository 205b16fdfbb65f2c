"""The commands as jobs of spark-submit, on real clusters whose workers have the project by `--py-files` alone.
What a program prints on stderr, spark-submit prints on stdout."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow.fs import FileSelector, FileSystem

from kedge.controller.cli.root import kedge
from tests.pipeline_journal.journals import completed_early, written
from tests.pipeline_journal.journals import write as write_journal
from tests.pipeline_spark import fleets
from tests.s3 import s3
from tests.sparks import CHECKOUT, Submitter

pytestmark = [
    pytest.mark.full,
    pytest.mark.server,
]

JOB = str(CHECKOUT / "pipeline" / "job.py")


def test_a_fleet_is_planned_by_workers_that_have_the_wheel_alone(submitter: Submitter, tmp_path: Path) -> None:
    """`local-cluster`: two worker processes. The verbs, their output and what they write are those of `kedge`."""
    fleet = fleets.generated(3)
    for cluster in ("g0", "g2"):
        fleets.change(fleet[cluster], 0, state="draining")
    fleets.write(tmp_path / "tables", fleet)
    line = ("plan", "drain", str(tmp_path / "tables"), "--all-clusters", "--json", "--out", str(tmp_path / "plans"))
    here = CliRunner().invoke(kedge, line)
    plans = {path.name: path.read_bytes() for path in (tmp_path / "plans").iterdir()}
    for name in ("plans", "tables/plan", "tables/plan_move"):
        shutil.rmtree(tmp_path / name)
    done = submitter.submit("--master", "local-cluster[2,1,1024]", JOB, *line)
    assert (done.returncode, done.stdout) == (here.exit_code, here.output), done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "plans").iterdir()} == plans
    assert sorted(plans) == ["g0.json", "g2.json"]


def test_a_journal_is_audited_on_a_standalone_cluster(submitter: Submitter, spark_master: str, tmp_path: Path) -> None:
    """A master and two workers; violations are the exit code of spark-submit."""
    rows = written()
    completed_early(rows)
    write_journal(tmp_path / "journal", rows)
    line = ("journal", "audit", "--json", str(tmp_path / "journal"))
    here = CliRunner().invoke(kedge, line)
    done = submitter.submit("--master", spark_master, JOB, *line)
    assert (done.returncode, done.stdout) == (here.exit_code, here.output), done.stderr
    assert here.exit_code == 1


@pytest.mark.checklist(235)
def test_a_session_under_spark_submit_is_set_by_spark_submit_alone(submitter: Submitter, tmp_path: Path) -> None:
    """None of Kedge's defaults."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    set_there = ("--conf", "spark.sql.shuffle.partitions=7", "--name", "theirs", "--master", "local[1]")
    done = submitter.submit(*set_there, str(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["local[1]", "theirs", "512m", "7"]


PROGRAM = """
from kedge.pipeline.spark import session
with session() as spark:
    context = spark.sparkContext
    print(context.master, context.appName, context.getConf().get("spark.executor.memory"), sep="\\n")
    print(spark.conf.get("spark.sql.shuffle.partitions"))
"""


def test_workers_read_and_write_an_object_store_themselves(submitter: Submitter, tmp_path: Path) -> None:
    """Two worker processes, tables in S3: what is printed and written is what the local engine does in a folder."""
    fleet = fleets.generated(3)
    line = ("plan", "balance-leaders", "{}", "--all-clusters", "--json")
    fleets.write(tmp_path, fleet)
    here = CliRunner().invoke(kedge, [word.format(tmp_path) for word in line])
    wanted = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    with s3() as bucket:
        fleets.write(f"{bucket}/fleet", fleet)
        there = [word.format(f"{bucket}/fleet") for word in line]
        done = submitter.submit("--master", "local-cluster[2,1,1024]", JOB, *there)
        assert (done.returncode, done.stdout) == (here.exit_code, here.output), done.stderr
        system, base = FileSystem.from_uri(f"{bucket}/fleet".replace("s3a", "s3"))
        found = system.get_file_info(FileSelector(base, recursive=True))
        written = {i.path.removeprefix(f"{base}/"): system.open_input_file(i.path).read() for i in found if i.size}
    assert written == wanted
    assert any(path.startswith("plan_move/cluster=g2/") for path in wanted)
