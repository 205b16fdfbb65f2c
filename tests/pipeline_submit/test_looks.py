"""What a submission sees of a cluster in its store, and how it says why a move is stuck."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pyarrow as pa
import pytest

from kedge.controller.codec import keys
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.export import export
from kedge.pipeline.stages.requests import RUNS_DISKS
from kedge.pipeline.submit.cluster import NOT_THERE, Seen, alive, look, moving_in, under_replicated
from kedge.pipeline.submit.exported import Move, Rate, Wave, read_export
from kedge.pipeline.submit.kept import Mark, Progress, read_progress
from kedge.pipeline.submit.standing import Kind, Standing, causes, stand
from kedge.stores import Delete, Put
from kedge.stores.base import ABSENT, PRESENT
from kedge.stores.recipes import LEADER_KEY
from tests.pipeline_submit.clusters import Made

MOVE = Move("orders", 0, (1, 2, 3), (4, 2, 5))


def test_look_shows_partitions_and_why_it_cannot_show_others(made: Made) -> None:
    """The topic has five partitions; the state of one of them, and the assignment of another topic, are unreadable."""
    made.rig.mishaps.break_key(keys.state("orders", 1))
    made.rig.mishaps.break_key(keys.topic("payments"))
    wanted = [("orders", 0), ("orders", 1), ("orders", 4), ("orders", 5), ("payments", 0), ("unknown", 0)]
    found = look(made.store, wanted)
    assert found["orders", 0] == Seen((1, 2, 3), None, (1, 2, 3), 1)
    assert found["orders", 4] == Seen((1, 5, 6), None, (1, 5, 6), 1)
    assert [found[name] for name in (("orders", 5), ("unknown", 0))] == [NOT_THERE, NOT_THERE]
    assert {(found[name].problem or "")[:8] for name in (("orders", 1), ("payments", 0))} == {"not JSON"}


def test_partitions_that_move_or_lack_replicas_are_those_of_the_whole_cluster(made: Made) -> None:
    made.rig.mishaps.pause_broker(4)
    made.rig.reassign({next(iter(made.before)): (4, 2, 3)})
    made.rig.mishaps.kill_broker(6)
    made.rig.until(lambda: under_replicated(made.store) != {}, what="6 is out")
    assert moving_in(made.store) == {("orders", 0)}
    lacks = [(topic, number) for topic in ("orders", "payments") for number in (3, 4)]
    assert sorted(under_replicated(made.store).items()) == [(name, frozenset({6})) for name in lacks]


def test_partition_that_a_reduction_takes_away_is_offline_and_lacks_no_replica(made: Made) -> None:
    made.rig.mishaps.pause_broker(6)  # it would delete its log, and with the last one the partition goes
    made.rig.delete_partitions("payments", 4, immediate=True)
    gone = {("payments", 4)}
    what = "the partition is offline"
    made.rig.until(lambda: look(made.store, gone)["payments", 4].problem == what, what=what)
    assert not gone & under_replicated(made.store).keys()


def test_move_that_kafka_runs_is_a_move(made: Made) -> None:
    """Its controller writes it into the key of the topic."""
    topic = made.store.get(keys.topic("orders"), timeout_s=1)
    assert topic is not None
    said = {**json.loads(topic.value), "adding_replicas": {"0": [4]}, "removing_replicas": {"0": [1]}}
    said["partitions"]["0"] = [4, 1, 2, 3]
    made.store.commit([Put(keys.topic("orders"), json.dumps(said).encode(), PRESENT)], timeout_s=1)
    assert look(made.store, [("orders", 0)])["orders", 0].target == (4, 2, 3)


def test_brokers_that_live_are_those_with_a_registration(made: Made) -> None:
    """A key below the ids that spells no id is none."""
    for name in ("-1", "x"):
        made.store.commit([Put(f"{keys.BROKER_IDS}/{name}", b"{}", ABSENT)], timeout_s=1)
    assert alive(made.store) == (frozenset(range(1, 7)), True)
    made.rig.mishaps.kill_broker(6)
    made.store.commit([Delete(LEADER_KEY, PRESENT)], timeout_s=1)
    assert alive(made.store) == (frozenset(range(1, 6)), False)


def seen(isr: tuple[int, ...], leader: int = 1) -> Seen:
    return Seen(MOVE.before, MOVE.after, isr, leader)


@pytest.mark.parametrize(
    "kind, partition, live, has_controller, words",
    [
        ("missing", seen((1, 2, 3)), {1, 2, 3, 4, 5}, True, "not begun"),
        ("running", seen((1, 2, 3)), {1, 2, 3, 4, 5}, True, "not in sync yet: 4, 5"),
        ("running", seen((1, 2, 4, 5)), {1, 2, 3, 4, 5}, True, "in sync, not yet completed"),
        ("running", seen((1, 2, 4)), {1, 2, 3, 4}, True, "target down: 5"),
        ("running", seen((1, 2, 4)), {2, 3, 4, 5}, True, "source down: 1"),
        ("running", seen((1, 2, 4), leader=-1), {1, 2, 3, 4, 5}, True, "source down: no leader"),
        ("missing", seen((1, 2, 3)), {1, 2, 3}, False, "no controller, target down: 4, 5, not begun"),
    ],
)
def test_all_causes_of_a_move_that_is_stuck_are_said(
    kind: Kind, partition: Seen, live: set[int], has_controller: bool, words: str
) -> None:
    assert causes(Standing(MOVE, partition, kind), frozenset(live), has_controller=has_controller) == words


def at(replicas: tuple[int, ...], target: tuple[int, ...] | None = None) -> Seen:
    return Seen(replicas, target, replicas, 1)


@pytest.mark.parametrize(
    "partition, is_begun, undoes, kind, words",
    [
        (at(MOVE.before), False, False, "missing", ""),
        (at(MOVE.before, MOVE.after), False, False, "running", ""),
        (at(MOVE.before, (7, 2, 5)), False, False, "running", ""),
        (at(MOVE.after), False, False, "done", ""),
        (at((7, 2, 5)), False, False, "done", ""),
        (at((1, 2, 3, 4)), True, False, "missing", ""),
        (at((1, 2, 3, 4)), False, False, "foreign", "has the replicas [1, 2, 3, 4]: the plan moves it from"),
        (at((1, 2, 9)), True, False, "foreign", "has the replicas [1, 2, 9]: the plan moves it from"),
        (at(MOVE.after, MOVE.before), False, True, "against", ""),
        (at(MOVE.after, MOVE.before), False, False, "foreign", "is being moved to [1, 2, 3] by another tool"),
        (NOT_THERE, False, False, "foreign", "the partition does not exist"),
    ],
)
def test_state_of_a_move_is_what_the_cluster_shows(
    partition: Seen, is_begun: bool, undoes: bool, kind: Kind, words: str
) -> None:
    """A later wave moves the partition on, to (7, 2, 5)."""
    found = stand(attrs.evolve(MOVE, later=frozenset({(7, 2, 5)})), partition, is_begun=is_begun, undoes=undoes)
    assert (found.kind, found.words[: len(words)], bool(found.words)) == (kind, words, bool(words))


@pytest.mark.parametrize("kind, makes", [("drain", "kedge plan waves makes them"), ("balance-disks", RUNS_DISKS)])
def test_export_without_waves_says_what_makes_or_runs_them(made: Made, tmp_path: Path, kind: str, makes: str) -> None:
    tables = {name: rows for name, rows in made.tables.items() if name not in ("wave", "wave_move", "wave_throttle")}
    plan = tables["plan"].to_pylist()[0] | {"kind": kind}
    tables["plan"] = pa.Table.from_pylist([plan], tables["plan"].schema)
    export(tables, tmp_path / "out", cluster="rig", snapshot="1")
    with pytest.raises(BadInput, match=f"the plan was exported without waves; {re.escape(makes)}"):
        read_export(tmp_path / "out")


def test_what_waves_changed_is_read_as_it_was_kept(made: Made) -> None:
    plan = read_export(made.folder)
    marks = {
        ("broker", "1", "leader.replication.throttled.rate"): Mark("100", frozenset({"200"})),
        ("topic", "orders", "leader.replication.throttled.replicas"): Mark(None, frozenset({"0:1", "0:2"}), False),
    }
    Progress(plan).mark(marks)
    assert read_progress(plan).marks == marks


def test_wave_that_undoes_another_has_a_rate_on_both_sides() -> None:
    rates = {1: Rate(5, None), 2: Rate(None, 7), 3: Rate(8, 9), 4: Rate()}
    back = Wave(1, (MOVE,), rates, None, None).reversed()
    assert back.rates == {1: Rate(5, 5), 2: Rate(7, 7), 3: Rate(8, 9), 4: Rate()}
    assert back.moves == (Move("orders", 0, MOVE.after, MOVE.before),)
