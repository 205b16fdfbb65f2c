"""What a takeover finds half done and continues: deaths, reductions, moves of Kafka's, strays, topics without an id."""

from __future__ import annotations

import attrs
import pytest

from kedge.controller import records as r
from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.records import KeyAt, KeyVersion
from kedge.controller.model.reductions import READ_ONLY, Retirement
from kedge.controller.model.values import Broker, BrokerRegistration, DeleteIntent, KafkaMove, Partition
from kedge.controller.rules.brokers import expand_deaths
from kedge.controller.rules.takeover import reduction_found
from kedge.controller.runtime.jobs import jobs_of
from tests.rules.world import World


def world_of_three(topic_id: str = "id-of-t") -> World:
    """Topic t with two partitions on 1 and 2."""
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    world.plant_topic("t", topic_id)
    for number in range(2):
        world.plant(Partition("t", number, (1, 2), (1, 2), 1, 3))
    return world


def test_a_broker_that_restarted_meanwhile_is_live_again_after_its_death() -> None:
    """Another one that died stays away."""
    world = world_of_three()
    dead, returned = {1: 1, 3: 1}, Broker(BrokerRegistration(1), 78)
    for broker in dead:
        del world.state.brokers[broker]
    world.state.load_dying(dead)
    for job in jobs_of(expand_deaths(world.state, dead, {1: returned}, 1000), None):
        world.run(job.event)
    assert world.partition("t").leader == 2
    assert world.state.brokers[1] == returned
    assert 3 not in world.state.brokers
    assert world.state.dying == {}


def asked(*partitions: int) -> e.ReductionKeyRead:
    at = KeyAt(keys.delete_partitions("t"), 5)
    return e.ReductionKeyRead(1000, "t", at, {p: Retirement(500, immediate=False) for p in partitions})


def test_a_reduction_that_may_go_on_is_in_force_from_the_start() -> None:
    state = world_of_three().state
    assert reduction_found(state, asked(1)) == (asked(1), [e.ReductionDue(1000, "t", is_found=True)])


@pytest.mark.parametrize("partitions", [(), (0,)])
def test_a_reduction_that_names_nothing_or_not_the_last_ones_is_decided_as_a_request(
    partitions: tuple[int, ...],
) -> None:
    """The decision removes its key."""
    world = world_of_three()
    read = asked(*partitions)
    assert reduction_found(world.state, read) == (None, [read])
    assert ("reduction", "t") in world.run(read).batch.dirty_keys


def test_a_reduction_goes_on_once_its_topic_has_an_id() -> None:
    world = world_of_three("")
    world.state.load_reduction("t", asked(1).entries, None)
    world.run(e.TopicIdMissing(1000, "t", "given"))
    assert world.partition("t", 1).status_code == READ_ONLY
    assert world.partition("t", 0).status_code == 0


def test_a_move_of_kafkas_begins_once_the_state_can_be_read() -> None:
    world = world_of_three()
    world.plant(Partition("t", 2, (1, 2, 3), (), -1, -1))
    row = world.state.topics["t"]
    row.topic = attrs.evolve(row.topic, kafka_moves={2: KafkaMove((1, 2, 3), (3,), (1,))})
    world.state.load_problem("t", 2, "no JSON")
    found = Partition("t", 2, (1, 2, 3), (1, 2), 1, 3)
    world.run(e.StateKeyRead(1000, "t", 2, found, None, KeyVersion(9, 9)))
    assert world.partition("t", 2).target_replicas == (2, 3)


def test_a_stray_member_of_an_isr_has_its_replica_no_longer_to_delete() -> None:
    """The journal says why."""
    world = world_of_three()
    world.plant(Partition("t", 2, (1, 2), (1, 2, 3), 1, 3))
    intent = DeleteIntent(3, "t", "id-of-t", 2, 2)
    world.state.intents.load(3, 900, [intent])
    ran = world.run(e.PartitionDue(1000, "t", 2, e.Reason.STRAY))
    assert r.IntentDropped(intent, "member again") in ran.records
    assert world.partition("t", 2).replicas == (1, 2, 3)
