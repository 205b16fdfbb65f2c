"""`kedge plan list`, `show` and `is-empty`: what there is, one plan, and what is left on drained brokers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.stages.apply import apply
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, PLAN_MOVE, REJECTED_ROWS, REPLICA_LOAD, WAVE_MOVE
from kedge.pipeline.tables.files import Place
from kedge.pipeline.tables.rejects import Rejects
from tests.cli.plans import files, is_refused, put, said
from tests.kit.commands import plan as run

DRAINED = (1001, 1002)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Two snapshots, of which the second one has a plan with waves."""
    tables = tmp_path / "tables"
    for day in ("2026-11-19", "2026-11-20"):
        put(tables, snapshot=day)
    assert said("drain", tables, "--brokers", "1001,1002")[0] == 0
    assert said("waves", tables, "--name", "drain", "--per-broker", "2", "--throttle", "50MB")[0] == 0
    return tables


def collect_again(tables: Path, *more: dict[str, Any], rejected: Sequence[tuple[Any, ...]] = ()) -> None:
    """A later snapshot, in which the plan has run. `more`: partitions, as values that differ from the first row."""
    planned, place = Place(tables, "east", "2026-11-20"), Place(tables, "east", "2026-11-21")
    rows = apply(planned.read(PARTITION), planned.read(PLAN_MOVE, "drain")).to_pylist()
    rows += [{**rows[0], **one} for one in more]
    place.write(PARTITION, from_rows(PARTITION, [list(row.values()) for row in rows]))
    place.write(REJECTED_ROWS, from_rows(REJECTED_ROWS, rejected))
    for table in (BROKER, REPLICA_LOAD):
        place.write(table, planned.read(table))


# --- list


def test_list_has_every_snapshot_and_every_plan(made: Path) -> None:
    said("balance-leaders", made, "--name", "even")
    code, found = said("list", made)
    plans = {one["snapshot"]: [(plan["plan"], plan["waves"]) for plan in one["plans"]] for one in found["snapshots"]}
    assert (code, plans) == (0, {"2026-11-19": [], "2026-11-20": [("drain", 4), ("even", None)]})
    assert [one["snapshot"] for one in said("list", made, "--until", "2026-11-19")[1]["snapshots"]] == ["2026-11-19"]
    put(made, "west", "1")
    rows = json.loads(run("list", made, "--all-clusters", "--engine", "local", "--json").stdout)["clusters"]
    assert [(row["cluster"], row["snapshot"]) for row in rows][-2:] == [("east", "2026-11-20"), ("west", "1")]


def test_list_is_a_table_with_a_row_for_a_snapshot_without_plans(made: Path) -> None:
    head, *rows = (line.split() for line in run("list", made).stdout.splitlines())
    assert head == ["snapshot", "plan", "kind", "partitions", "copies", "complete", "waves", "time"]
    assert [row[:3] for row in rows] == [["2026-11-19", "none"], ["2026-11-20", "drain", "drain"]]
    assert rows[1][6:8] == ["yes", "4"]


# --- show


def test_show_has_the_largest_moves_with_their_waves(made: Path) -> None:
    code, found = said("show", made, "--name", "drain", "--rows", "3")
    place = Place(made, "east", "2026-11-20")
    moves = place.read(PLAN_MOVE, "drain").to_pylist()
    assert (code, [move["bytes"] for move in found["moves"]]) == (0, sorted(m["bytes"] for m in moves)[:-4:-1])
    assert found["more"] == {"moves": len(moves) - 3, "refused": 0, "waves": 1}
    numbers = {(row["topic"], row["partition"]): row["wave"] for row in place.read(WAVE_MOVE, "drain").to_pylist()}
    assert [move["waves"] for move in found["moves"]] == [
        [numbers[move["topic"], move["partition"]]] for move in found["moves"]
    ]


