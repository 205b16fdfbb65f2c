"""Requests with throttles that may not fit into a commit: upper bounds of what they write, and the order of steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.codec import legacy, notifications, small, throttles
from kedge.controller.model.errors import ApiError
from kedge.controller.model.events import (
    LATER,
    Event,
    Group,
    LegacyEntryDue,
    ThrottleRemovalDue,
    ThrottleRequestAborted,
    ThrottleStepDue,
)
from kedge.controller.model.legacy import LegacyEntry
from kedge.controller.model.records import LegacyPlanWritten, ThrottleRequestBegan, ThrottleRequestEnded
from kedge.controller.model.throttles import CONFIGS, CommitLimits, Kept, ThrottleMark, ThrottlePlan
from kedge.controller.model.values import Partition
from kedge.controller.rules.throttling.steps import (
    AT_ONCE_MAX,
    carry_out,
    config_bytes,
    mark_bytes,
    plan_bytes,
    request_aborted,
)
from kedge.controller.state import apply
from tests.rules.world import World

NAMES = st.text("abc._-", min_size=1, max_size=30)
KEPT = st.builds(
    Kept,
    st.one_of(st.none(), st.text("0:1,*", max_size=40)),
    st.lists(st.text("0:123", min_size=1), max_size=5).map(tuple),
)
MARKS = st.builds(
    ThrottleMark,
    st.just(0),
    st.lists(NAMES, max_size=6, unique=True).map(tuple),
    st.dictionaries(NAMES, st.dictionaries(st.sampled_from(CONFIGS["topics"]), KEPT, max_size=2), max_size=4),
)
ENTRIES = st.lists(
    st.builds(
        LegacyEntry, NAMES, st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**31 - 1), max_size=6).map(tuple)
    ),
    max_size=8,
)


@pytest.mark.slow
@given(MARKS)
def test_a_mark_takes_no_more_than_its_bound(mark: ThrottleMark) -> None:
    assert len(throttles.encode("topics", mark)) <= mark_bytes(mark)


def test_a_mark_of_many_owners_takes_no_more_than_its_bound() -> None:
    mark = ThrottleMark(0, tuple(map(str, range(1_000))))
    assert len(throttles.encode("topics", mark)) <= mark_bytes(mark)


@pytest.mark.parametrize("length", [0, 1, 5_000])
def test_configs_and_their_notification_take_no_more_than_their_bound(length: int) -> None:
    configs = dict.fromkeys(CONFIGS["topics"], "1" * length)
    written = len(small.encode_config(configs)) + len(notifications.encode_config_change("topics", "t" * 249))
    assert written <= config_bytes(configs)


@pytest.mark.slow
@given(ENTRIES)
def test_a_plan_takes_no_more_than_its_bound(entries: list[LegacyEntry]) -> None:
    assert len(legacy.encode(entries)) <= plan_bytes(tuple(entries))


def world_of(topics: int, partitions: int) -> World:
    world = World()
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    for topic in range(topics):
        for number in range(partitions):
            world.plant(Partition(f"t{topic}", number, (1, 2), (1, 2), 1, 3))
    return world


def plan_for(topics: int) -> ThrottlePlan:
    """Lists of each topic, rates of each broker, and a move of the first partition of each topic."""
    names = [f"t{topic}" for topic in range(topics)]
    lists = dict.fromkeys(CONFIGS["topics"], ("0:1",))
    rates = dict.fromkeys(CONFIGS["brokers"][:2], ("1000",))
    return ThrottlePlan(
        {"topics": dict.fromkeys(names, lists), "brokers": dict.fromkeys(("1", "2", "3"), rates)},
        moves=tuple(LegacyEntry(name, 0, (2, 3)) for name in names),
    )


def keys_of(world: World, plan: ThrottlePlan) -> int:
    """How many keys a request writes that is carried out at once."""
    decision = carry_out(world.state, plan, 1, CommitLimits(10_000, 10**9))
    for record in decision.records:
        apply(world.state, record)
    return len(world.state.batch.dirty_keys)


@pytest.mark.parametrize("topics", [1, 3, 8])
def test_what_may_not_fit_is_done_in_steps_and_keys_are_never_underrated(topics: int) -> None:
    plan = plan_for(topics)
    keys = keys_of(world_of(topics, 2), plan)
    for room in range(1, 3 * keys):
        decision = carry_out(world_of(topics, 2).state, plan, 1, CommitLimits(room, 10**9))
        if decision.reply is not LATER:
            assert room >= keys
            break
        assert decision.records == (ThrottleRequestBegan(plan),)
    else:
        raise AssertionError("it never fits")


def test_a_large_topic_whose_key_is_written_needs_the_room_for_it() -> None:
    """1,000 partitions of two replicas: 34 bytes each, whatever else is written."""
    plan = plan_for(1)
    small, large = (world_of(1, count).state for count in (1, 1_000))
    room = CommitLimits(1_000, 30_000)
    assert carry_out(small, plan, 1, room).reply is not LATER
    assert carry_out(large, plan, 1, room).reply is LATER


def test_a_mark_that_names_many_needs_the_room_for_it() -> None:
    """A topic that is throttled joins 2,000 others in the mark."""
    plan = plan_for(1)
    few, many = world_of(1, 1).state, world_of(1, 1).state
    many.throttles.marks["topics"] = ThrottleMark(1, tuple(f"other-{number}" for number in range(2_000)))
    room = CommitLimits(1_000, 30_000)
    assert carry_out(few, plan, 1, room).reply is not LATER
    assert carry_out(many, plan, 1, room).reply is LATER


def test_very_many_moves_are_handed_over_in_the_key_of_plans_whatever_a_commit_takes() -> None:
    moves = tuple(LegacyEntry("t0", number, (2, 3)) for number in range(AT_ONCE_MAX + 1))
    plan = ThrottlePlan({}, moves=moves, answer={"t0": None})
    decision = carry_out(world_of(1, len(moves)).state, plan, 1, CommitLimits(10**6, 10**9))
    assert decision.records == (LegacyPlanWritten(moves),)
    assert decision.expand == tuple(LegacyEntryDue(1, one.topic, one.partition) for one in moves)
    assert decision.reply == plan.answer


Stage = set[tuple[str, str, str]]


def _stages(due: Event | Group) -> list[Stage]:
    if isinstance(due, Group):
        stage: Stage = {_named(one) for one in due.events}
        return [stage, *_stages(due.then)]
    assert isinstance(due, ThrottleStepDue)
    assert due.is_last
    return [{_named(due)}]


def _named(due: Event) -> tuple[str, str, str]:
    assert isinstance(due, ThrottleStepDue)
    return due.step.do, due.step.kind, due.step.owner


def test_steps_wait_for_those_before_them() -> None:
    """Marks before what they name, replaced throttles before new ones, the cut-down mark after both, the moves last."""
    world = world_of(1, 1)
    world.state.throttles.marks["brokers"] = ThrottleMark(1, ("1", "2"))
    plan = ThrottlePlan(
        {
            "topics": {"t0": {CONFIGS["topics"][0]: ("0:1",)}},
            "brokers": {"2": {CONFIGS["brokers"][0]: ("5",)}, "3": {CONFIGS["brokers"][0]: ("5",)}},
        },
        replaces=frozenset({"brokers"}),
        moves=(LegacyEntry("t0", 0, (2, 3)),),
    )
    decision = carry_out(world.state, plan, 1, CommitLimits(1, 10**9))
    (due,) = decision.expand
    assert _stages(due) == [
        {("mark", "topics", "")},
        {("set", "topics", "t0")},
        {("mark", "brokers", "")},
        {("back", "brokers", "1")},
        {("set", "brokers", "2"), ("set", "brokers", "3")},
        {("trim", "brokers", "")},
        {("begin", "topics", "")},
    ]


def test_a_request_that_is_given_up_ends_with_an_error_and_its_throttles_are_removed() -> None:
    world = world_of(1, 1)
    plan = plan_for(1)
    event = ThrottleRequestAborted(7)
    assert request_aborted(world.state, event).records == ()
    apply(world.state, ThrottleRequestBegan(plan))
    decision = request_aborted(world.state, event)
    assert decision.records == (ThrottleRequestEnded(plan),)
    assert isinstance(decision.reply, ApiError)
    assert "given up" in str(decision.reply)
    assert decision.expand == (ThrottleRemovalDue(7),)
