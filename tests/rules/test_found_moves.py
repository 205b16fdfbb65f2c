"""Moves and reductions that are found in the store, where the topic is on its way out or another move runs by now."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller import records as r
from kedge.controller.machine import decide
from kedge.controller.model import events as e
from kedge.controller.model.events import Decision
from kedge.controller.model.records import KeyVersion
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.values import Broker, BrokerRegistration, DeleteIntent, KafkaMove, Move, Partition
from kedge.controller.rules.brokers import broker_gone, death_done
from kedge.controller.rules.completion import kafka_move_due
from kedge.controller.rules.deletion import partition_deletion_due
from kedge.controller.rules.foreign_writes import kafka_move_found
from kedge.controller.rules.isr import alter_isr
from kedge.controller.rules.reassignment import foreign_target_found
from kedge.controller.rules.reduction.keys import reduction_due
from kedge.controller.rules.reduction.purge import purge_due
from kedge.controller.rules.topics import create_partitions
from tests.rules.invariants import steps_of
from tests.rules.world import World

MOVE = Move((4, 5), (1, 2), 500)
GONE = {1: Retirement(900, immediate=True), 2: Retirement(900, immediate=True)}


def moving() -> World:
    world = World()
    for broker in (1, 2, 4, 5):
        world.plant_broker(broker)
    world.plant(Partition("t", 0, (1, 2), (1, 2), 1, 3, MOVE))
    return world


def kafkas(*partitions: int) -> World:
    """Kafka's own moves of these partitions of t, which has three."""
    world = World()
    world.plant_topic("t")
    moves = {partition: KafkaMove((1, 2, 3), (3,), (1,)) for partition in partitions}
    row = world.state.topics["t"]
    row.topic = type(row.topic)(row.topic.name, row.topic.topic_id, kafka_moves=moves)
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    for number in range(3):
        world.plant(Partition("t", number, (1, 2), (1, 2), 1, 3))
    return world


def test_a_move_that_another_controller_ignored_is_cancelled() -> None:
    decision = foreign_target_found(moving().state, e.ForeignTargetFound(1000, "t", 0, MOVE))
    causes = [step.cause for step in steps_of(decision.records) if step.event == "TargetCleared"]
    assert causes == ["another controller led"]


@pytest.mark.parametrize("move", [Move((4, 5), (1, 2), 501), Move((4,), (1, 2), 500)])
def test_a_move_that_was_requested_since_goes_on(move: Move) -> None:
    assert foreign_target_found(moving().state, e.ForeignTargetFound(1000, "t", 0, move)) == Decision()


def test_the_move_of_a_topic_that_is_being_deleted_is_left_to_the_deletion() -> None:
    world = moving()
    world.state.start_deletion("t")
    assert foreign_target_found(world.state, e.ForeignTargetFound(1000, "t", 0, MOVE)) == Decision()
    assert foreign_target_found(world.state, e.ForeignTargetFound(1000, "none", 0, MOVE)) == Decision()


def test_the_reduction_of_a_topic_that_is_being_deleted_is_left_to_the_deletion() -> None:
    world = kafkas()
    world.state.load_reduction("t", GONE, None)
    assert reduction_due(world.state, e.ReductionDue(1000, "t")) != Decision()
    world.state.start_deletion("t")
    assert reduction_due(world.state, e.ReductionDue(1000, "t")) == Decision()


def test_a_move_of_kafkas_that_is_taken_over_leaves_the_topic_key() -> None:
    decision = kafka_move_found(kafkas(0, 1).state, e.KafkaMoveFound(1000, "t", 0, (1, 2, 3), (3,), (1,)))
    [changed] = [record for record in decision.records if isinstance(record, r.TopicChanged)]
    assert list(changed.after.kafka_moves) == [1]
    assert (changed.ours, changed.cause) == (True, "Kafka's move taken over")


def test_a_purge_takes_the_moves_of_its_partitions_out_of_the_topic_key() -> None:
    """Of these alone: the last two of three partitions go."""
    world = kafkas(0, 1, 2)
    world.state.load_reduction("t", GONE, None)
    for number in (1, 2):
        row = Partition("t", number, (1, 2), (), -1, -1, status_code=1)
        world.state.put_row(number, world.partition("t", number), row)
    decision = purge_due(world.state, e.PurgeDue(1000, "t"))
    assert [record.before.partition for record in decision.records if isinstance(record, r.PartitionPurged)] == [2, 1]
    [changed] = [record for record in decision.records if isinstance(record, r.TopicChanged)]
    assert list(changed.after.kafka_moves) == [0]


def test_a_move_of_kafkas_is_due_for_its_own_partition_alone() -> None:
    """Once the key of the partition can be read."""
    state = kafkas(0, 1).state
    assert kafka_move_due(state, "t", 1, 1000) == (e.KafkaMoveFound(1000, "t", 1, (1, 2, 3), (3,), (1,)),)
    assert kafka_move_due(state, "t", 2, 1000) == ()
    assert kafka_move_due(state, "none", 1, 1000) == ()


def test_after_its_death_a_broker_that_returned_is_born_at_the_same_time() -> None:
    returned = Broker(BrokerRegistration(1), 78)
    world = World()
    world.state.load_dying({1: 77})
    decision = death_done(world.state, e.DeathDone(1000, 1, 77, returned))
    assert decision.expand == (e.BrokerCame(1000, returned),)


def test_what_follows_an_event_has_its_time() -> None:
    """Deadlines and listings are counted from there."""
    world = kafkas()
    added = create_partitions(world.state, e.CreatePartitions(1234, "t", 5, None))
    died = broker_gone(world.state, e.BrokerGone(1234, 2, 1))
    world.state.shutting_down[1] = 1
    epoch = world.state.partition_epoch(world.partition("t"))
    left = alter_isr(world.state, e.AlterIsr(1234, "t", 0, 1, 3, epoch, (1,), 1))
    for decision in (added, died, left):
        following: list[Any] = [event for group in decision.expand for event in getattr(group, "events", (group,))]
        assert following
        assert {event.now_ms for event in following} == {1234}


def test_the_deletion_of_a_partition_that_cannot_be_read_ends_its_problem() -> None:
    """The record has the problem, so that an undone batch brings it back."""
    world = kafkas()
    world.state.load_problem("t", 1, "no JSON")
    world.state.start_deletion("t")
    decision = partition_deletion_due(world.state, e.PartitionDue(1000, "t", 1, e.Reason.STOP))
    assert r.BadKey("t", 1, None, "no JSON") in decision.records


def test_intents_of_members_are_checked_once_the_partition_can_be_read_again() -> None:
    """Whether they are void was not known until then."""
    world = kafkas()
    world.state.load_problem("t", 1, "no JSON")
    intents = [DeleteIntent(broker, "t", "id-of-t", 1, 3) for broker in (1, 3)]
    for intent in intents:
        world.state.intents.open(intent)
    found = Partition("t", 1, (1, 2), (1, 2), 1, 3)
    decision = decide(world.state, e.StateKeyRead(1000, "t", 1, found, None, KeyVersion(9, 9)))
    assert [event for event in decision.expand if isinstance(event, e.IntentDue)] == [e.IntentDue(1000, intents[0])]
