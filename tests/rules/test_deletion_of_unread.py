"""Deletions of topics without a known state: what a takeover goes on with, and how they end."""

from __future__ import annotations

import attrs

from kedge.controller import records as r
from kedge.controller.model import events as e
from kedge.controller.model.errors import RequestTimedOut
from kedge.controller.model.values import Partition, Settings
from kedge.controller.rules.takeover import deletion_goes_on
from tests.rules.world import World


def unled(*replicas: int) -> World:
    """Topic t with a partition without a known state; brokers 1 and 2 were admitted, and 2 is dead."""
    world = World()
    world.plant_broker(1)
    world.plant_broker(2)
    world.plant(Partition("t", 0, replicas or (1, 2), (), -1, -1))
    del world.state.brokers[2]
    return world


def test_a_topic_whose_only_state_key_is_broken_does_not_look_like_one_that_is_nearly_deleted() -> None:
    """Where topics may not be deleted, a takeover leaves it alone."""
    world = unled()
    world.state.settings = Settings(delete_topic_enable=False)
    assert deletion_goes_on(world.state, "t")
    world.state.load_problem("t", 0, "no JSON")
    assert not deletion_goes_on(world.state, "t")


def test_a_broker_is_not_forgotten_while_a_deletion_that_needs_it_waits() -> None:
    """Here for the id of a topic of an older Kafka. The answer asks for the request again."""
    world = unled()
    row = world.state.topics["t"]
    row.topic = attrs.evolve(row.topic, topic_id="")
    world.state.start_deletion("t")
    ran = world.run(e.ForgetBroker(1000, 2))
    assert isinstance(ran.reply, RequestTimedOut)
    assert ran.reply.message == "broker 2: 1 replica not dropped yet; repeat the request"
    assert 2 in world.state.admitted


def test_a_deletion_goes_on_with_its_last_partition_where_no_broker_holds_a_log() -> None:
    """Both partitions were created on a broker that never came, so no broker reports that its log is deleted."""
    world = unled(77)
    world.plant(Partition("t", 1, (77,), (), -1, -1))
    world.state.start_deletion("t")
    assert world.decide(e.PartitionDue(1000, "t", 0, e.Reason.STOP)).expand == ()
    assert world.decide(e.PartitionDue(1000, "t", 1, e.Reason.STOP)).expand == (e.TopicLogsDue(1000, "t"),)
    world.commit()
    assert list(map(type, world.run(e.TopicLogsDue(1000, "t")).records)) == [r.TopicDeleted]