def test_show_prints_the_plan_as_its_command_did_and_how_much_is_left_out(made: Path) -> None:
    planned = run("drain", made, "--brokers", "1001,1002", "--name", "again").stdout
    shown = run("show", made, "--name", "again", "--rows", "2").stdout
    assert shown.startswith(planned)
    lines = shown.removeprefix(planned).splitlines()
    assert lines[0].split() == ["move", "replicas", "target", "bytes", "wave"]
    assert (len(lines), lines[-1]) == (4, "13 more moves: --rows N shows up to N of them")


def test_show_has_what_was_refused_by_plan_and_waves(made: Path) -> None:
    assert said("set-replication-factor", made, "--factor", "10", "--name", "many")[0] == 1
    _, found = said("show", made, "--name", "many", "--rows", "100")
    assert (len(found["refused"]), found["more"]["refused"]) == (24, 0)
    assert {row["reason"] for row in found["refused"]} == set(found["reasons"])
    assert said("waves", made, "--name", "drain", "--throttle", "1KiB")[0] == 1
    late = said("show", made, "--name", "drain", "--rows", "100")[1]["refused"]
    assert late
    assert all("written" in row["reason"] or "never end" in row["reason"] for row in late)


def test_neither_list_nor_show_nor_is_empty_writes(made: Path) -> None:
    before = files(made)
    for line in (("list", made), ("show", made, "--name", "drain"), ("is-empty", made, "--brokers", "1001")):
        assert run(*line).exit_code in (0, 1)
    assert files(made) == before
    assert is_refused("show", made, "--name", "no", says="no plan no of cluster east, snapshot 2026-11-20: there are ")


# --- is-empty


def emptiness(tables: Path, *more: object) -> tuple[int, Any]:
    return said("is-empty", tables, "--brokers", "1001,1002", *more)


def test_drained_brokers_are_empty_once_the_plan_has_run(made: Path) -> None:
    code, before = emptiness(made)
    assert (code, before["empty"], before["plan_snapshot"]) == (1, False, "2026-11-20")
    collect_again(made)
    code, after = emptiness(made)
    assert (code, after["empty"], after["partitions"]) == (0, True, 0)
    assert [set(row.values()) for row in after["brokers"]] == [{1001, 0}, {1002, 0}]
    lines = run("is-empty", made, "--brokers", "1001,1002").stdout.splitlines()
    assert lines[1] == "broker 1001  is empty: it holds no replica and leads no partition"
    assert lines[-1].startswith(
        "warning      brokers 1001, 1002 still get replicas of new topics until they are stopped"
    )


def test_what_is_left_is_counted_with_its_bytes(made: Path) -> None:
    place = Place(made, "east", "2026-11-20")
    sizes = {(row["topic"], row["partition"]): row["size_bytes"] for row in place.read(REPLICA_LOAD).to_pylist()}
    rows = [row for row in place.read(PARTITION).to_pylist() if 1001 in row["replicas"]]
    (found,) = said("is-empty", made, "--brokers", "1001")[1]["brokers"]
    assert found == {
        "broker_id": 1001,
        "replicas": len(rows),
        "leaders": sum(row["leader"] == 1001 for row in rows),
        "incoming": 0,
        "bytes": sum(sizes[row["topic"], row["partition"]] for row in rows),
    }


def test_topics_created_after_the_plan_are_named(made: Path) -> None:
    old = {"topic": "topic-000000", "partition": 77, "replicas": [1001, 1003], "isr": [1001], "leader": 1003}
    collect_again(made, {**old, "topic": "late"}, old, {**old, "topic": "elsewhere", "replicas": [1003]})
    code, found = emptiness(made)
    assert (code, found["left"], found["new_topics"]) == (1, ["late-77", "topic-000000-77"], ["late"])
    assert "new          created after the plan: late" in run("is-empty", made, "--brokers", "1001").stdout
    assert emptiness(made, "--name", "never")[1]["new_topics"] is None


