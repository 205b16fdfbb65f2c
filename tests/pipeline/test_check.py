"""The violation report: each kind is found where it is planted, and a sound cluster has none."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.store import from_tree_file
from kedge.pipeline.errors import BadInput
from kedge.pipeline.generating import generate
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.check import check
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate
from tests.kit.data import DATA
from tests.pipeline.snapshots import broker, loads, partition, tables

BROKERS = [broker(1, "a"), broker(2, "b"), broker(3, "b")]


def found(brokers: list[Any], partitions: list[Any], **more: Any) -> list[tuple[Any, ...]]:
    given = validate(tables(brokers, partitions))
    given["replica_load"] = more.pop("load", loads({}))
    names = ("kind", "topic", "partition", "broker_id", "observed", "limit", "when")
    return [tuple(row[name] for name in names) for row in check(given, **more).to_pylist()]


@pytest.mark.parametrize(
    "partition_,violation",
    [
        (partition("t", 0, [2, 3]), ("RACK", "t", 0, None, 1.0, 2.0, "now")),
        (partition("t", 0, [1, 2], isr=[1]), ("ISR", "t", 0, None, 1.0, 2.0, "now")),
        (partition("t", 0, [1, 2], isr=[1, 3]), ("ISR", "t", 0, None, 2.0, 2.0, "now")),
        (partition("t", 0, [1, 2], isr=[1, 9]), ("ISR", "t", 0, None, 2.0, 2.0, "now")),
        (partition("t", 0, [1, 2], leader=2), ("LEADER_ORDER", "t", 0, None, 1.0, 0.0, "now")),
    ],
)
def test_partition_that_breaks_a_rule_is_reported(partition_: Any, violation: Any) -> None:
    assert found(BROKERS, [partition_]) == [violation]


@pytest.mark.parametrize(
    "partition_",
    [partition("t", 0, [1, 2, 3]), partition("t", 0, [1]), partition("t", 0, [1, 2], isr=[1], target=[1, 3])],
)
def test_what_breaks_no_rule_is_not(partition_: Any) -> None:
    """As many racks as there are, one replica, a move that has not caught up."""
    assert found(BROKERS, [partition_]) == []


def test_factor_below_that_of_its_topic_or_the_wanted_one_is_reported() -> None:
    partitions = [partition("t", 0, [1, 2]), partition("t", 1, [1])]
    assert found(BROKERS, partitions) == [("RF", "t", 1, None, 1.0, 2.0, "now")]
    assert [row[2] for row in found(BROKERS, partitions, factor=3)] == [0, 1]


def test_what_a_move_adds_for_its_time_is_no_factor_and_asks_for_no_racks() -> None:
    """Of two replicas that move, three or four stand in the row meanwhile; no other partition counts as lacking one."""
    four = [broker(1, "a"), broker(2, "b"), broker(3, "a"), broker(4, "b"), broker(5, "c")]
    moving = partition("t", 0, [3, 4, 1, 2], isr=[1, 2], leader=1, target=[3, 4])
    grows = partition("t", 1, [1, 2], target=[1, 2, 5])
    told = found(four, [moving, grows, partition("t", 2, [1, 2]), partition("t", 3, [1])])
    assert [row for row in told if row[0] != "LEADER_ORDER"] == [("RF", "t", 3, None, 1.0, 2.0, "now")]
    assert [row[2] for row in found(four, [moving, grows], factor=3) if row[0] == "RF"] == [0, 1]


def test_a_recorded_move_makes_no_other_partition_short_of_replicas() -> None:
    """Four of six partitions of two replicas move, each over a row of three."""
    gathered = Gathered()
    from_tree_file((DATA / "kafka_3_9_tree_moving.json").read_bytes(), "tree", gathered)
    given = validate(gathered.tables())
    assert set(check({**given, **load(given)}).column("kind").to_pylist()) == {"LEADER_ORDER"}


def test_replica_on_a_dead_broker_is_reported() -> None:
    kinds = found([*BROKERS[:2], broker(3, "b", "dead")], [partition("t", 0, [1, 3])])
    assert kinds == [("DEAD", "t", 0, 3, 1.0, 0.0, "now")]


def test_duplicate_replicas_are_reported_though_their_row_is_rejected() -> None:
    assert found(BROKERS, [partition("t", 0, [1, 1, 2])]) == [("DUP", "t", 0, None, 3.0, 2.0, "now")]


def test_duplicate_replicas_of_a_row_whose_text_is_cut_are_reported() -> None:
    assert found(BROKERS, [partition("t", 0, [1] * 1_000)]) == [("DUP", "t", 0, None, 1000.0, 1.0, "now")]


def test_capacities_are_held_now_and_if_every_replica_led() -> None:
    brokers = [broker(1, disk=100, nw_in=10.0, nw_out=11.0), broker(2, disk=1000, nw_in=100.0, nw_out=11.0)]
    partitions = [partition("t", 0, [1, 2]), partition("t", 1, [1, 2])]
    load = loads({("t", 0): 60, ("t", 1): 60}, 5.5)
    assert found(brokers, partitions, load=load, limits=Limits(1, 1)) == [
        ("CAP_DISK", None, None, 1, 120.0, 100.0, "now"),
        ("CAP_IN", None, None, 1, 11.0, 10.0, "now"),
    ]
    shares = found(brokers, partitions, load=load, limits=Limits(1, 0.5))
    assert [(row[0], row[3], row[6]) for row in shares if row[0] == "CAP_OUT"] == [
        ("CAP_OUT", 1, "now"),
        ("CAP_OUT", 1, "potential"),
        ("CAP_OUT", 2, "potential"),
    ]


def test_some_brokers_without_a_rack_are_refused_with_the_flag_that_helps() -> None:
    mixed = [broker(1, "a"), broker(2)]
    with pytest.raises(BadInput, match=r"brokers \[2\] have no rack .* --ignore-racks"):
        found(mixed, [partition("t", 0, [1, 2])])
    assert found(mixed, [partition("t", 0, [1, 2])], ignore_racks=True) == []


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="disk share"):
        Limits(share)


@pytest.mark.parametrize("racks", [0, 2, 3, 5])
def test_a_generated_cluster_has_no_violation_and_is_the_same_for_the_same_seed(racks: int) -> None:
    made = generate(brokers=10, topics=7, partitions=13, racks=racks, seed=5)
    assert check(validate(made) | {"replica_load": made["replica_load"]}).num_rows == 0
    assert all(table.equals(made[name]) for name, table in generate(
        brokers=10, topics=7, partitions=13, racks=racks, seed=5
    ).items())  # fmt: skip
    assert not generate(brokers=10, topics=7, partitions=13, seed=6)["replica_load"].equals(made["replica_load"])


def test_a_cluster_with_fewer_brokers_than_replicas_cannot_be_generated() -> None:
    with pytest.raises(ValueError, match=r"replication factor 3 is not within 1\.\.2"):
        generate(brokers=4, empty_brokers=2, topics=1, partitions=1)
