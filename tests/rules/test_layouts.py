"""Placement and drains on layouts of clusters with and without racks, and drains of maps (tests/data)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from kedge.controller.model import events as e
from kedge.controller.model.errors import ApiError
from kedge.controller.model.values import Partition, Replicas
from kedge.controller.rules.placement import alternate_racks, assign_replicas, replace_broker
from tests.kit.data import DATA, LAYOUTS
from tests.rules.world import World

Racks = Mapping[int, str | None]


def map_of(name: str) -> dict[int, Replicas]:
    found = json.loads((DATA / f"{name}.json").read_bytes())["partitions"]
    return {one["partition"]: tuple(one["replicas"]) for one in found}


def drain(assignments: Mapping[int, Replicas], leaving: int, racks: Racks) -> dict[int, Replicas]:
    """What becomes of `assignments` when one broker after another place is given up."""
    loads = Counter(broker for replicas in assignments.values() for broker in replicas)
    after = dict(assignments)
    for partition, replicas in assignments.items():
        if leaving in replicas:
            after[partition] = replace_broker(replicas, leaving, racks, loads)
            loads[next(b for b in after[partition] if b not in replicas)] += 1
    return after


@pytest.mark.parametrize("cluster", LAYOUTS)
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5])
def test_a_topic_on_any_layout_keeps_the_rules(cluster: str, factor: int) -> None:
    """Leaders are even, no broker comes twice, and racks hold one replica each as far as there are racks."""
    racks = LAYOUTS[cluster]
    placed = assign_replicas(racks, 4 * len(racks), factor, start=3, shift=1)
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(racks, 4)
    assert all(len(set(replicas)) == factor for replicas in placed)
    if None not in racks.values():
        spread = min(factor, len(set(racks.values())))
        assert all(len({racks[b] for b in replicas}) == spread for replicas in placed)
        assert sorted(alternate_racks(racks)) == sorted(racks)


@pytest.mark.parametrize("cluster", LAYOUTS)
def test_a_drain_of_every_broker_keeps_the_rack_rule(cluster: str) -> None:
    """No list names a broker that left, none names a broker twice, and no rack rule breaks that can hold."""
    racks = LAYOUTS[cluster]
    factor = min(3, len(racks) - 1)
    before = dict(enumerate(assign_replicas(racks, 20, factor, start=0, shift=0)))
    for leaving in racks:
        rest = {broker: rack for broker, rack in racks.items() if broker != leaving}
        after = drain(before, leaving, rest)
        assert all(leaving not in replicas and len(set(replicas)) == factor for replicas in after.values())
        spread = min(factor, len(set(rest.values())))
        for partition, replicas in after.items():
            assert len({rest[b] for b in replicas}) == spread or leaving not in before[partition]


@pytest.mark.parametrize("name", ["map_three_brokers", "map_nine_brokers", "map_many_brokers"])
def test_a_drain_of_a_map_runs_through_the_rules(name: str) -> None:
    """Every partition of a map is moved off its busiest broker by real moves, whatever its ids are."""
    recorded = map_of(name)
    brokers = sorted({broker for replicas in recorded.values() for broker in replicas})
    spare = [max(brokers) + 1, max(brokers) + 2]
    loads = Counter(broker for replicas in recorded.values() for broker in replicas)
    leaving = max(loads, key=lambda broker: (loads[broker], broker))
    world = World(is_checked=False)
    for broker in (*brokers, *spare):
        world.plant_broker(broker)
    for number, partition in enumerate(sorted(recorded)):
        replicas = recorded[partition]
        world.plant(Partition("t", number, replicas, replicas, replicas[0], 0))
    rest: Racks = dict.fromkeys(b for b in (*brokers, *spare) if b != leaving)
    after = drain({n: world.partition("t", n).replicas for n in range(len(recorded))}, leaving, rest)
    for number, target in after.items():
        ran = world.run(e.AlterReassignment(1000, "t", number, target))
        assert not isinstance(ran.reply, ApiError)
        moving = world.partition("t", number)
        if moving.move is not None:
            epoch = world.state.partition_epoch(moving)
            isr = moving.members
            world.run(e.AlterIsr(1000, "t", number, moving.leader, moving.leader_epoch, epoch, isr, 1))
        assert world.partition("t", number).replicas == target
    assert world.state.partitions_on(leaving) == []
    assert len(world.state.intents.of(leaving)) == loads[leaving]
