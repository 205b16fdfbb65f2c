"""`kedge plan`: from files and stores to an export, what is printed, and which exit code says what."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import keys, partition_state, topic
from kedge.controller.model.values import BrokerRegistration, Partition, Topic
from kedge.pipeline.generating import generate
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
from kedge.stores import ABSENT, Put, open_store
from tests.cli.store.places import Make, on_servers
from tests.kit.commands import plan as run
from tests.kit.data import DATA

CHECKOUT = Path(__file__).resolve().parents[2]


def said(*arguments: object) -> tuple[int, Any]:
    result = run(*arguments, "--json")
    assert result.stderr == ""
    return result.exit_code, json.loads(result.stdout)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Tables of a generated cluster."""
    tables = tmp_path / "tables"
    for name, table in generate(brokers=9, topics=4, partitions=6, seed=1).items():
        Place(tables, "east", "1").write(TABLES[name], table)
    return tables


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """A map, its brokers, its sizes: one log of it is of no partition."""
    entries: list[Any] = [{"topic": "t", "partition": p, "replicas": [1 + p % 3, 1 + (p + 1) % 3]} for p in range(6)]
    logs: list[Any] = [
        {"broker": b, "logDirs": [{"logDir": "/d", "error": None, "partitions": [
            {"partition": f"t-{e['partition']}", "size": 100, "offsetLag": 0, "isFuture": False}
            for e in entries if b in e["replicas"]]}]}
        for b in (1, 2, 3)
    ]  # fmt: skip
    contents: dict[str, Any] = {
        "map": {"version": 1, "partitions": entries},
        "brokers": {"1": "a", "2": "b", "3": "c", "4": "a"},
        "good": {"version": 1, "brokers": logs},
        "bad": {"version": 1, "brokers": [*logs, {"broker": 9, "logDirs": None}]},
    }
    found = {}
    for name, value in contents.items():
        found[name] = tmp_path / f"{name}.json"
        found[name].write_text(json.dumps(value))
    return found


def collect(tmp_path: Path, inputs: dict[str, Path], logs: str, *more: object) -> tuple[int, Any]:
    named = ("--cluster", "east", "--snapshot", "1", "--map", inputs["map"], "--broker-list", inputs["brokers"])
    return said("collect", tmp_path / "tables", *named, "--log-dirs", inputs[logs], *more)


@pytest.mark.slow
def test_a_snapshot_goes_all_the_way_to_an_export(tmp_path: Path, inputs: dict[str, Path]) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    code, collected = collect(tmp_path, inputs, "good")
    assert (code, collected["partitions"], collected["bytes"]) == (0, 6, 1200)
    code, planned = said("drain", tables, "--brokers", "1", "--out", tmp_path / "plan.json")
    assert (code, planned["bytes_copied"], planned["bytes_bound"], planned["complete"]) == (0, 400, 400, True)
    code, cut = said("waves", tables, "--name", "drain", "--per-broker", 2, "--throttle", "1KiB")
    assert (code, sum(wave["bytes"] for wave in cut["waves"])) == (0, 400)
    code, written = said("export", tables, out, "--name", "drain")
    assert (code, written["written"]) == (0, True)
    entries = json.loads((out / "plan.json").read_bytes())["partitions"]
    assert all(1 not in entry["replicas"] for entry in entries)
    assert (out / "plan.json").read_bytes() == (tmp_path / "plan.json").read_bytes()
    assert (out / "throttles/wave-0001.json").exists()
    assert "This plan empties broker 1: 4 partitions change" in (out / "report.html").read_text()
    assert "report.html" in json.loads((out / "manifest.json").read_bytes())["files"]


