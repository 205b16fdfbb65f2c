"""What each broker hears of a partition, in any state: the ways that are written out for plain partitions say as the
rule does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge import LeaderAndIsrPartition
from kedge.controller.model.reductions import OFFLINE
from kedge.controller.model.values import LEADER_DURING_DELETE, NO_LEADER, Broker, DeleteIntent, Move, Partition
from kedge.controller.runtime.requests import Builder
from tests.rules.world import World

BROKERS = range(1, 6)  # of which 5 is not live
some = st.lists(st.sampled_from(BROKERS), unique=True, min_size=1, max_size=3).map(tuple)


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """What a state key may say, with all of R in I as a rule."""
    replicas, target = draw(some), draw(st.none() | some)
    members = (*replicas, *(b for b in target or () if b not in replicas))
    isr = draw(st.just(replicas) | st.lists(st.sampled_from(members), unique=True).map(tuple))
    leader = draw(st.sampled_from((*isr, NO_LEADER, LEADER_DURING_DELETE)))
    move = None if target is None else Move(target, replicas, 500)
    return Partition("t", 0, replicas, isr, leader, draw(st.integers(0, 1)), move, draw(st.sampled_from((0, 0, -1, 1))))


def is_told(p: Partition, broker: int, intents: set[int]) -> bool:
    """The rule of `docs/callbacks.md`: who is a member of a partition that has a state, and of an
    offline one only who has to delete it."""
    has_to_delete = p.status_code != OFFLINE or broker in intents
    return p.has_state and p.leader != LEADER_DURING_DELETE and broker in p.members and has_to_delete


def told(builder: Builder, broker: Broker) -> tuple[LeaderAndIsrPartition, ...]:
    return builder.leader_and_isr(broker, [0], full=False).partitions


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(partitions(), st.sets(st.sampled_from(BROKERS)), st.none() | st.sets(st.sampled_from(BROKERS)))
def test_brokers_that_hear_of_a_partition_and_whether_its_log_is_new(
    p: Partition, intents: set[int], unheard: set[int] | None
) -> None:
    """Each live member once; again, one outside I or that heard nothing yet; all of a new one."""
    world = World()
    for broker_id in BROKERS[:-1]:
        world.plant_broker(broker_id)
    world.plant(p)
    for broker_id in intents:
        world.state.intents.open(DeleteIntent(broker_id, "t", "id-of-t", 0, 0))
    builder = Builder(world.state, {} if unheard is None else {0: unheard}, {})
    for broker_id, broker in world.state.brokers.items():
        is_new = broker_id not in p.isr or p.leader_epoch == 0 or broker_id in (unheard or ())
        said = [(one.is_new, one.isr, one.replicas, one.target_replicas) for one in told(builder, broker)]
        expected = [(is_new, p.isr, p.replicas, p.target_replicas)] if is_told(p, broker_id, intents) else []
        assert said == expected, broker_id
        assert told(builder, broker) == told(Builder(world.state, {0: unheard or ()}, {}), broker)
