"""What `kedge plan` does not know is reported: sizes, rates, snapshots that changed, throttles, names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.submit.exported import read_export
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER_VALID, PLAN, REPLICA_LOAD, TABLES
from kedge.pipeline.tables.files import Place
from tests.cli.plans import files, is_refused, put, said
from tests.kit.commands import plan as run

UNKNOWN = (
    "the size of 6 partitions is not known; 4 of them are copied: sums, bounds and balance of bytes do not include them"
)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    put(tmp_path / "tables")
    return tmp_path / "tables"


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    """What comes of a map and a list of brokers alone: no size is known."""
    entries: list[Any] = [{"topic": "t", "partition": p, "replicas": [1 + p % 3, 1 + (p + 1) % 3]} for p in range(6)]
    (tmp_path / "map.json").write_text(json.dumps({"version": 1, "partitions": entries}))
    (tmp_path / "brokers.json").write_text(json.dumps({"1": "a", "2": "b", "3": "c", "4": "a"}))
    named = ("--cluster", "east", "--snapshot", "1", "--map", tmp_path / "map.json")
    line = ("collect", tmp_path / "tables", *named, "--broker-list", tmp_path / "brokers.json")
    assert run(*line).stdout.splitlines()[1:] == [
        "holds     4 brokers, 6 partitions, no size is known",
        "rates     not known for 6 partitions",
    ]
    return tmp_path / "tables"


def with_sizes(tables: Path, **columns: Any) -> None:
    """The snapshot with other loads: of each column, a value per partition."""
    place = Place(tables, "east", "1")
    rows = [{**row, **{name: values[i] for name, values in columns.items()}}
            for i, row in enumerate(place.read(REPLICA_LOAD).to_pylist())]  # fmt: skip
    place.write(REPLICA_LOAD, from_rows(REPLICA_LOAD, [list(row.values()) for row in rows]))


@pytest.mark.slow
def test_a_check_says_what_no_capacity_was_held_against(collected: Path, tmp_path: Path) -> None:
    place = Place(collected, "east", "1")
    assert said("validate", collected)[1]["notes"] == []  # no capacity is known either
    rows = [
        {**row, "disk_capacity_bytes": 10**12, "nw_in_capacity_bps": 1e9}
        for row in place.read(BROKER_VALID).to_pylist()
    ]
    place.write(BROKER_VALID, from_rows(BROKER_VALID, [list(row.values()) for row in rows]))
    notes = [
        "the size of 6 partitions is not known: disks were checked without them",
        "the rate of 6 partitions is not known: networks were checked without them",
    ]
    code, found = said("validate", collected)
    assert (code, found["notes"]) == (0, notes)
    assert [line.partition("  ")[2].strip() for line in run("validate", collected).stdout.splitlines()][-3:-1] == notes
    place.remove(REPLICA_LOAD)
    assert said("validate", collected)[1]["notes"] == notes
    put(tmp_path / "known")
    assert said("validate", tmp_path / "known")[1]["notes"] == []


@pytest.mark.slow
def test_a_plan_without_sizes_says_so_and_tells_no_bytes(collected: Path, tmp_path: Path) -> None:
    lines = dict(line.split("  ", 1) for line in run("drain", collected, "--brokers", "1").stdout.splitlines())
    assert lines["copies"].strip() == "an unknown number of bytes is copied"
    assert lines["most bytes"].strip() == "not known"
    assert lines["note"].strip() == UNKNOWN
    code, planned = said("drain", collected, "--brokers", "1")
    assert (code, planned["notes"], planned["copied_unsized"]) == (0, [UNKNOWN], 4)
    assert [planned[name] for name in ("bytes_copied", "bytes_bound", "size_max_mean_after")] == [None] * 3
    assert "0 bytes" not in run("waves", collected, "--name", "drain", "--throttle", "1MB").stdout
    code, cut = said("waves", collected, "--name", "drain", "--throttle", "1MB")
    assert [(wave["bytes"], wave["eta_s"], wave["unsized"]) for wave in cut["waves"]] == [(None, None, 4)]
    assert cut["notes"] == ["the size of 4 partitions to copy is not known, and so is the time that they take"]
    assert run("export", collected, tmp_path / "out", "--name", "drain").exit_code == 0
    page = (tmp_path / "out/report.html").read_text()
    assert f"Note: {UNKNOWN}." in page
    assert 'class="verdict warn"' in page
    assert "0 bytes" not in page.replace("0 bytes per second", "")
    assert json.loads((tmp_path / "out/summary.json").read_bytes())["bytes_copied"] is None
    assert [wave.bytes for wave in read_export(tmp_path / "out").waves] == [None]


@pytest.mark.parametrize("line", [("rebalance",), ("fill-brokers", "--new-brokers", "4")], ids=["rebalance", "add"])
def test_unknown_bytes_cannot_be_levelled(line: tuple[str, ...], collected: Path, tmp_path: Path) -> None:
    verb, *more = line
    notes = ["the size of 6 partitions is not known: the plan cannot level bytes"]
    code, planned = said(verb, collected, *more, "--report", tmp_path / "page.html")
    assert (code, planned["complete"], planned["notes"]) == (1, False, notes)
    assert f"the whole request was refused. Note: {notes[0]}." in (tmp_path / "page.html").read_text()
    with_sizes(collected, size_bytes=[1000, None, None, None, None, None])
    assert said(verb, collected, *more)[1]["notes"][0].endswith("do not include them")


def test_budget_that_ends_before_the_level_is_reported(made: Path) -> None:
    code, planned = said("rebalance", made, "--max-bytes", "0")
    most = planned["size_max_mean_after"]
    what = f"the fullest broker stays at {most:.4f}, above the requested 1.01 times the mean"
    assert planned["notes"] == [f"{what}: at most 0 bytes may be copied"]
    assert (code, planned["complete"], planned["rejected"], planned["replicas_copied"]) == (1, False, 0, 0)
    enough = said("rebalance", made, "--max-bytes", "0", "--tolerance", "0.9")
    assert (enough[0], enough[1]["notes"]) == (0, [])
    code, planned = said("rebalance", made, "--max-bytes", "300MB")
    assert (code, planned["notes"]) == (1, []), "each replica that stays has its reason"
    assert "the replica exceeds the bytes that may still be moved" in planned["reasons"]


def test_plans_without_sizes_are_compared_and_no_bytes_are_printed(collected: Path) -> None:
    assert run("drain", collected, "--brokers", "1").exit_code == 0
    assert run("drain", collected, "--brokers", "1,2", "--name", "both").exit_code == 0
    result = run("compare", collected, "--name", "drain", "--name", "both")
    assert result.exit_code == 0
    assert result.stdout.count("not known") == 12, "copies, bound and balance of two rows and two sums"
    assert "0 bytes" not in result.stdout
    assert result.stdout.splitlines()[-1] == "brokers  drain: [1]; both: [1, 2]"
    _, found = said("compare", collected, "--name", "drain")
    assert found["totals"][0]["bytes_copied"] is None


@pytest.mark.slow
def test_where_some_sizes_are_known_the_sum_is_of_those_and_says_of_how_many_it_is_not(collected: Path) -> None:
    with_sizes(collected, size_bytes=[1000, 1000, 1000, None, None, None])
    code, planned = said("drain", collected, "--brokers", "1")
    assert (code, planned["bytes_copied"], planned["copied_unsized"]) == (0, 2000, 2)
    stdout = run("drain", collected, "--brokers", "1").stdout
    assert "2.0 KiB and 2 partitions of unknown size are copied, at least 2.0 KiB have to be" in stdout
    waves = run("waves", collected, "--name", "drain", "--throttle", "1KiB").stdout
    assert "time not known" in waves


@pytest.mark.slow
def test_unknown_writes_are_reported_beside_times_that_take_them_for_none(collected: Path) -> None:
    with_sizes(collected, size_bytes=[2048] * 6)
    assert run("drain", collected, "--brokers", "1").exit_code == 0
    code, cut = said("waves", collected, "--name", "drain", "--throttle", "1KiB")
    what = "the write rate of 4 partitions to copy is not known: times are computed without it"
    assert (code, cut["notes"]) == (0, [what])
    with_sizes(collected, write_bps=[1.0] * 6, completeness=[1.0] * 6)
    assert run("drain", collected, "--brokers", "1").exit_code == 0
    assert said("waves", collected, "--name", "drain", "--throttle", "1KiB")[1]["notes"] == []


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["waves", "export"])
def test_plan_of_a_recollected_snapshot_is_refused_until_it_is_made_again(
    made: Path, tmp_path: Path, verb: str
) -> None:
    line = (verb, made, *([tmp_path / "out"] if verb == "export" else []), "--name", "drain")
    drain = ("drain", made, "--brokers", "1001")
    assert run(*drain).exit_code == 0
    put(made)
    assert run(*line).exit_code == 0, "the same was collected again"
    put(made, host="elsewhere")
    before = files(tmp_path)
    says = "plan drain: its snapshot was collected again after the plan was made; make the plan again"
    assert is_refused(*line, says=says)
    assert files(tmp_path) == before
    assert run(*drain).exit_code == 0
    assert run(*line).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["waves", "export"])
def test_only_the_recollected_cluster_of_a_fleet_is_left_out(made: Path, tmp_path: Path, verb: str) -> None:
    put(made, "west", seed=2)
    out = [tmp_path / "out"] if verb == "export" else []
    line = (verb, made, *out, "--name", "balance-leaders", "--all-clusters")
    assert run("balance-leaders", made, "--all-clusters").exit_code == 0
    put(made, seed=3)
    done = run(*line, "--json")
    assert (done.exit_code, [row["cluster"] for row in json.loads(done.stdout)["clusters"]]) == (2, ["west"])
    assert done.stderr.startswith("cluster east: plan balance-leaders: its snapshot was collected again")


@pytest.mark.slow
def test_waves_without_a_reasonable_end_are_printed_in_years_with_exit_code_1(collected: Path) -> None:
    with_sizes(collected, size_bytes=[10**14] * 6, write_bps=[0.0] * 6, completeness=[1.0] * 6)
    assert run("drain", collected, "--brokers", "1").exit_code == 0
    line = ("waves", collected, "--name", "drain", "--per-broker", 20, "--throttle", "1MB")
    result = run(*line)
    (note,) = [text for text in result.stdout.splitlines() if text.startswith("note")]
    assert result.exit_code == 1
    assert " years" in note
    assert "use a higher rate (--throttle" in note
    code, cut = said(*line)
    assert (code, len(cut["notes"])) == (1, 1)
    assert cut["waves"][0]["eta_s"] > 2 * 365 * 86_400
    assert run(*line[:-1], "10GB").exit_code == 0


def test_times_are_read_in_hours_and_days_and_are_seconds_in_json(collected: Path) -> None:
    with_sizes(collected, size_bytes=[10**10] * 6)
    assert run("drain", collected, "--brokers", "1").exit_code == 0
    stdout = run("waves", collected, "--name", "drain", "--throttle", "1MB").stdout
    code, cut = said("waves", collected, "--name", "drain", "--throttle", "1MB")
    assert (code, [wave["eta_s"] for wave in cut["waves"]]) == (0, [40_000.0])
    assert "11 h 6 min" in stdout


def test_missing_plan_is_reported_with_the_names_of_those_that_exist(made: Path) -> None:
    result = run("waves", made, "--name", "nope")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "kedge: no plan nope of cluster east, snapshot 1: no plan was made of it\n"
    assert run("balance-leaders", made).exit_code == 0
    assert run("rebalance", made, "--name", "second").exit_code in {0, 1}
    for line in (("waves", made), ("export", made, made.parent / "out")):
        result = run(*line, "--name", "nope")
        assert result.stderr == "kedge: no plan nope of cluster east, snapshot 1: there are balance-leaders, second\n"
    result = run("waves", made, "--name", "nope", "--all-clusters")
    assert result.stderr == f"kedge: {made}: no cluster has a plan nope\n"


def test_settings_are_json_values_where_they_are_written_as_json(made: Path, tmp_path: Path) -> None:
    code, planned = said("drain", made, "--brokers", "1001,1002")
    wanted = {"brokers": [1001, 1002], "disk_share": 0.85, "network_share": 0.8, "ignore_racks": False}
    assert (code, planned["settings"]) == (0, {**planned["settings"], **wanted})
    assert run("export", made, tmp_path / "out", "--name", "drain").exit_code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_bytes())
    assert summary["settings"] == planned["settings"]
    manifest = json.loads((tmp_path / "out/manifest.json").read_bytes())
    (digest,) = Place(made, "east", "1").read(PLAN, "drain").column("snapshot_sha256").to_pylist()
    assert manifest["snapshot_sha256"] == summary["snapshot_sha256"] == digest
    assert said("rebalance", made)[1]["settings"]["bytes_max"] is None


def test_leader_that_is_not_the_preferred_one_is_reported_in_words(made: Path) -> None:
    place = Place(made, "east", "1")
    partition = place.read(TABLES["partition"])
    rows = partition.to_pylist()
    rows[0]["leader"] = rows[0]["replicas"][2]
    place.write(TABLES["partition"], from_rows(TABLES["partition"], [list(row.values()) for row in rows]))
    result = run("validate", made)
    assert result.exit_code == 1
    assert "topic-000000-0 is led by replica 3 instead of the first one (the preferred leader)" in result.stdout
