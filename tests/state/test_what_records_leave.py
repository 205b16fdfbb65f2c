"""What the state says after a record, asked as the runtime asks it; and indexes of which most entries are stale."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller import records as r
from kedge.controller.model.records import KeyVersion, KeyVersions
from kedge.controller.model.throttles import ConfigMark, MarkKey, OwnerMark
from kedge.controller.model.values import Move, Partition, Topic
from kedge.controller.state import apply, undo_to
from kedge.controller.state.columns import PartitionColumns, Rows
from kedge.controller.state.rows import Deletion
from kedge.controller.state.tally import Tally
from tests.rules.world import World

MANY = 1_200  # more than an index keeps stale
STAY = 100


def world_of(count: int) -> World:
    world = World(is_checked=False)
    world.plant_topic("t")
    for number in range(count):
        world.plant(Partition("t", number, (1, 2), (1, 2), 1, 3))
    return world


# --- what is loaded


def test_a_topic_is_loaded_with_the_versions_of_its_state_keys() -> None:
    state = World().state
    rows = [Partition("t", 0, (1, 2), (1, 2), 1, 3)]
    state.load_topic(Topic("t", "id"), PartitionColumns.of(rows), {"a": "b"}, KeyVersions((8,), (5,)))
    assert dict(state.topic_config("t")) == {"a": "b"}
    assert state.key_version("t", 0) == KeyVersion(8, 5)


def test_a_mark_is_loaded_and_ours_takes_precedence() -> None:
    state = World().state
    ours = OwnerMark({"c": ConfigMark("v", ("w",))})
    state.throttles.load("brokers", "brokers", {"1": ours}, MarkKey())
    state.throttles.load("brokers", "old brokers", {"1": OwnerMark(None), "2": OwnerMark(None)}, MarkKey())
    assert state.throttles.marks["brokers"] == {"1": ours, "2": OwnerMark(None)}
    assert [*state.throttles.keys] == ["brokers", "old brokers"]


def test_a_topic_that_is_found_moving_is_listed_until_that_is_undone() -> None:
    state = World().state
    moving = Partition("t", 0, (1, 2), (1, 2), 1, 3, Move((3,), (1, 2), 500))
    apply(state, r.TopicFound(Topic("t", "id"), (moving,), {}, KeyVersions((8,), (5,))))
    assert (state.moving(), list(state.listing.values()), state.is_reassigning) == ([moving], [moving], True)
    undo_to(state, 0)
    assert (state.moving(), list(state.listing.values()), state.is_reassigning) == ([], [], False)


@pytest.mark.parametrize("there, other", [("a_b", "a.b"), ("a.b", "a_b")])
def test_a_name_that_metrics_would_not_tell_apart_collides(there: str, other: str) -> None:
    world = World()
    world.plant_topic(there)
    assert (world.state.colliding_topic(other), world.state.colliding_topic("ab")) == (there, None)


def test_the_state_knows_whose_it_is() -> None:
    assert World().state.controller_id == 1


# --- what is counted


def test_rows_of_one_kind_have_the_same_leader_too() -> None:
    """A partition whose ISR lacks a replica counts for its leader, and for the preferred leader that does not lead."""
    rows = Rows()
    for number, (isr, leader) in enumerate([((1, 2), 1), ((1, 2), 2), ((2,), 2), ((2,), 2)]):
        rows.append(Partition("t", number, (1, 2), isr, leader, 3))
    tally = Tally.of(rows)
    assert (tally.offline, tally.reassigning) == (0, {})
    assert (tally.under_replicated, tally.imbalanced) == ({2: 2}, {1: 3})


def test_the_partition_epoch_counts_the_write_that_is_not_committed() -> None:
    world = world_of(1)
    partition = world.state.partition("t", 0)
    assert partition is not None
    assert world.state.partition_epoch(partition) == 0
    apply(world.state, r.PartitionChanged(partition, partition.but(leader=2, leader_epoch=4), ""))
    assert world.state.partition_epoch(partition) == 1


def test_empty_keys_of_intents_are_those_of_their_broker() -> None:
    state = World().state
    state.intents.load(7, 1, [])
    state.intents.load(8, 2, [])
    assert (state.empty_intent_keys(7), state.empty_intent_keys(8)) == ([1], [2])


# --- what a record leaves


def test_the_state_key_of_a_topic_that_is_deleted_counts_once_it_is_found() -> None:
    state = world_of(1).state
    state.deletions["t"] = Deletion(0, 1)
    apply(state, r.StateKeyAdopted("t", 0, KeyVersion(0, -1)))
    assert state.deletions["t"].keys_left == 0
    undo_to(state, 0)
    assert (state.deletions["t"].keys_left, state.key_version("t", 0)) == (1, KeyVersion(1, 0))


@pytest.mark.parametrize("partition, keys", [(None, [("topic", "t")]), (0, [("state", 0)]), (1, [])])
def test_a_foreign_change_writes_the_key_again_if_there_is_such_a_partition(
    partition: int | None, keys: list[tuple[str, object]]
) -> None:
    state = world_of(1).state
    apply(state, r.ForeignChange("t", partition, "", is_rewritten=True))
    assert list(state.batch.dirty_keys) == keys


def test_at_the_end_of_all_moves_marks_end_and_keys_without_owners_are_deleted() -> None:
    state = World().state
    state.throttles.load("brokers", "brokers", {"1": OwnerMark(None)}, MarkKey())
    state.throttles.load("topics", "topics", {}, MarkKey())
    state.throttles.load("topics", "old topics", {}, MarkKey())
    apply(state, r.ThrottlesEnded())
    assert state.throttles.marks == {"topics": {}, "brokers": {"1": OwnerMark(None, is_ended=True)}}
    assert list(state.batch.dirty_keys) == [("throttles", "topics"), ("throttles", "old topics")]
    undo_to(state, 0)
    assert state.throttles.marks == {"topics": {}, "brokers": {"1": OwnerMark(None)}}


def test_a_created_topic_is_new() -> None:
    state = World().state
    apply(state, r.TopicCreated(Topic("t", "id"), ((1, 2),)))
    assert state.is_new("t")


# --- what is removed


def _purge(world: World) -> None:
    for _ in range(MANY):
        world.state.purge_last_partition("t")


def _add_and_undo(world: World) -> None:
    apply(world.state, r.PartitionsAdded(world.state.topics["t"].topic, STAY + MANY, ((1, 2),) * MANY))
    undo_to(world.state, 0)


def _move_off(world: World) -> None:
    for number in range(STAY, STAY + MANY):
        row = world.state.partition("t", number)
        assert row is not None
        world.state.put_row(number, row, row.but(replicas=(3, 4), isr=(3, 4), leader=3))


def _delete_another(world: World) -> None:
    for number in range(MANY):
        world.plant(Partition("u", number, (1, 2), (1, 2), 1, 3))
    world.state.deletions["u"] = Deletion(0, MANY)
    world.state.delete_topic("u")


@pytest.mark.parametrize(
    "remove, planted, stay",
    [
        (_purge, STAY + MANY, STAY),
        (_move_off, STAY + MANY, STAY),
        (_add_and_undo, STAY + MANY, STAY + MANY),
        (_delete_another, STAY, STAY),
    ],
)
def test_an_index_that_is_compacted_while_partitions_go_names_those_that_stay(
    remove: Callable[[World], None], planted: int, stay: int
) -> None:
    world = world_of(planted)
    remove(world)
    for broker in (1, 2):
        assert world.state.numbers_on(broker) == list(range(stay))


@pytest.mark.parametrize("remove, left", [("purge_last_partition", [0]), ("delete_topic", [])])
def test_disks_of_a_removed_partition_are_forgotten(remove: str, left: list[int]) -> None:
    state = world_of(2).state
    state.deletions["t"] = Deletion(0, 2)
    for number in (0, 1):
        state.set_disk(number, 1, gone=True)
    getattr(state, remove)("t")
    assert state.disks_gone(1) == left
