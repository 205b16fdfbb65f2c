"""A broker is forgotten while partitions that are on their way out still need an order to it."""

from __future__ import annotations

from kedge.controller import records as r
from kedge.controller.model import events as e
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.values import BROKERS_WITHOUT_INTENT, Partition
from tests.rules.world import World


def offline() -> World:
    """The second partition of t is offline; 2 is dead, and the only one that has no order to delete its log yet."""
    world = World()
    world.plant_broker(1)
    world.plant_broker(2)
    world.plant(Partition("t", 0, (1,), (1,), 1, 3))
    row = Partition("t", 1, (1, 2), (1,), 1, 3, status_code=1, extra={BROKERS_WITHOUT_INTENT: [2]})
    world.plant(row)
    world.state.load_reduction("t", {1: Retirement(500, immediate=True)}, None)
    del world.state.brokers[2]
    return world


def test_an_offline_partition_that_still_needs_the_broker_is_purged() -> None:
    world = offline()
    ran = world.run(e.ForgetBroker(1000, 2))
    kinds = list(map(type, ran.records))
    assert kinds[:3] == [r.PartitionChanged, r.DeleteIntended, r.IntentDropped]
    assert {r.PartitionPurged, r.BrokerForgotten} <= set(kinds)
    assert ran.reply is None
    assert world.state.partition_count("t") == 1


def test_an_offline_partition_of_a_topic_that_is_being_deleted_is_stopped_first() -> None:
    world = offline()
    world.state.start_deletion("t")
    ran = world.run(e.ForgetBroker(1000, 2))
    kinds = list(map(type, ran.records))
    assert kinds[0] is r.PartitionChanged
    assert kinds[-2:] == [r.IntentDropped, r.BrokerForgotten]
    assert ran.reply is None
    assert world.partition("t", 1).is_stopped
