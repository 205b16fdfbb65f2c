"""The local engine needs the extra `pipeline` alone: pyarrow, numpy and msgspec, and nothing that Spark brings."""

from __future__ import annotations

import configparser
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.pipeline.generating import generate
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
from tests.pipeline_journal.journals import write, written

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]

# The path finders never come to what is held to be missing, so a fresh interpreter is as one without the extra `spark`.
PROGRAM = """
import json, pkgutil, sys
from importlib import import_module
sys.modules |= dict.fromkeys(("pyspark", "py4j", "pandas", "grpc", "google"))
import kedge.pipeline
found = [one.name for one in pkgutil.walk_packages(kedge.pipeline.__path__, "kedge.pipeline.")]
names = [name for name in found if not name.startswith("kedge.pipeline.spark.") and name != "kedge.pipeline.job"]
for name in (*names, "kedge.pipeline.spark.session"):
    import_module(name)
from click.testing import CliRunner
from kedge.controller.cli.root import kedge
done = [CliRunner().invoke(kedge, line) for line in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stderr) for one in done]))
print(len(names), sorted(name for name in sys.modules if name.startswith("pyspark.")))
"""


@pytest.mark.checklist(246)
def test_the_extra_of_the_local_engine_brings_nothing_of_spark() -> None:
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    brought = [*setup["options"]["install_requires"].split(), *setup["options.extras_require"]["pipeline"].split()]
    assert [one for one in brought if one.startswith("pyarrow")]
    assert not [one for one in brought if one.startswith(("pyspark", "py4j", "pandas", "kedge["))]


@pytest.mark.checklist(246)
def test_the_local_engine_works_where_nothing_of_spark_is_installed(tmp_path: Path) -> None:
    """Planned, cut, exported, audited; `--engine spark` says in a sentence what is missing."""
    place = Place(tmp_path / "tables", "c", "1")
    for name, table in generate(brokers=6, topics=2, partitions=6, racks=3, seed=1).items():
        place.write(TABLES[name], table)
    write(tmp_path / "journal", written())
    tables, journal = str(tmp_path / "tables"), str(tmp_path / "journal")
    local = [
        ["plan", "validate", tables],
        ["plan", "drain", tables, "--brokers", "1001", "--report", str(tmp_path / "page.html")],
        ["plan", "waves", tables, "--name", "drain", "--throttle", "1GB"],
        ["plan", "export", tables, str(tmp_path / "out"), "--name", "drain"],
        ["journal", "audit", journal, "--out", str(tmp_path / "audit")],
        ["journal", "progress", journal],
    ]
    spark = [["plan", "validate", tables, "--engine", "spark"], ["journal", "audit", journal, "--engine", "spark"]]
    spark += [["journal", "progress", journal, "--engine", "spark"]]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps([*local, *spark])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results, imported = done.stdout.splitlines()
    *here, first, second, third = json.loads(results)
    assert max(code for code, _ in here) < 2, here  # 1: violations are printed
    assert (tmp_path / "out" / "plan.json").is_file()
    sentence = "pandas and pyspark are not installed; run: pip install 'kedge[spark]'"
    assert first == second == third == [2, f"kedge: {sentence}\n"]
    assert imported.endswith(" []")
    assert int(imported.removesuffix(" []")) > 40
