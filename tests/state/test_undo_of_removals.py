"""Topics and partitions that are removed from the state come back as they were, whatever else there is."""

from __future__ import annotations

import pytest

from kedge.controller.model import events as e
from kedge.controller.model.errors import InvalidTopic
from kedge.controller.model.values import Partition
from kedge.controller.state import start_batch
from kedge.controller.state.rows import Deletion
from tests.rules.world import World
from tests.state.snapshot import snapshot


def world_of(*topics: str) -> World:
    """Two partitions of each, on brokers 1 to 3; the disk of broker 1 is gone for all of them, and all are counted."""
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    for name in topics:
        for number in (0, 1):
            world.plant(Partition(name, number, (1, 2, 3), (1, 2), 1, 3))
        world.state.deletions[name] = Deletion(0, 2)
    for number in range(len(world.state.rows)):
        world.state.set_disk(number, 1, gone=True)
    world.state.start_tally()
    return world


@pytest.mark.parametrize("removed", ["a.b", "a_b", "plain"])
@pytest.mark.parametrize("topics", [("a.b", "a_b", "plain"), ("a_b", "plain", "a.b"), ("plain", "a_b"), ("a.b",)])
def test_a_topic_whose_removal_is_undone_is_as_before(topics: tuple[str, ...], removed: str) -> None:
    """Also if the names of two collide in metrics: a store may hold such topics."""
    world = world_of(*topics)
    if removed not in topics:
        return
    before = snapshot(world.state)
    deleted = world.state.delete_topic(removed)
    others = {name for name in topics if name != removed and name.replace(".", "_") == removed.replace(".", "_")}
    assert world.state.colliding_topic(removed) == next(iter(others), None)
    assert set(world.state.topics) == set(topics) - {removed}
    assert snapshot(world.state) != before
    world.state.undelete_topic(deleted)
    assert snapshot(world.state) == before


def test_removals_that_are_undone_in_reverse_leave_everything_as_before() -> None:
    """Disks of the other partitions stay gone meanwhile."""
    world = world_of("a", "b")
    before = snapshot(world.state)
    purged = [("a", world.state.purge_last_partition("a")), ("b", world.state.purge_last_partition("b"))]
    assert world.state.gone_copy() == {("a", 0, 1), ("b", 0, 1)}
    assert world.state.partition_total() == 2
    deleted = world.state.delete_topic("b")
    assert world.state.gone_copy() == {("a", 0, 1)}
    assert world.state.partition_total() == 1
    world.state.undelete_topic(deleted)
    for name, one in reversed(purged):
        world.state.unpurge(name, one)
    assert snapshot(world.state) == before
    assert world.state.partition_total() == 4


def test_the_last_partition_that_is_purged_is_known_until_its_key_is_gone() -> None:
    world = world_of("a")
    purged = world.state.purge_last_partition("a")
    assert purged.number == 1
    assert world.state.reducing.purged[1].partition == 1
    assert world.state.partition_count("a") == 1
    assert world.state.numbers_on(1) == [0]


@pytest.mark.parametrize("topics, other", [(("a.b", "a_b"), "a_b"), (("a_b", "a.b"), "a.b"), (("a.b", "a_b"), "a.b")])
def test_of_two_topics_whose_names_collide_the_one_that_stays_forbids_the_other(
    topics: tuple[str, ...], other: str
) -> None:
    """Metrics would name both alike, so the deleted one is not created again beside it."""
    world = world_of(*topics)
    [removed] = set(topics) - {other}
    world.state.delete_topic(removed)
    world.state.deletions.clear()
    start_batch(world.state)
    ran = world.run(e.CreateTopic(1000, removed, 1, 1, None, {}, False, "new", 0, 0))
    assert isinstance(ran.reply, InvalidTopic)
    assert f"collides with existing topic: {other}" in str(ran.reply)
