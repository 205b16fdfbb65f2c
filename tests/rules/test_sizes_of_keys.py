"""What fits into a key: configs and topics up to the limit, and the error beyond it."""

from __future__ import annotations

import attrs
import pytest

from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.config_requests import AlterConfigOp, OpType
from kedge.controller.model.errors import ApiError, InvalidConfig, InvalidPartitions, InvalidReplicaAssignment
from kedge.controller.model.records import KeyAt
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.values import TOPICS, ConfigEntity, KeyConfigs, Partition, Replicas
from kedge.controller.rules.configs import check_size
from kedge.controller.rules.reduction.keys import refusal as reduction_refusal
from tests.rules.world import World


def world_of(brokers: int) -> World:
    world = World()
    for broker in range(1, brokers + 1):
        world.plant_broker(broker)
    return world


def refusal(world: World, request: e.Event) -> ApiError:
    """The error of a request that changes nothing."""
    ran = world.run(request)
    assert isinstance(ran.reply, ApiError)
    assert ran.records == []
    return ran.reply


def test_configs_fill_their_key_up_to_the_limit() -> None:
    """40 bytes are around them; each takes its name and value in quotes, and two more."""
    room = 950_000 - 40 - len('"a"') - len('""') - 2
    assert check_size({"a": "x" * room}) is None
    problem = "the configs may take 950001 bytes, their key holds at most 950000"
    assert check_size({"a": "x" * (room + 1)}) == problem


def test_unknown_fields_of_a_key_count_as_well() -> None:
    """They are written back with the configs."""
    world = world_of(1)
    world.plant(Partition("t", 0, (1,), (1,), 1, 3))
    world.state.topics["t"].configs = KeyConfigs({}, {"more": "x" * 949_950})
    ops = (AlterConfigOp("retention.ms", "5", OpType.SET),)
    error = refusal(world, e.AlterConfigs(1000, ConfigEntity(TOPICS, "t"), ops))
    assert isinstance(error, InvalidConfig)
    assert "their key holds at most 950000" in error.message


def test_a_topic_that_is_barely_too_large_is_refused_with_its_size() -> None:
    """The partitions alone take exactly as much as the key holds."""
    error = refusal(world_of(8), e.CreateTopic(1000, "t", 9_500, 8, None, {}, False, "id", 0, 0))
    assert isinstance(error, InvalidPartitions)
    assert error.message == (
        "topic t: 9500 partitions may take 950400 bytes in the topic's key, which holds at most 950000"
    )


@pytest.mark.parametrize("assignments", [None, ((1,),)])
def test_retired_epochs_take_their_room_in_the_key_of_the_topic(assignments: tuple[Replicas, ...] | None) -> None:
    """24 bytes each, beside 46 for two partitions of one replica, and 400."""
    world = world_of(1)
    world.plant(Partition("t", 0, (1,), (1,), 1, 3))
    row = world.state.topics["t"]
    row.topic = attrs.evolve(row.topic, retired_epochs=dict.fromkeys(range(2, 39_567), 5))
    expand = e.CreatePartitions(1000, "t", 2, assignments)
    error = refusal(world, expand)
    assert isinstance(error, InvalidPartitions)
    assert error.message == "topic t: 2 partitions may take 950006 bytes in the topic's key, which holds at most 950000"
    row.topic = attrs.evolve(row.topic, retired_epochs=dict.fromkeys(range(2, 39_566), 5))
    world.run(expand)
    assert world.partition("t", 1).leader == 1


def test_added_partitions_have_as_many_replicas_as_those_before() -> None:
    """Also if all added ones agree."""
    world = world_of(2)
    world.plant(Partition("t", 0, (1, 2), (1, 2), 1, 3))
    error = refusal(world, e.CreatePartitions(1000, "t", 3, ((1,), (2,))))
    assert isinstance(error, InvalidReplicaAssignment)
    assert error.message.endswith("not consistent with previous partitions, which have 2 replica(s).")


@pytest.mark.slow
def test_more_retirements_than_a_key_holds_are_refused_with_their_number() -> None:
    """61 bytes each, with a time of 19 digits; by a request as in a key of another program."""
    count, far_ms = 16_000, 10**18
    world = World(is_checked=False)
    world.plant_broker(1)
    for number in range(count):
        world.plant(Partition("t", number, (1,), (1,), 1, 3))
    error = refusal(world, e.DeletePartitions(far_ms, "t", 1, None, immediate=True))
    assert isinstance(error, InvalidPartitions)
    assert error.message.startswith(f"topic t: {count - 1} partitions may take ")
    assert "which holds at most 950000; remove fewer at once" in error.message
    entries = dict.fromkeys(range(1, count), Retirement(far_ms, immediate=True))
    read = e.ReductionKeyRead(1000, "t", KeyAt(keys.delete_partitions("t"), 7), entries)
    assert reduction_refusal(world.state, read) == error.message
