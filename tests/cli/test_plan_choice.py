"""`kedge plan` with topics, sizes, brokers and racks that are chosen, and `demote` with its way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.pipeline.errors import BadInput
from kedge.pipeline.policy import read_policy
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.choice import Choice
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, PLAN, PLAN_MOVE, REPLICA_LOAD
from kedge.pipeline.tables.files import Place
from tests.cli.plans import is_refused, put, said
from tests.kit.commands import plan as run
from tests.kit.commands import run as kedge


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Nine brokers from 1001 on in racks r0, r1 and r2, with the topics topic-000000 to 3 of six partitions."""
    put(tmp_path / "tables")
    return tmp_path / "tables"


def test_a_drain_moves_what_is_chosen_and_reports_the_rest(made: Path) -> None:
    line = ("drain", made, "--brokers", "1001", "--topics", "topic-00000[01]", "--exclude-topics", "topic-000000")
    code, planned = said(*line, "--to-brokers", "1004,rack:r1", "--min-racks", "2", "--prefer-rack-local")
    assert (code, planned["complete"]) == (1, False)
    assert set(planned["reasons"]) == {"--topics or --exclude-topics leaves the topic out"}
    moves = Place(made, "east", "1").read(PLAN_MOVE, "drain").to_pylist()
    assert {move["topic"] for move in moves} == {"topic-000001"}
    assert {b for move in moves for b in set(move["target_replicas"]) - set(move["replicas"])} == {1004}
    chosen = {name: planned["settings"][name] for name in ("topics", "to_brokers", "min_racks", "prefer_rack_local")}
    assert chosen == {
        "topics": ["topic-00000[01]"],
        "to_brokers": [1004, "rack:r1"],
        "min_racks": 2,
        "prefer_rack_local": True,
    }


def test_sizes_and_excluded_brokers_are_options_of_each_plan(made: Path) -> None:
    line = ("rebalance", made, "--exclude-brokers", "1001,1002", "--min-size", "100MB", "--max-size", "1GB")
    _, planned = said(*line, "--dry-run")
    settings = planned["settings"]
    assert (settings["exclude_brokers"], settings["min_size"], settings["max_size"]) == ([1001, 1002], 10**8, 10**9)
    refused = run(
        "reduce-partitions", made, "--partition-bytes-max", "1GB", "--partition-rate-max", "1GB", "--min-size", "1"
    )
    assert (refused.exit_code, "No such option '--min-size'" in refused.stderr) == (2, True)


def test_a_check_takes_the_minimum_of_racks(made: Path) -> None:
    place = Place(made, "east", "1")
    rows = [[*list(row.values())[:2], "r0" if row["rack"] == "r1" else row["rack"], *list(row.values())[3:]]
            for row in place.read(BROKER).to_pylist()]  # fmt: skip
    rows[8][2] = "r1"  # a rack that most partitions are not in
    place.write(BROKER, from_rows(BROKER, rows))
    assert said("validate", made)[1]["counts"]["RACK"] > 0
    assert said("validate", made, "--min-racks", "2") == (
        0,
        {**said("validate", made, "--min-racks", "2")[1], "counts": {}},
    )


def test_a_demoted_broker_leads_again_after_undo(made: Path) -> None:
    """The snapshot of the next day shows the order that the plan produced; another one is planned from it."""
    first = Place(made, "east", "1")
    code, planned = said("demote", made, "--brokers", "1001")
    assert (code, planned["kind"], planned["bytes_copied"], planned["complete"]) == (0, "demote", 0, True)
    for table in (BROKER, REPLICA_LOAD):
        Place(made, "east", "2").write(table, first.read(table))
    after = apply(first.read(PARTITION), first.read(PLAN_MOVE, "demote"))
    Place(made, "east", "2").write(PARTITION, after)
    code, undone = said("demote", made, "--undo", "demote")
    assert (code, undone["plan"], undone["snapshot"]) == (0, "undo", "2")
    assert undone["partitions_changed"] == planned["partitions_changed"] > 0
    back = apply(after, Place(made, "east", "2").read(PLAN_MOVE, "undo"))
    assert back == first.read(PARTITION)
    assert [Place(made, "east", day).parts(PLAN) for day in ("1", "2")] == [["demote"], ["undo"]]


def test_undo_never_takes_a_plan_of_a_later_snapshot(made: Path) -> None:
    put(made, snapshot="2")
    said("demote", made, "--brokers", "1001")
    says = "no plan demote of cluster east in any snapshot up to 1"
    assert is_refused("demote", made, "--undo", "demote", "--snapshot", "1", says=says)


POLICY = """
tables = "tables"
out = "plans"
[default]
steps = ["rebalance"]
tolerance = 0.0
topics = ["topic-*"]
exclude-topics = ["topic-000003"]
to-brokers = [1004, "rack:r1"]
exclude-brokers = [1002]
min-size = "1MB"
max-size = "5GiB"
min-racks = 2
prefer-rack-local = true
"""


def test_a_policy_gives_the_same_choice(made: Path) -> None:
    file = made.parent / "policy.toml"
    file.write_text(POLICY)
    assert read_policy(file).of("east").choice == Choice(
        ("topic-*",), ("topic-000003",), (1002,), (1004, "rack:r1"), 10**6, 5 << 30, 2, prefer_rack_local=True
    )
    done = kedge("plan", "apply-policy", str(file))
    assert (done.exit_code, done.stderr) == (1, "")
    (stored,) = Place(made, "east", "1").read(PLAN, "rebalance").to_pylist()
    assert dict(stored["settings"])["exclude_topics"] == '["topic-000003"]'
    for move in Place(made, "east", "1").read(PLAN_MOVE, "rebalance").to_pylist():
        assert move["topic"] != "topic-000003"
        assert set(move["target_replicas"]) - set(move["replicas"]) <= {1004, 1002, 1005, 1008} - {1002}


@pytest.mark.parametrize(
    "setting,message",
    [
        ('topics = "t"', "default.topics: expected a list, got 't'"),
        ("topics = [1]", "default: topics: expected names of topics, got 1"),
        ('exclude-brokers = ["1"]', "default: exclude-brokers: expected ids of brokers, got '1'"),
        ("to-brokers = [true]", "default: to-brokers: expected ids and rack:NAME, got True"),
        ('min-size = "big"', "default.min-size: expected bytes such as 123, 5GiB or 1.5GB, got 'big'"),
        ("min-racks = 0", "default: min-racks: expected at least 1, got 0"),
    ],
)
def test_a_choice_in_a_policy_that_is_not_understood_is_named(tmp_path: Path, setting: str, message: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(f'tables = "t"\nout = "o"\n[default]\n{setting}\n')
    with pytest.raises(BadInput) as raised:
        read_policy(file)
    assert str(raised.value) == f"{file}:4: {message}"