def test_a_plan_is_shown_as_a_page_before_it_is_cut_into_waves(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert said("drain", made, "--brokers", "1001", "--report", page)[0] == 0
    assert "This plan empties broker 1001" in page.read_text()
    page.unlink()
    assert said("drain", made, "--brokers", "1001", "--report", page, "--dry-run")[0] == 0
    assert not page.exists()


def test_rejected_row_is_reported_with_exit_code_1(tmp_path: Path, inputs: dict[str, Path]) -> None:
    code, collected = collect(tmp_path, inputs, "bad")
    assert (code, collected["bytes"]) == (1, 1200)
    assert collected["rejected_rows"] == {"logDirs: expected a list, got None": 1}
    assert said("drain", tmp_path / "tables", "--brokers", "1")[0] == 0


@pytest.mark.slow
def test_what_people_read_says_waves_files_rates_and_totals(tmp_path: Path, inputs: dict[str, Path]) -> None:
    tables = tmp_path / "tables"
    named = ("--cluster", "east", "--snapshot", "1", "--map", inputs["map"], "--broker-list", inputs["brokers"])
    assert run("collect", tables, *named, "--log-dirs", inputs["good"]).stdout.splitlines() == [
        "snapshot  1 of east",
        "holds     4 brokers, 6 partitions, 1.2 KiB",
        "rates     not known for 6 partitions",
    ]
    assert "not written" in run("drain", tables, "--brokers", "1", "--dry-run").stdout
    assert run("drain", tables, "--brokers", "1").exit_code == 0
    lines = run("waves", tables, "--name", "drain", "--throttle", "1KiB").stdout.splitlines()
    assert lines == [
        "wave 1  4 partitions, 4 copies, 400 bytes, 0.4 s (0.4 s to 0.6 s)",
        "note    the write rate of 4 partitions to copy is not known: times are computed without it",
        "in all  1 wave, 400 bytes, 0.4 s in all",
    ]
    assert "not throttled" in run("waves", tables, "--name", "drain").stdout
    assert run("export", tables, tmp_path / "out", "--name", "drain").stdout.startswith(
        f"export  {tmp_path}/out: 7 files"
    )


def test_every_source_of_sizes_and_rates_can_be_given(tmp_path: Path, inputs: dict[str, Path]) -> None:
    given = {
        "meta": {"t": {str(p): {"Size": 50} for p in range(6)}},
        "free": {"1": {"StorageFree": 1000}},
        "capacity": {"brokerCapacities": [{"brokerId": "-1", "capacity": {"DISK": "1", "NW_IN": "1", "NW_OUT": "1"}}]},
    }
    for name, value in given.items():
        (tmp_path / name).write_text(json.dumps(value))
    rate = "kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate"
    time = "kafka_network_requestmetrics_totaltimems_99thpercentile"
    (tmp_path / "metrics").write_text(f'{rate}{{topic="t"}} 7\n{time}{{request="Produce"}} 12.5\n')
    options = ("--partition-meta", tmp_path / "meta", "--broker-metrics", tmp_path / "free")
    more = ("--capacities", tmp_path / "capacity", "--prometheus", f"1={tmp_path / 'metrics'}")
    code, collected = collect(tmp_path, inputs, "good", *options, *more)
    assert (code, collected["bases"]) == (0, {"split": 2})
    assert (collected["unrated"], collected["unsized"]) == (4, 0)
    assert collected["request_p99_ms"] == {"produce": 12.5}
    samples = Place(tmp_path / "tables", "east", "1").read(TABLES["broker_sample"]).to_pylist()
    assert [s["broker_id"] for s in samples if s["produce_p99_ms"] == 12.5] == [1]
    result = run(
        "collect", tmp_path, "--cluster", "c", "--snapshot", "1", "--map", inputs["map"], "--prometheus", "x=f"
    )
    assert (result.exit_code, "expected FILE or ID=FILE" in result.stderr) == (2, True)


def test_a_tree_of_real_kafka_is_planned(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tree = DATA / "kafka_3_9_tree_idle.json"
    assert said("collect", tables, "--cluster", "c", "--snapshot", "1", "--tree", tree)[0] == 0
    code, planned = said("drain", tables, "--brokers", "1")
    assert planned["partitions_changed"] > 0
    assert code == (0 if planned["complete"] else 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("drain", "--brokers", "1001"),
        ("fill-brokers", "--new-brokers", "1001,2001:r0"),
        ("rebalance", "--max-bytes", "5GiB"),
        ("fix-racks",),
        ("set-replication-factor", "--factor", "2", "--topics", "topic-000001"),
        ("balance-leaders",),
        ("reduce-partitions", "--partition-bytes-max", "1TB", "--partition-rate-max", "10MB"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_kind_is_printed_written_and_the_same_when_repeated(made: Path, arguments: tuple[str, ...]) -> None:
    first = said(arguments[0], made, *arguments[1:])
    assert first[0] in {0, 1}
    assert first[1]["kind"] == arguments[0]
    once = files(made)
    assert said(arguments[0], made, *arguments[1:]) == first
    assert files(made) == once
    lines = run(arguments[0], made, *arguments[1:]).stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["plan", "changes", "copies"]


@pytest.mark.slow
def test_a_dry_run_says_the_same_and_writes_nothing(made: Path, tmp_path: Path) -> None:
    before = files(tmp_path)
    code, dry = said("drain", made, "--brokers", "1001", "--dry-run", "--out", tmp_path / "plan.json")
    assert files(tmp_path) == before
    _, wet = said("drain", made, "--brokers", "1001")
    assert {**dry, "written": True} == wet
    before = files(tmp_path)
    for arguments in (("waves", made), ("export", made, tmp_path / "out")):
        assert said(*arguments, "--name", "drain", "--dry-run")[0] == code == 0
    assert run("validate", made, "--dry-run").exit_code == 0
    assert files(tmp_path) == before


def test_a_plan_that_is_made_again_takes_its_waves_away(made: Path) -> None:
    """They are of the former one."""
    said("drain", made, "--brokers", "1001", "--name", "p")
    said("waves", made, "--name", "p")
    said("drain", made, "--brokers", "1002", "--name", "p")
    assert Place(made, "east", "1").parts(TABLES["wave"]) == []
    assert Place(made, "east", "1").parts(TABLES["plan"]) == ["p"]


def test_what_is_refused_is_counted_by_reason_and_is_exit_code_1(made: Path) -> None:
    code, planned = said("set-replication-factor", made, "--factor", "10")
    assert (code, planned["complete"]) == (1, False)
    assert planned["reasons"] == {
        "every remaining broker in the possible racks already holds a replica of the partition": 24
    }
    assert "refused" in run("set-replication-factor", made, "--factor", "10").stdout


def test_a_snapshot_that_breaks_rules_is_exit_code_1(made: Path) -> None:
    clean = {"cluster": "east", "snapshot": "1", "counts": {}, "violations": [], "notes": []}
    assert said("validate", made) == (0, clean)
    code, found = said("validate", made, "--factor", "4")
    assert (code, found["counts"]) == (1, {"RF": 24})
    assert "topic-000000-0: 3, limit 4 replicas" in run("validate", made, "--factor", "4").stdout


@pytest.mark.parametrize(
    "arguments,message",
    [
        (("drain", "{tables}", "--brokers", "9"), "unknown brokers: [9]"),
        (("drain", "{tables}"), "no broker was named, and none has the state draining"),
        (
            ("drain", "{tables}", "--brokers", "1001", "--snapshot", "2"),
            "the folder has no snapshot 2 of cluster east; the last ones: 1",
        ),
        (("drain", "{tables}", "--brokers", "1001", "--name", "../x"), "--name: expected letters"),
        (("drain", "{tables}", "--brokers", "1001", "--name", ""), "--name: expected a name, got an empty string"),
        (("waves", "{tables}", "--name", ""), "--name: expected a name, got an empty string"),
        (("export", "{tables}", "{tables}/out", "--name", ""), "--name: expected a name, got an empty string"),
        (("validate", "{tables}", "--cluster", ""), "--cluster: expected a name, got an empty string"),
        (("validate", "{tables}", "--snapshot", ""), "--snapshot: expected a name, got an empty string"),
        (
            ("collect", "{tables}", "--cluster", "", "--snapshot", "1", "--map", __file__),
            "--cluster: expected a name, got an empty string",
        ),
        (
            ("drain", "{tables}", "--brokers", "1001", "--out", "{tables}"),
            "--out {tables}: expected a file, got a folder",
        ),
        (("drain", "{tables}", "--brokers", "1001", "--out", "{tables}/no/p.json"), "{tables}/no does not exist"),
        (("drain", "{tables}", "--brokers", "1001", "--out", "{file}/p.json"), "{file} is a file"),
        (("drain", "{tables}", "--brokers", "1001", "--out", "/proc/p.json"), "--out /proc/p.json: cannot be written"),
        (
            ("drain", "{tables}", "--brokers", "1001", "--report", "{tables}"),
            "--report {tables}: expected a file, got a folder",
        ),
        (("drain", "{tables}", "--brokers", "1001", "--report", "{file}/p.html"), "{file} is a file"),
        (("drain", "{tables}", "--brokers", "1001", "--all-clusters", "--out", "{file}"), "--out {file}: expected a f"),
        (("drain", "{tables}", "--brokers", "1001", "--all-clusters", "--out", "{file}/x"), "--out {file}/x: expected"),
        (
            ("drain", "{tables}", "--brokers", "1001", "--all-clusters", "--report", "/proc/x"),
            "--report /proc/x: cannot be written",
        ),
        (
            ("drain", "{tables}", "--brokers", "1001", "--all-clusters", "--out", "{taken}"),
            "east.json: expected a file, got a folder",
        ),
        (("drain", "{tables}", "--brokers", "1001", "--disk-share", "2"), "disk share"),
        (("drain", "{tables}/none", "--brokers", "1"), "the folder does not exist"),
        (("waves", "{tables}", "--name", "none"), "no plan none of cluster east, snapshot 1"),
        (("export", "{tables}", "{tables}/out", "--name", "none"), "no plan none of cluster east, snapshot 1"),
        (("export", "{tables}", "{tables}", "--name", "none"), "no plan none of cluster east, snapshot 1"),
        (("collect", "{tables}", "--cluster", "c", "--snapshot", "1", "--store", "memory:/none"), "memory:/none"),
        (("collect", "{tables}", "--cluster", "c", "--snapshot", "1", "--map", __file__), "not a whole JSON file"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(made: Path, arguments: tuple[str, ...], message: str) -> None:
    there = {"tables": made, "file": made.parent / "file", "taken": made.parent / "taken"}
    there["file"].touch()
    (there["taken"] / "east.json").mkdir(parents=True)
    before = files(made)
    result = run(*(argument.format(**there) for argument in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message.format(**there) in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert files(made) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("drain", "t", "--brokers", "x"),
        ("drain", "t", "--brokers", "1,1"),
        ("drain", "t", "--brokers", "-1"),
        *(
            ("drain", "{tables}", "--brokers", text)
            for text in ("10_01", "+1001", "\uff11\uff10\uff10\uff11", "1001,", "1001, 1001", "1e3")
        ),
        *(
            ("fill-brokers", "{tables}", "--new-brokers", text)
            for text in ("1_0:a", "+7", "\uff17:a", "7:a,", "3000000000")
        ),
        ("rebalance", "{tables}", "--tolerance", "0.0_1"),
        ("rebalance", "{tables}", "--tolerance", "nan"),
        ("rebalance", "{tables}", "--max-bytes", "5_0GB"),
        ("set-replication-factor", "{tables}", "--factor", "+2"),
        ("validate", "{tables}", "--factor", "\uff12"),
        ("rebalance", "t", "--max-bytes", "many"),
        ("drain", "t", "--engine", "spark"),
        ("collect", "t", "--cluster", "c", "--snapshot", "s"),
    ],
)
def test_bad_arguments_are_exit_code_2(made: Path, arguments: tuple[str, ...]) -> None:
    """In `made` broker 1001 could be drained: Python's int() reads it in 10_01."""
    assert run(*(argument.format(tables=made) for argument in arguments)).exit_code == 2


def test_lists_may_have_blanks(made: Path) -> None:
    assert said("drain", made, "--brokers", "1001, 1002")[1]["settings"]["brokers"] == [1001, 1002]
    topics = "topic-000000, topic-000001"
    assert said("set-replication-factor", made, "--factor", "2", "--topics", topics)[1]["partitions_changed"] == 12


@pytest.mark.parametrize("text,bytes_", [("5", 5), ("5KiB", 5120), ("1.5GB", 1_500_000_000), ("2T", 2 * 10**12)])
def test_bytes_are_spelled_with_units(made: Path, text: str, bytes_: int) -> None:
    _, planned = said("rebalance", made, "--max-bytes", text)
    assert planned["settings"]["bytes_max"] == bytes_


def test_a_broken_table_is_named(made: Path) -> None:
    (made / "partition/cluster=east/snapshot=1/part.parquet").write_bytes(b"torn")
    result = run("drain", made, "--brokers", "1001")
    assert result.exit_code == 2
    assert "part.parquet: cannot be read as Parquet" in result.stderr


@pytest.mark.slow
def test_without_the_extra_the_command_says_which_one_it_needs() -> None:
    """The rest of `kedge` is loaded without numpy and pyarrow."""
    program = (
        "import sys\nsys.modules['numpy'] = sys.modules['pyarrow'] = None\n"
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name in ('numpy', 'pyarrow') else find(name, *a)\n"
        "from kedge.controller.cli import main\nsys.argv = ['kedge', *sys.argv[1:]]\nmain()\n"
    )
    for arguments, code in ((["plan", "drain", "t"], 2), (["--help"], 0)):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert ("pip install 'kedge[pipeline]'" in done.stderr) is (code == 2)


@on_servers
def test_a_cluster_in_a_real_store_is_collected_and_planned(make: Make, tmp_path: Path) -> None:
    """Brokers that register there are alive; one that only holds replicas is dead."""
    url = make(tmp_path)
    with closing(open_store(url)) as store:
        rows = [tuple(1001 + (p + i) % 4 for i in range(3)) for p in range(12)]
        states = [
            Put(keys.state("t", p), partition_state.encode(Partition("t", p, r, r, r[0], 0), 1), ABSENT)
            for p, r in enumerate(rows)
        ]
        store.commit([Put(keys.topic("t"), topic.encode(Topic("t", "A" * 22), rows), ABSENT), *states], timeout_s=10)
        registered = [
            Put(keys.broker(b), broker_codec.encode(BrokerRegistration(b, rack=f"r{b}"), 5, 0), ABSENT, ephemeral=True)
            for b in (1001, 1002, 1003, 1005)
        ]
        store.commit(registered, timeout_s=10)
        code, collected = said("collect", tmp_path / "tables", "--cluster", "c", "--snapshot", "1", "--store", url)
    assert (code, collected["partitions"], collected["brokers"]) == (0, 12, 5)
    code, found = said("validate", tmp_path / "tables")
    assert (code, found["counts"]) == (1, {"DEAD": 9})
    code, planned = said("drain", tmp_path / "tables", "--brokers", "1001,1004")
    assert (code, planned["complete"], planned["replicas_copied"]) == (0, True, 18)
