"""`kedge plan`: from files and stores to an export, what is printed, and which exit code says what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
from tests.cli.plans import files, put, said
from tests.kit.commands import plan as run


@pytest.fixture
def made(tmp_path: Path) -> Path:
    tables = tmp_path / "tables"
    put(tables)
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
        "logs": {"version": 1, "brokers": logs},
    }
    found = {}
    for name, value in contents.items():
        found[name] = tmp_path / f"{name}.json"
        found[name].write_text(json.dumps(value))
    return found


def collect(tmp_path: Path, inputs: dict[str, Path], *more: object) -> tuple[int, Any]:
    named = ("--cluster", "east", "--snapshot", "1", "--map", inputs["map"], "--broker-list", inputs["brokers"])
    return said("collect", tmp_path / "tables", *named, "--log-dirs", inputs["logs"], *more)


@pytest.mark.slow
def test_a_snapshot_goes_all_the_way_to_an_export(tmp_path: Path, inputs: dict[str, Path]) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    code, collected = collect(tmp_path, inputs)
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


@pytest.mark.slow
def test_what_people_read_says_waves_files_rates_and_totals(tmp_path: Path, inputs: dict[str, Path]) -> None:
    tables = tmp_path / "tables"
    named = ("--cluster", "east", "--snapshot", "1", "--map", inputs["map"], "--broker-list", inputs["brokers"])
    assert run("collect", tables, *named, "--log-dirs", inputs["logs"]).stdout.splitlines() == [
        "snapshot  1 of east",
        "holds     4 brokers, 6 partitions, 1.2 KiB",
        "rates     not known for 6 partitions",
        "note      no disk capacity is known, neither from brokers nor from files: no limit of disks applies",
    ]
    assert "not written" in run("drain", tables, "--brokers", "1", "--dry-run").stdout
    assert run("drain", tables, "--brokers", "1").exit_code == 0
    lines = run("waves", tables, "--name", "drain", "--throttle", "1KiB").stdout.splitlines()
    assert lines == [
        "wave 1  4 partitions, 4 copies, 400 bytes, 0.4 s (0.4 s to 0.6 s)",
        "note    the write rate of 4 partitions to copy is not known: times are computed without it",
        "in all  1 wave with 400 bytes in 0.4 s",
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
    code, collected = collect(tmp_path, inputs, *options, *more)
    assert (code, collected["bases"]) == (0, {"split": 2})
    assert (collected["unrated"], collected["unsized"]) == (4, 0)
    assert collected["request_p99_ms"] == {"produce": 12.5}
    samples = Place(tmp_path / "tables", "east", "1").read(TABLES["broker_sample"]).to_pylist()
    assert [s["broker_id"] for s in samples if s["produce_p99_ms"] == 12.5] == [1]
    result = run(
        "collect", tmp_path, "--cluster", "c", "--snapshot", "1", "--map", inputs["map"], "--prometheus", "x=f"
    )
    assert (result.exit_code, "expected FILE or ID=FILE" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("drain", "--brokers", "1001"),
        ("fill-brokers", "--new-brokers", "1001,2001:r0"),
        ("rebalance", "--max-bytes", "5GiB"),
        ("fix-racks",),
        ("set-replication-factor", "--factor", "2", "--topics", "topic-000001"),
        ("balance-leaders",),
        ("demote", "--brokers", "1001"),
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
    assert "topic-000000-0 has 3 replicas instead of 4" in run("validate", made, "--factor", "4").stdout


def test_a_broken_table_is_named(made: Path) -> None:
    (made / "partition/cluster=east/snapshot=1/part.parquet").write_bytes(b"torn")
    result = run("drain", made, "--brokers", "1001")
    assert result.exit_code == 2
    assert "part.parquet: cannot be read as Parquet" in result.stderr
