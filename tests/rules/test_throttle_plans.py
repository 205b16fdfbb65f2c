"""Requests for throttles between their first and last Decision (KIP-179): the order of what they do, the sizes of what
they write, and what becomes of them if something changes meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.codec import keys, legacy, notifications, small, throttles
from kedge.controller.machine import decide
from kedge.controller.model import events as e
from kedge.controller.model.errors import (
    ApiError,
    InvalidRequest,
    InvalidTopic,
    ReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kedge.controller.model.legacy import LegacyEntry
from kedge.controller.model.records import KeyAt
from kedge.controller.model.throttle_configs import LISTS, RATES
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
from kedge.controller.model.values import Partition, Topic, TopicPartition
from kedge.controller.records import LegacyPlanWritten, ThrottleChanged, ThrottlePlanRuns
from kedge.controller.rules.throttling.plans import AT_ONCE_MAX, carry_out, plan_bytes
from kedge.controller.rules.throttling.requests import alter_replicas, config_bytes
from kedge.controller.state import apply
from tests.rules.script import Script
from tests.rules.world import World

LIMITS = CommitLimits(1_000, 10**6)
LEADER = RATES["replication"][0]
REMOVAL = e.ThrottleRemovalDue(5)
OURS = OwnerMark({LEADER: ConfigMark(None, ("5",))})


def rates(*brokers: int, stays: bool = False) -> e.AlterThrottledRates:
    """A request for a rate of 7 on both sides."""
    wanted = tuple((broker, 7, 7) for broker in brokers)
    return e.AlterThrottledRates(5, False, not stays, LIMITS, wanted, "replication")


def scripted(text: str) -> World:
    script = Script()
    script.play(text)
    return script.world


def begun(world: World, event: e.Event) -> tuple[tuple[e.Event, ...], e.Event]:
    """The request is decided, and takes several commits: its first steps, and what is due after them."""
    decision = world.decide(event)
    assert decision.reply is e.LATER
    (group,) = decision.expand
    assert isinstance(group, e.Group)
    assert isinstance(group.then, e.Event)
    return group.events, group.then


# --- the order


def test_lists_are_set_before_rates_and_both_before_the_moves() -> None:
    """Each kind is marked in the Decision before its steps."""
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\n")
    targets = (e.NamedTarget("t", 0, (2, 3)),)
    steps, then = begun(world, e.ReassignPartitions(5, False, True, LIMITS, targets, 7))
    assert steps == (e.ThrottleDue(5, "topics", "t"),)
    assert (world.state.throttles.told(), world.state.is_reassigning) == ({"topics": ["t"]}, False)
    world.decide(steps[0])
    steps, then = begun(world, then)
    assert steps == tuple(e.ThrottleDue(5, "brokers", broker) for broker in "123")
    assert world.state.throttles.told() == {"topics": ["t"], "brokers": ["1", "2", "3"]}
    for step in steps:
        world.decide(step)
    assert not list(world.state.moving())
    assert world.decide(then).reply == {TopicPartition("t", 0): None}
    assert [p.topic for p in world.state.moving()] == ["t"]
    assert world.state.throttles.running == ()


def test_a_second_reassignment_is_refused_before_the_moves_of_the_first_begin() -> None:
    """Requests without moves run beside it."""
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\npartition u-0 R=1\n")
    begun(world, e.ReassignPartitions(5, False, True, LIMITS, (e.NamedTarget("t", 0, (2, 3)),), 7))
    other = e.ReassignPartitions(5, False, True, LIMITS, (e.NamedTarget("u", 0, (2,)),), None)
    (error,) = decide(world.state, other).reply.values()  # type: ignore[attr-defined]
    assert isinstance(error, ReassignmentInProgress)
    begun(world, rates(1))
    assert len(world.state.throttles.running) == 2


def test_of_two_requests_at_the_same_time_the_later_one_wins_owner_by_owner() -> None:
    """The earlier one succeeds, too, as if it had ended first."""
    world = scripted("broker 1 2\n")
    first, end_of_first = begun(world, rates(1, 2))
    world.decide(first[1])
    second, end_of_second = begun(world, rates(1, stays=True))
    for step in (*first, *second):
        world.decide(step)
    assert [world.decide(end).reply for end in (end_of_first, end_of_second)] == [{1: None, 2: None}, {1: None}]
    assert [LEADER in world.state.broker_config(broker) for broker in "12"] == [True, False]
    assert (world.state.throttles.marks["brokers"], world.state.throttles.running) == ({}, ())


def test_nothing_is_removed_while_a_request_is_carried_out() -> None:
    """What has ended meanwhile is due at its end."""
    world = scripted(f"broker 1 2\nbrokerconfig 1 version=3 {LEADER}=5\npartition t-0 R=1\n")
    world.state.throttles.marks["brokers"]["1"] = OURS
    steps, end = begun(world, e.AlterThrottledReplicas(5, False, True, LIMITS, (("t", 0, (1,), ()),)))
    world.decide(REMOVAL)
    back = e.ThrottleDue(5, "brokers", "1")
    assert world.decide(back).records == ()
    world.decide(steps[0])
    decision = world.decide(end)
    assert decision.expand == (e.ThrottleDue(5, "topics", "t"), back)
    for step in decision.expand:
        assert isinstance(step, e.Event)
        world.decide(step)
    assert world.state.throttles.told() == {}
    assert world.state.broker_config("1") == world.state.topic_config("t") == {}


def test_what_is_given_back_is_wanted_again_by_a_request_in_the_middle_of_a_removal() -> None:
    world = scripted(f"broker 1 2\nbrokerconfig 1 version=3 {LEADER}=5\n")
    world.state.throttles.marks["brokers"] = {"1": OURS, "2": OURS}
    world.decide(REMOVAL)
    steps, end = begun(world, rates(1))
    for step in (*steps, end, e.ThrottleDue(5, "brokers", "1"), e.ThrottleDue(5, "brokers", "2")):
        world.decide(step)
    assert world.state.broker_config("1")[LEADER] == "7"
    assert world.state.throttles.told() == {"brokers": ["1"]}


# --- what changes meanwhile


def test_a_request_of_which_a_step_was_refused_ends_with_an_error_and_its_throttles_are_removed() -> None:
    """The owner that has no throttle yet gets none afterwards."""
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\n")
    steps, end = begun(world, rates(1, 2))
    world.decide(steps[0])
    decision = world.decide(end)
    assert isinstance(decision.reply, ApiError)
    assert "the throttle of brokers 2 could not be set" in decision.reply.message
    assert decision.expand == (REMOVAL,)
    assert world.decide(steps[1]).records == ()
    world.run(REMOVAL)
    assert (world.state.throttles.told(), world.state.broker_config("1")) == ({}, {})


def test_a_request_whose_last_step_was_refused_is_given_up() -> None:
    world = scripted("broker 1 2\n")
    steps, end = begun(world, rates(1))
    world.decide(steps[0])
    refused = end.dropped()
    assert refused is not None
    decision = world.decide(refused)
    assert isinstance(decision.reply, ApiError)
    assert (decision.expand, world.state.throttles.running) == ((REMOVAL,), ())


def test_moves_do_not_begin_beside_another_reassignment_that_has_begun_meanwhile() -> None:
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\npartition u-0 R=1\n")
    event = e.ReassignPartitions(5, False, True, LIMITS, (e.NamedTarget("t", 0, (2, 3)),), 7)
    steps, then = begun(world, event)
    world.decide(steps[0])
    world.decide(e.AlterReassignment(5, "u", 0, (2,)))
    assert isinstance(world.decide(then).reply, ReassignmentInProgress)
    assert world.state.throttles.running == ()


@pytest.mark.parametrize("stays", [True, False])
def test_a_topic_that_is_being_deleted_meanwhile_gets_no_throttle(stays: bool) -> None:
    """The request succeeds for the others."""
    world = scripted("broker 1 2\npartition t-0 R=1,2\n")
    lists = (("t", 0, (1,), ()),)
    steps, end = begun(world, e.AlterThrottledReplicas(5, False, not stays, LIMITS, lists))
    world.decide(e.DeleteTopic(5, "t"))
    assert world.decide(steps[0]).records == ()
    assert world.decide(end).reply == {TopicPartition("t", 0): None}


def test_of_a_mark_of_another_program_all_values_count_as_its_own_once_they_can_be_read() -> None:
    world = scripted(f"broker 1 2\nbrokerconfig 1 version=3 {LEADER}=5\nbrokerconfig 2 version=4 unread\n")
    world.state.throttles.load("brokers", "old brokers", {b: OwnerMark(None) for b in "12"}, MarkKey())
    world.run(REMOVAL)
    assert (world.state.throttles.told(), world.state.broker_config("1")) == ({"brokers": ["2"]}, {})
    world.run(e.BrokerConfigRead(5, "2", {LEADER: "6", "log.retention.ms": "1"}, KeyAt(keys.broker_config("2"), 9)))
    assert (world.state.throttles.told(), world.state.broker_config("2")) == ({}, {"log.retention.ms": "1"})


def test_a_mark_of_another_program_is_left_alone_by_throttles_that_are_to_stay() -> None:
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\n")
    world.state.throttles.load("topics", "old topics", {"u": OwnerMark(None)}, MarkKey())
    wanted: Mapping[MarkKind, Wanted] = {"topics": {"t": {LISTS[0]: ("0:1",)}}}
    decision = carry_out(world.state, ThrottlePlan(wanted, LIMITS, auto_remove=False), 5)
    changed = [record for record in decision.records if isinstance(record, ThrottleChanged)]
    assert [(one.entity.name, one.mark_after and one.mark_after.is_listed) for one in changed] == [("t", False)]


# --- sizes


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


@pytest.mark.parametrize("is_made_again", [True, False])
def test_a_topic_that_was_deleted_meanwhile_is_not_moved_nor_another_one_of_its_name(is_made_again: bool) -> None:
    """Nothing else moves, so the throttles of brokers are removed again."""
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\n")
    steps, then = begun(world, e.ReassignPartitions(5, False, True, LIMITS, (e.NamedTarget("t", 0, (2, 3)),), 7))
    world.decide(steps[0])
    steps, then = begun(world, then)
    world.run(e.DeleteTopic(5, "t"))
    if is_made_again:
        world.state.topics["t"].topic = Topic("t", "another")
        world.state.deletions.clear()
    for step in steps:
        world.decide(step)
    decision = world.decide(then)
    assert decision.expand == (REMOVAL,)
    assert isinstance(decision.reply, dict)
    assert isinstance(decision.reply[TopicPartition("t", 0)], InvalidTopic)
    assert not world.state.is_reassigning


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
    world = scripted("broker 1\npartition t-0 R=1\n")
    lists = (("t", 0, (1,), (1,)),)
    request = e.AlterThrottledReplicas(5, False, True, CommitLimits(1_000, 1_200), lists)
    (error,) = alter_replicas(world.state, request).reply.values()  # type: ignore[attr-defined]
    assert isinstance(error, InvalidRequest)
    assert "the configs of topics t with the mark would take" in error.message
    assert "a commit holds at most 1200" in error.message


def test_a_request_of_which_everything_is_in_force_is_answered_at_once() -> None:
    world = scripted("broker 1 2\n")
    world.run(rates(1))
    decision = world.decide(rates(1))
    assert (decision.records, decision.reply) == ((), {1: None})
    assert not any(isinstance(record, ThrottlePlanRuns) for record in decision.records)