def test_topics_are_compared_with_the_last_plan_up_to_the_snapshot(made: Path) -> None:
    said("drain", made, "--brokers", "1001", "--snapshot", "2026-11-19")
    assert emptiness(made)[1]["plan_snapshot"] == "2026-11-20"
    assert emptiness(made, "--snapshot", "2026-11-19")[1]["plan_snapshot"] == "2026-11-19"


@pytest.mark.parametrize(
    "row",
    [
        {"replicas": [1003], "isr": [1003], "leader": 1003, "target_replicas": [1002]},
        {"replicas": [1003], "isr": [1003], "leader": 1002},
        {"replicas": [1003, 1002], "isr": [1003], "leader": 1003},
    ],
    ids=["target", "leader", "replica"],
)
def test_a_broker_with_one_partition_is_not_empty(made: Path, row: dict[str, Any]) -> None:
    collect_again(made, {"topic": "t", "partition": 0, **row})
    code, found = emptiness(made)
    assert (code, found["left"]) == (1, ["t-0"])
    assert [sum(one[name] for name in ("replicas", "leaders", "incoming")) for one in found["brokers"]] == [0, 1]


@pytest.mark.parametrize(
    "raw,named",
    [
        ({"topic": "t", "partition": 9, "replicas": [1001, "x"]}, ["t-9"]),
        ({"topic": "t", "partition": 9, "replicas": [1003], "target_replicas": [1002]}, ["t-9"]),
        ({"topic": "t", "partition": 9, "replicas": "1003"}, ["t-9"]),  # cannot be read
        ({"topic": "t", "partition": 9, "replicas": [1003]}, []),
        ({"broker": 1001}, []),
        ("1001 of a file of text", []),
    ],
)
def test_rejected_rows_of_partitions_count(made: Path, raw: object, named: list[str]) -> None:
    rejects = Rejects()
    rejects.add("map.json", 7, raw, "bad")
    collect_again(made, rejected=rejects.rows)
    code, found = emptiness(made)
    assert (code, found["empty"], found["rejected"]) == (bool(named), not named, named)


def test_a_broker_that_left_the_cluster_is_empty_and_an_unknown_one_is_refused(made: Path) -> None:
    collect_again(made)
    place = Place(made, "east", "2026-11-21")
    rows = [list(row.values()) for row in place.read(BROKER).to_pylist() if row["broker_id"] not in DRAINED]
    place.write(BROKER, from_rows(BROKER, rows))
    assert emptiness(made)[0] == 0
    assert is_refused("is-empty", made, "--brokers", "1001,77", says="unknown brokers: [77]; the snapshot has [1003")


def test_without_brokers_those_in_state_draining_count(made: Path) -> None:
    assert is_refused("is-empty", made, says="no broker was named, and none has the state draining")
    put(made, "west", "1", state="draining")
    done = run("is-empty", made, "--all-clusters", "--engine", "local", "--json")
    assert (done.exit_code, done.stderr.startswith("cluster east: is-empty: no broker was named")) == (1, True)
    assert [[b["broker_id"] for b in row["brokers"]] for row in json.loads(done.stdout)["clusters"]] == [[1001]]


# --- the warning of a drain


@pytest.mark.parametrize(
    "brokers,named", [("1001", "broker 1001 still gets"), ("1001,1002", "brokers 1001, 1002 still")]
)
def test_drain_warns_that_drained_brokers_get_new_topics(made: Path, brokers: str, named: str) -> None:
    (warning,) = said("drain", made, "--brokers", brokers)[1]["warnings"]
    assert warning.startswith(named)
    assert "cordoned.log.dirs=*" in warning
    lines = run("drain", made, "--brokers", brokers).stdout.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("warning ")] == [warning]
    assert said("rebalance", made)[1]["warnings"] == []


def test_drain_of_draining_brokers_warns_of_these(made: Path) -> None:
    put(made, "west", "1", state="draining")
    (warning,) = said("drain", made, "--cluster", "west")[1]["warnings"]
    assert warning.startswith("broker 1001 still gets")
