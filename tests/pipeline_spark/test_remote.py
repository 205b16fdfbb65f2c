"""The commands on a server of Spark Connect: what they print and write is what the local engine does."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.tables.declared import BROKER, TABLES
from kedge.pipeline.tables.files import Place, find_places
from servers import ServerProcess, free_port
from tests.pipeline_journal.journals import completed_early, written
from tests.pipeline_journal.journals import write as write_journal
from tests.pipeline_spark import fleets
from tests.sparks import SETTINGS, submit_arguments

pytestmark = [
    pytest.mark.full,
    pytest.mark.server,
]

RUNNER = """
import json, sys
from click.testing import CliRunner
from kedge.controller.cli.root import kedge
done = [CliRunner().invoke(kedge, line) for line in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of Spark Connect, from pyspark's own jars, and its address."""
    import pyspark  # noqa: PLC0415 - tests without Spark need not import it

    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    main = ["--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    command = [submit, *main, *submit_arguments(settings), "spark-internal"]
    process = ServerProcess("Spark Connect", command, listens, folder / "log", environment)
    process.start(180)
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.stop()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Tables of a fleet: two clusters to drain, one with none to drain, one where a broker has no rack."""
    fleet = fleets.generated(4)
    for cluster in ("g0", "g2", "g3"):
        fleets.change(fleet[cluster], 0, state="draining")
    fleets.change(fleet["g3"], 1, rack=None)
    fleets.write(tmp_path / "tables", fleet)
    return tmp_path / "tables"


def here(*lines: Sequence[str]) -> list[tuple[int, str, str]]:
    done = [CliRunner().invoke(kedge, list(line)) for line in lines]
    return [(one.exit_code, one.stdout, one.stderr) for one in done]


def there(lines: Sequence[Sequence[str]], server: str) -> list[tuple[int, str, str]]:
    """The same on the server, in a process of its own: a session of one kind in a process excludes the other."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps([[*line, "--engine", "spark"] for line in lines])],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_REMOTE": server},
    )
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_server_of_spark_connect_says_and_writes_what_the_local_engine_does(
    made: Path, server: str, tmp_path: Path
) -> None:
    """A fleet checked, drained, cut into waves and exported, and a journal audited, with the same exit codes. Of one
    cluster a plan is older than its snapshot: both refuse it."""
    rows = written()
    completed_early(rows)
    write_journal(tmp_path / "journal", rows)
    tables, out, plans = str(made), str(tmp_path / "out"), str(tmp_path / "plans")
    old = ("plan", "balance-leaders", tables, "--name", "old")
    assert here((*old, "--cluster", "g0"), (*old, "--cluster", "g2"))[0][0] == 0
    (place,) = [place for place in find_places(made, BROKER, None) if place.cluster == "g0"]
    anew = {BROKER.name: place.read(BROKER)}
    fleets.change(anew, 0, host="elsewhere")
    place.write(BROKER, anew[BROKER.name])
    waves = ("plan", "waves", tables, "--name", "drain", "--throttle", "1GB", "--all-clusters", "--json")
    lines = [
        ("plan", "validate", tables, "--all-clusters", "--json"),
        ("plan", "drain", tables, "--all-clusters", "--out", plans),
        waves,
        ("plan", "export", tables, out, "--name", "drain", "--all-clusters"),
        ("journal", "audit", "--json", str(tmp_path / "journal")),
        ("plan", "waves", tables, "--name", "old", "--all-clusters"),
        ("plan", "export", tables, f"{out}-old", "--name", "old", "--cluster", "g0"),
        ("plan", "waves", tables, "--name", "nope", "--cluster", "g0"),
    ]
    local = here(*lines)
    wanted = files(tmp_path)
    for folder in (made / "plan", made / "plan_move", made / "wave", made / "violation", Path(out), Path(plans)):
        shutil.rmtree(folder)
    for path, data in wanted.items():
        if path.endswith("/old.parquet") and "/wave" not in path:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
    assert there(lines, server) == local
    assert files(tmp_path) == wanted
    assert [code for code, _, _ in local] == [2, 2, 0, 0, 1, 2, 2, 2]
    assert [err.count("collected again") for _, _, err in local] == [0] * 5 + [1, 1, 0]
    assert [line.partition(": ")[0] for line in local[1][2].splitlines()] == ["cluster g1", "cluster g3"]
    assert "plans/g0.json" in wanted
    assert "out/g2/rollback/wave-0001.json" in wanted


