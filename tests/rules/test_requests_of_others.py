"""The legacy key while it leaves, what is listed of a move, and elections on lost disks (KIP-455)."""

from __future__ import annotations

from kedge.controller import records as r
from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.legacy import LegacyEntry, LegacyKey
from kedge.controller.model.records import KeyAt
from kedge.controller.model.values import Move, Partition
from kedge.controller.rules.preferred import rebalance_due
from kedge.controller.rules.reassignment import check_replicas, describe_move
from tests.rules.world import World

MOVE = Move((2, 3), (1, 2), 500, 900)


def world_of_three(*, move: Move | None = None, leader: int = 1) -> World:
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    world.plant(Partition("t", 0, (1, 2), (1, 2), leader, 3, move))
    return world


def test_a_plan_that_is_written_while_the_key_is_being_removed_is_removed_and_reported() -> None:
    world = world_of_three()
    world.state.legacy.load(LegacyKey((LegacyEntry("t", 0, (2, 1)),)))
    world.state.legacy.is_there = False
    found = LegacyKey((LegacyEntry("t", 0, (3, 1)),))
    decision = world.decide(e.LegacyKeyRead(1000, KeyAt(keys.REASSIGN_PARTITIONS, 9), found))
    _, changed = decision.records
    assert isinstance(changed, r.LegacyKeyChanged)
    assert changed.detail == "written by another program; removed"
    assert decision.expand == ()


def test_the_listing_of_a_move_has_its_deadline() -> None:
    world = world_of_three(move=MOVE)
    described = describe_move(world.state, world.partition("t"))
    assert described is not None
    assert (described.started_at, described.deadline_at) == (500, 900)


def test_broker_0_is_a_broker_like_any_other() -> None:
    world = world_of_three()
    world.plant_broker(0)
    assert check_replicas(world.state, (0, 1)) is None
    assert str(check_replicas(world.state, (0, 0))).endswith("the broker 0 more than once.")


def test_a_preferred_leader_whose_disk_was_lost_is_not_elected() -> None:
    """The loss was reported, and the partition is not decided yet."""
    world = world_of_three(leader=2)
    assert rebalance_due(world.state, e.RebalanceDue(1000)).expand == (
        e.PartitionDue(1000, "t", 0, e.Reason.PREFERRED),
    )
    world.decide(e.DiskReported(1000, "t", 0, 1, gone=True))
    assert rebalance_due(world.state, e.RebalanceDue(1000)).expand == ()
