"""A leader that was elected outside the isr recovers alone: it may say so of itself, and of no other beside it.

A leader of an older kind, which writes the state key itself, may have taken in followers before it had recovered. The
way back is to be alone again.
"""

from __future__ import annotations

import pytest

from kedge.controller.model import events as e
from kedge.controller.model.errors import InvalidRequest
from kedge.controller.model.values import Partition, Replicas
from tests.rules.invariants import steps_of
from tests.rules.world import Ran, World

RECOVERING, RECOVERED = 1, 0


def world_of(isr: Replicas, recovery_state: int) -> World:
    """t-0 on 1, 2, 3, led by 1."""
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    world.plant(Partition("t", 0, (1, 2, 3), isr, 1, 3, leader_recovery_state=recovery_state))
    return world


def ask(world: World, isr: Replicas, recovery_state: int) -> Ran:
    epoch = world.state.partition_epoch(world.partition("t"))
    return world.run(e.AlterIsr(world.now_ms, "t", 0, 1, 3, epoch, isr, 1, recovery_state))


def stands(world: World) -> tuple[Replicas, int]:
    partition = world.partition("t")
    return partition.isr, partition.leader_recovery_state


@pytest.mark.parametrize("isr", [(1, 2), (2, 1), (1, 2, 3)])
def test_an_isr_shrinks_to_the_recovering_leader_alone(isr: Replicas) -> None:
    """It is accepted and committed; the leader goes on recovering under the same leader epoch."""
    world = world_of(isr, RECOVERING)
    ran = ask(world, (1,), RECOVERING)
    assert [step.event for step in steps_of(ran.records)] == ["IsrChanged"]
    assert stands(world) == ((1,), RECOVERING)
    assert world.partition("t").leader_epoch == 3
    assert ask(world, (1,), RECOVERED).reply is None
    assert ask(world, (1, 2), RECOVERED).reply is None
    assert stands(world) == ((1, 2), RECOVERED)


def test_an_isr_shrinks_to_the_leader_alone_that_has_recovered() -> None:
    """The end of the recovery and the shrink are one change."""
    world = world_of((1, 2), RECOVERING)
    assert ask(world, (1,), RECOVERED).reply is None
    assert stands(world) == ((1,), RECOVERED)


@pytest.mark.parametrize("isr, recovery_state, asked", [((1, 2, 3), RECOVERING, (1, 2)), ((1, 2), RECOVERED, (1,))])
def test_no_other_shrink_of_a_recovering_leader_is_accepted(
    isr: Replicas, recovery_state: int, asked: Replicas
) -> None:
    """Not to more than itself, nor one that goes back to recovering."""
    world = world_of(isr, recovery_state)
    assert isinstance(ask(world, asked, RECOVERING).reply, InvalidRequest)
    assert stands(world) == (isr, recovery_state)


def test_a_recovering_leader_whose_followers_die_goes_on_recovering_alone() -> None:
    """The controller itself takes them out of the isr."""
    world = world_of((1, 2), RECOVERING)
    world.run(e.BrokerGone(world.now_ms, 2, 1))
    assert stands(world) == ((1,), RECOVERING)
