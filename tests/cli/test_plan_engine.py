"""`--engine auto`: which engine is taken, and what is said of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.generating import generate
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for cluster in ("east", "west"):
        for name, table in generate(brokers=6, topics=2, partitions=4, seed=1).items():
            Place(tmp_path, cluster, "1").write(TABLES[name], table)
    return tmp_path


@pytest.mark.slow
def test_of_one_cluster_no_spark_is_thought_of(fleet: Path) -> None:
    program = (
        "import sys; from kedge.controller.cli.root import kedge\n"
        "try: kedge(['plan', 'validate', *sys.argv[1:], '--cluster', 'east', '--engine', 'auto', '--no-progress'])\n"
        "except SystemExit: pass\n"
        "assert not [name for name in sys.modules if name.startswith(('pyspark', 'kedge.pipeline.spark'))]\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(fleet)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "found" in done.stdout


@pytest.mark.parametrize("missing", ["pyspark", "java"])
def test_a_fleet_is_done_without_spark_where_there_is_none_and_that_is_said(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "pyspark":
        monkeypatch.setitem(sys.modules, "pyspark", None)
    else:
        pytest.importorskip("pyspark")
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    done = CliRunner().invoke(kedge, ["plan", "validate", str(fleet), "--all-clusters", "--engine", "auto"])
    assert done.exit_code in (0, 1)
    assert done.stderr.startswith("kedge: engine: local, although there are 2 clusters: ")
    assert ("pyspark is not installed" in done.stderr) == (missing == "pyspark")
