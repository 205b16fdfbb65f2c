"""The sizes of what requests for throttles write, and what follows from them (KIP-179). The order of what they do, and
what becomes of them if something changes meanwhile, is in transcripts/plans.txt."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.codec import legacy, notifications, small, throttles
from kedge.controller.model import events as e
from kedge.controller.model.errors import ApiError, InvalidRequest, UnknownTopicOrPartition
from kedge.controller.model.legacy import LegacyEntry
from kedge.controller.model.throttle_configs import LISTS
from kedge.controller.model.throttles import (
    CONFIGS,
    CommitLimits,
    ConfigMark,
    MarkKey,
    MarkKind,
    OwnerMark,
    ThrottlePlan,
    Wanted,
    bytes_max,
)
from kedge.controller.model.values import Partition, TopicPartition
from kedge.controller.records import LegacyPlanWritten, ThrottleChanged
from kedge.controller.rules.throttling.plans import AT_ONCE_MAX, carry_out, plan_bytes
from kedge.controller.rules.throttling.requests import alter_replicas, config_bytes
from kedge.controller.state import apply
from tests.rules.world import World

LIMITS = CommitLimits(1_000, 10**6)
NAMES = st.text("abc._-", min_size=1, max_size=30)
VALUES = st.lists(st.text("0:123", min_size=1), max_size=5).map(tuple)
CONFIG_MARKS = st.builds(ConfigMark, st.none() | st.text(max_size=40), VALUES, st.none() | VALUES)
MARKS = st.dictionaries(
    NAMES,
    st.builds(OwnerMark, st.none() | st.dictionaries(st.sampled_from(CONFIGS["topics"]), CONFIG_MARKS, max_size=2)),
    max_size=6,
)
ENTRIES = st.lists(
    st.builds(
        LegacyEntry, NAMES, st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**31 - 1), max_size=6).map(tuple)
    ),
    max_size=8,
)


@pytest.mark.slow
@given(MARKS)
def test_a_mark_takes_no_more_than_its_bound(marks: dict[str, OwnerMark]) -> None:
    assert len(throttles.encode("topics", marks, MarkKey())) <= bytes_max(marks)


def test_a_mark_of_many_owners_takes_no_more_than_its_bound() -> None:
    marks = {str(number): OwnerMark() for number in range(1_000)}
    assert len(throttles.encode("topics", marks, MarkKey())) <= bytes_max(marks)


@pytest.mark.parametrize("length", [0, 1, 5_000])
def test_configs_and_their_notification_take_no_more_than_their_bound(length: int) -> None:
    configs = dict.fromkeys(CONFIGS["topics"], "1" * length)
    written = len(small.encode_config(configs)) + len(notifications.encode_config_change("topics", "t" * 249))
    assert written <= config_bytes(configs)


@pytest.mark.slow
@given(ENTRIES)
def test_a_plan_takes_no_more_than_its_bound(entries: list[LegacyEntry]) -> None:
    assert len(legacy.encode(entries)) <= plan_bytes(tuple(entries))


def moving(topics: int, partitions: int) -> tuple[World, tuple[LegacyEntry, ...]]:
    """Topics, and a move of the first partition of each."""
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    for topic in range(topics):
        for number in range(partitions):
            world.plant(Partition(f"t{topic}", number, (1, 2), (1, 2), 1, 3))
    return world, tuple(LegacyEntry(f"t{topic}", 0, (2, 3)) for topic in range(topics))


def plan_of(moves: tuple[LegacyEntry, ...], limits: CommitLimits) -> ThrottlePlan:
    return ThrottlePlan({}, limits, moves=moves, topic_ids={one.topic: f"id-of-{one.topic}" for one in moves})


def is_at_once(world: World, moves: tuple[LegacyEntry, ...], limits: CommitLimits) -> bool:
    """Whether the moves begin in one Decision; otherwise they go by the legacy key."""
    decision = carry_out(world.state, plan_of(moves, limits), 1)
    assert isinstance(decision.records[0], LegacyPlanWritten)
    due = tuple(e.PartitionDue(1, one.topic, one.partition, e.Reason.PLANNED) for one in moves)
    assert decision.expand == (() if len(decision.records) > 1 else due)
    return len(decision.records) > 1


@pytest.mark.parametrize("topics", [1, 3, 8])
def test_what_may_not_fit_goes_by_the_legacy_key_and_keys_are_never_underrated(topics: int) -> None:
    world, moves = moving(topics, 2)
    for record in carry_out(world.state, plan_of(moves, CommitLimits(10_000, 10**9)), 1).records:
        apply(world.state, record)
    keys = len(world.state.batch.dirty_keys)
    fitting = next(n for n in range(1, 3 * keys) if is_at_once(*moving(topics, 2), CommitLimits(n, 10**9)))
    assert fitting >= keys


def test_a_large_topic_whose_key_is_written_needs_the_room_for_it() -> None:
    """1,000 partitions of two replicas: 34 bytes each, whatever else is written."""
    limits = CommitLimits(1_000, 30_000)
    assert [is_at_once(*moving(1, count), limits) for count in (1, 1_000)] == [True, False]


def test_very_many_moves_go_by_the_legacy_key_whatever_a_commit_takes() -> None:
    world, _ = moving(1, AT_ONCE_MAX + 1)
    moves = tuple(LegacyEntry("t0", number, (2, 3)) for number in range(AT_ONCE_MAX + 1))
    assert not is_at_once(world, moves, CommitLimits(10**6, 10**9))


def test_a_move_that_is_refused_by_now_has_an_error_and_the_others_begin() -> None:
    world, moves = moving(2, 1)
    refused = (*moves[1:], LegacyEntry("t0", 7, (2, 3)))
    decision = carry_out(world.state, plan_of(refused, CommitLimits(10**6, 10**9)), 1)
    assert decision.records[0] == LegacyPlanWritten(moves[1:])
    assert isinstance(decision.reply, dict)
    assert list(decision.reply) == [TopicPartition("t0", 7)]
    assert isinstance(decision.reply[TopicPartition("t0", 7)], ApiError)


@pytest.mark.slow
def test_lists_that_no_key_can_hold_are_refused_and_each_bad_partition_keeps_its_own_error() -> None:
    world = World(is_checked=False)
    brokers = tuple(range(10_000, 11_000))
    for broker in brokers:
        world.plant_broker(broker)
    for number in range(100):
        world.plant(Partition("t", number, (10_000,), (10_000,), 10_000, 3))
    named = tuple(("t", number, brokers, ()) for number in (*range(100), 999))
    decision = alter_replicas(world.state, e.AlterThrottledReplicas(5, False, True, LIMITS, named))
    assert isinstance(decision.reply, dict)
    assert decision.records == ()
    errors = {tp.partition: error for tp, error in decision.reply.items() if isinstance(tp, TopicPartition)}
    assert isinstance(errors.pop(999), UnknownTopicOrPartition)
    assert {type(error) for error in errors.values()} == {InvalidRequest}
    assert "a key holds at most 950000" in str(errors[0])


def test_lists_that_fit_into_no_commit_beside_their_mark_are_refused() -> None:
    """The two are written together."""
    world, _ = moving(1, 1)
    lists = (("t0", 0, (1,), (1,)),)
    request = e.AlterThrottledReplicas(5, False, True, CommitLimits(1_000, 1_200), lists)
    (error,) = alter_replicas(world.state, request).reply.values()  # type: ignore[attr-defined]
    assert isinstance(error, InvalidRequest)
    assert "the configs of topics t0 with the mark would take" in error.message
    assert "a commit holds at most 1200" in error.message


def test_a_mark_of_another_program_is_left_alone_by_throttles_that_are_to_stay() -> None:
    world, _ = moving(1, 1)
    world.state.throttles.load("topics", "old topics", {"u": OwnerMark(None)}, MarkKey())
    wanted: Mapping[MarkKind, Wanted] = {"topics": {"t0": {LISTS[0]: ("0:1",)}}}
    decision = carry_out(world.state, ThrottlePlan(wanted, LIMITS, auto_remove=False), 5)
    changed = [record for record in decision.records if isinstance(record, ThrottleChanged)]
    assert [(one.entity.name, one.mark_after and one.mark_after.is_listed) for one in changed] == [("t0", False)]
