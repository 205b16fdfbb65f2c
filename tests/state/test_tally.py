"""Counts that are kept as rows change are what counting all rows gives."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.machine import step
from kedge.controller.model import events as e
from kedge.controller.model.records import KeyVersions, Record
from kedge.controller.model.values import (
    LEADER_DURING_DELETE,
    NO_EPOCH,
    NO_LEADER,
    DeleteIntent,
    Move,
    Partition,
    Topic,
)
from kedge.controller.records import PartitionChanged, PartitionPurged, ReplicaDeleted
from kedge.controller.state import ClusterState, apply, apply_all, start_batch, undo_to
from kedge.controller.state.columns import PartitionColumns, Rows
from kedge.controller.state.tally import Tally
from tests.rules.world import World
from tests.state.snapshot import snapshot
from tests.state.test_undo import events, forget_all, planted


def counting() -> ClusterState:
    state = planted().state
    state.start_tally()
    return state


def kept(state: ClusterState) -> dict[str, object]:
    assert state.tally is not None
    return state.tally.as_dict()


def recounted(state: ClusterState) -> dict[str, object]:
    return Tally.of(state.rows).as_dict()


@pytest.mark.slow
@given(st.lists(events(), max_size=30), st.integers(0, 60))
def test_the_counts_are_those_of_all_rows_after_any_events_and_undone_batches(
    sequence: list[e.Event], cut: int
) -> None:
    """As after a conflict: the whole batch is undone, or a part of it."""
    state = counting()
    for event in sequence[: len(sequence) // 2]:
        step(state, event)
        assert kept(state) == recounted(state)
    start_batch(state)
    stood = state.tally.copy().as_dict() if state.tally is not None else {}
    for event in sequence[len(sequence) // 2 :]:
        step(state, event)
        assert kept(state) == recounted(state)
    undo_to(state, min(cut, len(state.batch)))
    assert kept(state) == recounted(state)
    undo_to(state, 0)
    assert kept(state) == recounted(state) == stood


@pytest.mark.slow
@given(st.lists(events(), max_size=15))
def test_records_applied_one_by_one_count_as_those_of_one_decision(sequence: list[e.Event]) -> None:
    """A run of records of one partition is put once; undone, each is put back alone."""
    state = counting()
    for event in sequence:
        before = len(state.batch)
        decision = step(state, event)
        once = state.tally.copy().as_dict() if state.tally is not None else {}
        undo_to(state, before)
        for record in decision.records:
            apply(state, record)
            assert kept(state) == recounted(state)
        assert kept(state) == once


@pytest.mark.slow
@given(st.lists(events(), max_size=10))
def test_a_topic_that_is_deleted_and_comes_back_takes_its_counts_along(sequence: list[e.Event]) -> None:
    state = counting()
    for event in [*sequence, e.DeleteTopic(1000, "a")]:
        step(state, event)
    for _ in range(3):
        for event in forget_all(state):
            step(state, event)
    start_batch(state)
    for number in state.topics["a"].numbers:
        state.put_state_version("a", number, 0, -1)
    stood = kept(state).copy()
    step(state, e.TopicGoneDue(1000, "a"))
    assert kept(state) == recounted(state)
    undo_to(state, 0)
    assert kept(state) == recounted(state) == stood


def test_a_partition_that_was_never_led_takes_its_count_along_when_it_is_purged() -> None:
    """It has no state key, and no status; as often as the batch is undone."""
    world = World(is_checked=False)
    never_led = Partition("t", 1, (1, 2), (), NO_LEADER, NO_EPOCH)
    versions = KeyVersions((1, 0), (0, -1))
    rows = [Partition("t", 0, (1, 2), (1, 2), 1, 0), never_led]
    world.state.load_topic(Topic("t", "id"), PartitionColumns.of(rows), {}, versions)
    world.state.start_tally()
    assert kept(world.state)["offline"] == 1
    for _ in range(2):
        apply(world.state, PartitionPurged(never_led))
        assert kept(world.state) == recounted(world.state)
        assert kept(world.state)["offline"] == 0
        undo_to(world.state, 0)
        assert kept(world.state)["offline"] == 1


_BROKERS = st.permutations([1, 2, 3]).flatmap(lambda all_: st.integers(1, 3).map(lambda n: tuple(all_[:n])))
ROWS = st.builds(
    lambda replicas, isr, leader, target, status: Partition(
        "t", 0, replicas, isr, leader, 0, None if target is None else Move(target, replicas[:2], 0), status
    ),
    _BROKERS,
    _BROKERS | st.just(()),
    st.sampled_from([1, 2, 3, NO_LEADER, LEADER_DURING_DELETE]),
    st.none() | _BROKERS,
    st.sampled_from([0, 0, -1, 1]),
)


def packed(*rows: Partition | None) -> Rows:
    """Those, by number."""
    found = Rows()
    for row in rows:
        found.append(row or Partition("t", 0, (1,), (1,), 1, 0))
        found[len(found) - 1] = row
    return found


@pytest.mark.slow
@given(st.lists(ROWS, min_size=2, max_size=6))
def test_many_rows_are_counted_as_each_alone(rows: list[Partition]) -> None:
    tally = Tally()
    for row in rows * 2:
        tally.count(row, 1)
    assert tally.as_dict() == Tally.of(packed(*rows, *rows)).as_dict()


@pytest.mark.slow
@given(st.lists(ROWS, min_size=2, max_size=6))
def test_a_row_in_the_place_of_another_counts_as_if_it_alone_had_been_counted(rows: list[Partition]) -> None:
    """Whatever differs between the two."""
    tally = Tally.of(packed(rows[0]))
    for before, after in pairwise(rows):
        tally.swap(before, after)
        assert tally.as_dict() == Tally.of(packed(after)).as_dict()


def test_a_topic_that_is_found_in_the_store_is_counted() -> None:
    """Loaded after the counting began, as one that others made."""
    world = World(is_checked=False)
    world.state.start_tally()
    rows = [Partition("t", 0, (1, 2), (1, 2), 2, 0), Partition("t", 1, (1, 2), (1,), 1, 0)]
    versions = KeyVersions((1, 1), (0, 0))
    world.state.load_topic(Topic("t", "id"), PartitionColumns.of(rows), {}, versions)
    assert kept(world.state) == {"imbalanced": {1: 1}, "offline": 0, "reassigning": {}, "under_replicated": {1: 1}}


TO_456 = Move((4, 5, 6), (1, 2, 3), 0)


@pytest.mark.parametrize(
    "row,counted",
    [
        (Partition("t", 0, (1, 2, 3), (3, 2, 1), 1, 0), {}),
        (Partition("t", 0, (1, 2, 3), (1, 2), 1, 0), {"under_replicated": {1: 1}}),
        (Partition("t", 0, (1, 2, 3), (1, 2, 3), 1, 0, TO_456), {"reassigning": {1: 1}}),
        (Partition("t", 0, (1, 2, 3, 4), (1, 2, 3, 4), 1, 0, TO_456), {"reassigning": {1: 1}}),
        # R grew by a target that fell out again: it is still one that is being added.
        (Partition("t", 0, (1, 2, 3, 4), (1, 2, 3), 1, 0, TO_456), {"reassigning": {1: 1}}),
        # One that was there before fell out, and as many are in sync as there were: it is missing all the same.
        (
            Partition("t", 0, (1, 2, 3, 4), (1, 2, 4), 1, 0, TO_456),
            {"reassigning": {1: 1}, "under_replicated": {1: 1}},
        ),
        (Partition("t", 0, (1, 2, 3), (1, 2, 3), 2, 0), {"imbalanced": {1: 1}}),
        (Partition("t", 0, (1, 2, 3), (2,), NO_LEADER, 0), {"offline": 1, "imbalanced": {1: 1}}),
        (Partition("t", 0, (1, 2, 3), (2,), NO_LEADER, 0, TO_456), {"offline": 1, "imbalanced": {1: 1}}),
        (Partition("t", 0, (1, 2, 3), (), NO_LEADER, -1), {"offline": 1}),
        (Partition("t", 0, (1, 2, 3), (1,), LEADER_DURING_DELETE, 2**30), {}),
        (Partition("t", 0, (1, 2, 3), (1,), NO_LEADER, 5, None, 1), {}),
    ],
)
def test_what_one_row_adds(row: Partition, counted: dict[str, object]) -> None:
    """By leader, by preferred leader, or to those without a leader; what goes or was taken offline adds nothing."""
    nothing = {"imbalanced": {}, "offline": 0, "reassigning": {}, "under_replicated": {}}
    tally = Tally.of(packed(row, None))
    assert tally.as_dict() == {**nothing, **counted}
    tally.count(row, -1)
    assert tally.as_dict() == nothing


def test_records_before_one_that_cannot_be_applied_are_undone_and_counted_once() -> None:
    """Only a defect of the rules gives such a Decision: it is refused, and the state and its counts are as before."""
    state = counting()
    start_batch(state)
    stood, before = snapshot(state), kept(state)
    a0, b0 = (state.partition(name, 0) for name in ("a", "b"))
    assert a0 is not None
    assert b0 is not None
    run = [PartitionChanged(a0, cut := a0.but(isr=a0.isr[:1])), PartitionChanged(cut, cut.but(leader=NO_LEADER))]
    other = PartitionChanged(b0, b0.but(isr=b0.isr[:1]))
    unknown = Partition("nowhere", 0, (1,), (1,), 1, 0)
    bads: list[Record] = [PartitionChanged(unknown, unknown), ReplicaDeleted(DeleteIntent(1, "nowhere", "none", 0, 1))]
    for bad in bads:
        for records in ([bad], [*run, bad], [*run, other, bad], [*run, bad, other]):
            with pytest.raises((AssertionError, KeyError)):
                apply_all(state, records)
            undo_to(state, 0)
            assert kept(state) == recounted(state) == before
            assert snapshot(state) == stood


def test_rows_that_differ_in_their_preferred_leader_alone_are_counted_apart() -> None:
    """All are led by 3, with as many replicas, all in sync."""
    rows = Rows()
    replicas = [(1, 3, 2), (2, 3, 1), (2, 1, 3), (3, 1, 2)]
    rows.load("t", 0, PartitionColumns(replicas, replicas, [3] * 4, [5] * 4, {}))
    tally = Tally.of(rows)
    assert tally.as_dict() == {"offline": 0, "reassigning": {}, "under_replicated": {}, "imbalanced": {1: 1, 2: 2}}