def test_past_snapshots_are_replayed_as_the_local_engine_does_it(server: str, tmp_path: Path) -> None:
    """Every snapshot: of one cluster checked natively, of every cluster planned, each in one job."""
    fleet = fleets.generated(2)
    for snapshot, of in (("1", ("g0", "g1")), ("2", ("g0", "g1")), ("3", ("g1",))):
        for cluster, other in zip(of, reversed(list(fleet)), strict=False):
            for name, table in fleet[cluster if snapshot == "1" else other].items():
                Place(tmp_path / "tables", cluster, snapshot).write(TABLES[name], table)
    tables, plans = str(tmp_path / "tables"), str(tmp_path / "plans")
    again = ("--name", "again", "--tolerance", "0.2", "--out", plans)
    lines = [
        ("plan", "validate", tables, "--cluster", "g0", "--all-snapshots", "--json"),
        ("plan", "rebalance", tables, *again, "--all-clusters", "--all-snapshots", "--json"),
    ]
    local = here(*lines)
    wanted = files(tmp_path)
    for folder in (*(Path(tables) / name for name in ("plan", "plan_move", "violation")), Path(plans)):
        shutil.rmtree(folder)
    assert there(lines, server) == local
    assert files(tmp_path) == wanted
    assert sorted(path for path in wanted if path.startswith("plans/")) == [
        f"plans/{place}.json" for place in ("g0/1", "g0/2", "g1/1", "g1/2", "g1/3")
    ]
    assert all(code in {0, 1} and err == "" for code, _, err in local)


def test_a_catalog_of_a_server_of_spark_connect_is_written_and_read(server: str, tmp_path: Path) -> None:
    """From a map to waves, of two clusters: what is printed is what the local engine prints of files."""
    placed = [{"topic": "t", "partition": i, "replicas": [1 + i % 3, 4]} for i in range(6)]
    (tmp_path / "map.json").write_text(json.dumps({"version": 1, "partitions": placed}))
    collect = ("--snapshot", "1", "--map", str(tmp_path / "map.json"), "--json", "--cluster")

    def lines(tables: str) -> list[Sequence[str]]:
        return [
            *(("plan", "collect", tables, *collect, cluster) for cluster in ("east", "west")),
            ("plan", "drain", tables, "--brokers", "4", "--all-clusters", "--json"),
            ("plan", "waves", tables, "--name", "drain", "--cluster", "east", "--json"),
            ("plan", "waves", tables, "--name", "nope", "--all-clusters"),
        ]

    local = here(*lines(str(tmp_path / "tables")))
    found = there(lines("catalog:default"), server)
    assert found[:4] == local[:4]
    assert [code for code, _, _ in found] == [0, 0, 0, 0, 2]
    assert found[4][2] == local[4][2].replace(str(tmp_path / "tables"), "catalog:default")


ACTIVE = """
import json, sys
from pyspark.sql import SparkSession
mine = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
mine.conf.set("spark.sql.shuffle.partitions", "3")
from click.testing import CliRunner
from kedge.controller.cli.root import kedge
from kedge.pipeline.spark import session
with session() as found:
    assert found is mine
done = CliRunner().invoke(kedge, [*sys.argv[2:], "--engine", "spark"])
print(json.dumps([done.exit_code, done.stdout, done.stderr]))
print(mine.range(4).count(), mine.conf.get("spark.sql.shuffle.partitions"))
"""


def test_an_active_session_of_spark_connect_is_used_and_left(made: Path, server: str) -> None:
    line = ("plan", "validate", str(made), "--cluster", "g1")
    done = subprocess.run([sys.executable, "-c", ACTIVE, server, *line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, last = done.stdout.splitlines()
    assert [tuple(json.loads(said))] == here(line)
    assert last == "4 3"
