"""The commands on Spark as users start them: a server of Spark Connect, an embedded session: what they print, write and
leave is what the local engine does."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.spark.starting import need_listener
from kedge.pipeline.tables.declared import BROKER, TABLES
from kedge.pipeline.tables.files import Place, find_places
from servers import ServerProcess, free_port
from tests.pipeline_journal.journals import completed_early, written
from tests.pipeline_journal.journals import write as write_journal
from tests.pipeline_spark import fleets
from tests.sparks import SETTINGS

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

    from kedge.pipeline.spark.embedded import java  # noqa: PLC0415

    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    main = ["--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = {
        "JAVA_HOME": str(Path(java()).resolve().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    command = [submit, *main, *given, "spark-internal"]
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


def there(lines: Sequence[Sequence[str]], *options: str, **environment: str) -> list[tuple[int, str, str]]:
    """The same in a process of its own: a session of one kind in a process excludes the other."""
    given = json.dumps([[*line, "--engine", "spark", *options] for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, given],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
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
    assert there(lines, "--remote", server) == local
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
    assert there(lines, "--remote", server) == local
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
    found = there(lines("catalog:default"), "--remote", server)
    assert found[:4] == local[:4]
    assert [code for code, _, _ in found] == [0, 0, 0, 0, 2]
    assert found[4][2] == local[4][2].replace(str(tmp_path / "tables"), "catalog:default")


def test_an_embedded_session_gives_the_exit_codes_of_the_local_engine_and_leaves_nothing(
    made: Path, tmp_path: Path
) -> None:
    """One cluster, a dry run: nothing is written, not even for a while."""
    (tmp_path / "tmp").mkdir()
    line = ("plan", "rebalance", str(made), "--cluster", "g1", "--json", "--dry-run")
    before = files(made)
    assert there([line], "--master", "local[1]", TMPDIR=str(tmp_path / "tmp")) == here(line)
    assert files(made) == before
    assert list((tmp_path / "tmp").iterdir()) == []


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
for options in ([], ["--conf", "spark.a=b"]):
    done = CliRunner().invoke(kedge, [*sys.argv[2:], "--engine", "spark", *options])
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
print(mine.range(4).count(), mine.conf.get("spark.sql.shuffle.partitions"))
"""


def test_an_active_session_of_spark_connect_is_used_and_left(made: Path, server: str) -> None:
    line = ("plan", "validate", str(made), "--cluster", "g1")
    done = subprocess.run([sys.executable, "-c", ACTIVE, server, *line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    taken, refused, last = done.stdout.splitlines()
    assert [tuple(json.loads(taken))] == here(line)
    code, out, err = json.loads(refused)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the active session of this process cannot take spark.a=b" in err
    assert last == "4 3"


def test_a_server_of_spark_connect_takes_settings_and_says_which_not(made: Path, server: str) -> None:
    line = ("plan", "validate", str(made), "--cluster", "g1", "--json")
    taken, refused = there(
        [(*line, "--conf", "spark.sql.shuffle.partitions=2"), (*line, "--packages", "g:a:1")], "--remote", server
    )
    assert taken == here(line)[0]
    assert (refused[0], refused[1], refused[2].count("\n")) == (2, "", 1)
    assert refused[2].startswith("kedge: the server of Spark Connect: spark.jars.packages: ")


def silent() -> socket.socket:
    """A server that takes connections and says nothing."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    return server


@pytest.mark.parametrize(
    "line", [("plan", "validate", "{}"), ("journal", "audit", "{}/journal"), ("journal", "progress", "{}/journal")]
)
def test_a_server_that_does_not_answer_is_one_line_after_the_deadline(line: tuple[str, ...], tmp_path: Path) -> None:
    """No server listens, or one that never answers: PySpark itself would ask for ten minutes, or wait for ever."""
    fleets.write(tmp_path, {"g0": fleets.generated(1)["g0"]})
    write_journal(tmp_path / "journal", written())
    with silent() as server:
        for port, why in ((free_port(), "Connection refused"), (server.getsockname()[1], "the server sent no answer")):
            address = f"127.0.0.1:{port}"
            begun = time.monotonic()
            (done,) = here(
                [*(word.format(tmp_path) for word in line), "--engine", "spark", "--remote-timeout", "1",
                 "--remote", f"sc://{address}/;token=secret"]
            )  # fmt: skip
            said = f"kedge: sc://{address}: no server of Spark Connect answered within 1 s: "
            assert done[:2] == (2, "")
            assert done[2].startswith(said)
            assert why in done[2]
            assert done[2].count("\n") == 1
            assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    "remote,said", [("bogus", "must start with 'sc://'"), ("sc://127.0.0.1:99999", "Port out of range")]
)
def test_what_is_no_address_of_a_server_is_one_line(remote: str, said: str, made: Path) -> None:
    ((code, out, err),) = here(
        ("plan", "validate", str(made), "--cluster", "g1", "--engine", "spark", "--remote", remote)
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_unreachable_master_is_reported_before_a_jvm_is_started(made: Path) -> None:
    """Spark itself would ask for more than a minute. A second address is tried."""
    ports = free_port(), free_port()
    master = "spark://" + ",".join(f"127.0.0.1:{port}" for port in ports)
    begun = time.monotonic()
    ((code, out, err),) = here(
        ("plan", "validate", str(made), "--cluster", "g1", "--engine", "spark", "--master", master)
    )
    why = ", ".join(f"127.0.0.1:{port}: Connection refused" for port in ports)
    assert (code, out, err) == (2, "", f"kedge: no Spark master listens: {why}\n")
    assert time.monotonic() - begun < 15
    with silent() as server:
        need_listener(f"spark://127.0.0.1:{ports[0]},127.0.0.1:{server.getsockname()[1]}")
    need_listener("spark://no-port")  # for Spark to judge


@pytest.mark.parametrize("master,address", [("local[*]", "127.0.0.1"), ("yarn", None), ("spark://no-port", None)])
def test_workers_of_a_cluster_do_not_look_for_us_at_their_own_loopback(master: str, address: str | None) -> None:
    assert need_listener(master) == address


def test_a_cluster_finds_us_at_the_address_that_leads_to_its_master() -> None:
    with silent() as server:
        assert need_listener(f"spark://127.0.0.1:{server.getsockname()[1]}") == "127.0.0.1"


def test_what_spark_refuses_is_one_line_without_stack_frames(made: Path, tmp_path: Path) -> None:
    """A master that is none, a setting that is of another kind."""
    (tmp_path / "tmp").mkdir()
    line = ("plan", "validate", str(made), "--cluster", "g1")
    refused = {
        ("--master", "bogus"): " with master bogus: Master must either be yarn or start with spark, k8s, or local",
        ("--master", "local[x]"): " with master local[x]: Could not parse Master URL: 'local[x]'",
        ("--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=few"): " with master local[1]: ",
    }
    done = there([(*line, *options) for options in refused], TMPDIR=str(tmp_path / "tmp"))
    for (code, out, err), said in zip(done, refused.values(), strict=True):
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"kedge: Spark did not start{said}")
    assert "'few' in the config \"spark.sql.shuffle.partitions\" is invalid" in done[2][2]
    assert list((tmp_path / "tmp").iterdir()) == []
