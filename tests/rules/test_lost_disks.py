"""Elections where a disk failed, or where the death of a leader is not decided yet."""

from __future__ import annotations

from kedge.controller.model import events as e
from kedge.controller.model.values import Partition
from tests.rules.world import World


def world_of_three(*isr: int) -> World:
    """Partition t-0 on 1, 2, 3, led by the first of `isr`; without any it was never led."""
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    world.plant(Partition("t", 0, (1, 2, 3), isr, isr[0] if isr else -1, 3 if isr else -1))
    return world


def test_a_first_leader_is_not_elected_on_a_lost_disk() -> None:
    world = world_of_three()
    world.run(e.DiskReported(1000, "t", 0, 1, gone=True))
    world.run(e.PartitionDue(1000, "t", 0))
    assert world.partition("t").isr == (2, 3)
    assert world.partition("t").leader == 2


def test_a_broker_that_leaves_does_not_hand_over_to_a_lost_disk() -> None:
    """The loss was reported, and the partition is not decided yet."""
    world = world_of_three(1, 2, 3)
    world.decide(e.DiskReported(1000, "t", 0, 2, gone=True))
    ran = world.run(e.ShutdownAsked(1000, 1, 1))
    assert ran.reply == ()
    assert world.partition("t").isr == (3,)
    assert world.partition("t").leader == 3


def test_an_unclean_election_replaces_a_leader_whose_death_is_not_decided_yet() -> None:
    """Though the partition still names it."""
    world = world_of_three(1, 2)
    world.decide(e.BrokerGone(1000, 1, 1))
    ran = world.run(e.ElectLeader(1000, "t", 0, unclean=True))
    assert ran.reply is None
    assert world.partition("t").leader == 2
    assert world.partition("t").leader_recovery_state == 0
