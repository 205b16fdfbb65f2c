"""Requests for throttles come one after the other; and what their steps do with what changed in between (KIP-179)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest

from kedge.controller.machine import decide
from kedge.controller.model import events as e
from kedge.controller.model.errors import InvalidRequest, UnknownTopicOrPartition
from kedge.controller.model.legacy import LegacyEntry
from kedge.controller.model.records import (
    ThrottleMarkChanged,
    ThrottleRemovalBegan,
    ThrottleRequestBegan,
    ThrottleStays,
)
from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.throttles import (
    CommitLimits,
    Kept,
    MarkKind,
    ThrottleMark,
    ThrottlePlan,
    ThrottleStep,
    Wanted,
)
from kedge.controller.model.values import ConfigEntity, Partition, TopicPartition
from kedge.controller.rules.throttling.marks import absorbed
from kedge.controller.rules.throttling.requests import alter_replicas
from kedge.controller.rules.throttling.steps import carry_out, step_due
from kedge.controller.rules.throttling.turns import must_wait
from kedge.controller.state import apply
from tests.rules.script import Script
from tests.rules.world import World

ROOM = CommitLimits(1_000, 10**6)
LEADER = RATES["replication"][0]
RATED = e.AlterThrottledRates(
    5, validate_only=False, auto_remove=True, room=ROOM, rates=((1, 7, 7),), family="replication"
)
THROTTLED = e.ReassignPartitions(5, validate_only=False, auto_remove=True, room=ROOM, targets=(), throttle=7)
REMOVAL = e.ThrottleRemovalDue(5)


@pytest.mark.parametrize(
    "running, event, waits",
    [
        (None, RATED, False),
        (None, REMOVAL, False),
        ("rates", RATED, True),
        ("rates", THROTTLED, True),
        ("rates", REMOVAL, True),
        ("rates", attrs.evolve(RATED, validate_only=True), False),
        ("rates", attrs.evolve(THROTTLED, throttle=None), False),
        ("moves", RATED, True),
        ("moves", REMOVAL, True),
        ("moves", THROTTLED, False),
        ("removal", RATED, True),
        ("removal", THROTTLED, True),
        ("removal", REMOVAL, True),
        ("removal", attrs.evolve(RATED, validate_only=True), False),
    ],
)
def test_which_requests_wait_for_which(running: str | None, event: e.Event, waits: bool) -> None:
    """Moves beside moves do not wait: they are refused. What sets no throttle waits for nothing."""
    state = World().state
    if running == "removal":
        apply(state, ThrottleRemovalBegan())
    elif running is not None:
        apply(state, ThrottleRequestBegan(ThrottlePlan({}, is_reassignment=running == "moves")))
    assert must_wait(state, event) is waits


def scripted(text: str) -> World:
    script = Script()
    script.play(text)
    return script.world


def test_nothing_is_removed_while_a_request_is_carried_out() -> None:
    """Each step of a removal looks by itself: what was due before the request began removes nothing during it."""
    world = scripted(f"broker 1 2\nbrokerconfig 1 version=3 {LEADER}=5\npartition t-0 R=1,2\n")
    world.state.throttles.marks["brokers"] = ThrottleMark(1, ("1",), {"1": {LEADER: Kept(None, ("5",))}})
    world.state.throttles.marks["topics"] = ThrottleMark(2, ("t",), {"t": {}})
    steps = (REMOVAL, e.ThrottleBackDue(5, "brokers", "1"), e.ThrottleMarkGoneDue(5, "topics", is_last=False))
    assert [len(decide(world.state, step).records) for step in steps] == [1, 1, 1]
    apply(world.state, ThrottleRequestBegan(ThrottlePlan({})))
    assert [decide(world.state, step).records for step in steps] == [(), (), ()]


def test_a_throttle_that_is_there_and_is_to_stay_has_a_row() -> None:
    """Its configs do not change, but it is not removed any more."""
    world = scripted(f"broker 1\nbrokerconfig 1 version=3 {LEADER}=5\n")
    world.state.throttles.marks["brokers"] = ThrottleMark(1, ("1",), {"1": {LEADER: Kept(None, ("5",))}})
    plan = ThrottlePlan({"brokers": {"1": {LEADER: ("5",)}}}, auto_remove=False)
    apply(world.state, ThrottleRequestBegan(plan))
    decision = step_due(world.state, e.ThrottleStepDue(5, ThrottleStep(2, "set", "brokers", "1")))
    assert decision.records == (ThrottleStays(ConfigEntity("brokers", "1"), "to stay"),)


@pytest.mark.parametrize("auto_remove", [True, False])
def test_a_topic_that_is_being_deleted_meanwhile_gets_no_throttle(auto_remove: bool) -> None:
    world = scripted("broker 1 2\npartition t-0 R=1,2\ndelete t\n")
    assert world.state.is_deleting("t")
    plan = ThrottlePlan({"topics": {"t": {LISTS[0]: ("0:1",)}}}, auto_remove=auto_remove)
    apply(world.state, ThrottleRequestBegan(plan))
    assert step_due(world.state, e.ThrottleStepDue(5, ThrottleStep(2, "set", "topics", "t"))).records == ()


def test_of_a_mark_of_another_program_values_are_taken_up_that_can_be_read() -> None:
    """What cannot be read stays without a record, so that its values count as the mark's once it can be read."""
    world = scripted(f"broker 1 2\nbrokerconfig 1 version=3 {LEADER}=5\nbrokerconfig 2 version=4 unread\n")
    world.state.throttles.marks["old brokers"] = ThrottleMark(1, ("1", "2"))
    mark = absorbed(world.state, "brokers")
    assert (mark.owners, mark.previous) == (("1", "2"), {"1": {LEADER: Kept(None, ("5",))}})


def test_a_mark_of_another_program_is_left_alone_by_throttles_that_are_to_stay() -> None:
    world = scripted("broker 1 2 3\npartition t-0 R=1,2\n")
    world.state.throttles.marks["old topics"] = ThrottleMark(1, ("u",))
    wanted: Mapping[MarkKind, Wanted] = {"topics": {"t": {LISTS[0]: ("0:1",)}}}
    moves = (LegacyEntry("t", 0, (2, 3)),)
    records = {
        auto_remove: carry_out(world.state, ThrottlePlan(wanted, auto_remove=auto_remove, moves=moves), 5, ROOM).records
        for auto_remove in (True, False)
    }
    marked = {key: any(isinstance(one, ThrottleMarkChanged) for one in found) for key, found in records.items()}
    assert marked == {True: True, False: False}


@pytest.mark.slow
def test_lists_that_no_key_can_hold_are_refused_and_each_bad_partition_keeps_its_own_error() -> None:
    world = World(is_checked=False)
    brokers = tuple(range(10_000, 11_000))
    for broker in brokers:
        world.plant_broker(broker)
    for number in range(100):
        world.plant(Partition("t", number, (10_000,), (10_000,), 10_000, 3))
    named = tuple(("t", number, brokers, ()) for number in (*range(100), 999))
    event = e.AlterThrottledReplicas(5, validate_only=False, auto_remove=True, room=ROOM, replicas=named)
    decision = alter_replicas(world.state, event)
    assert isinstance(decision.reply, dict)
    assert decision.records == ()
    errors = {tp.partition: error for tp, error in decision.reply.items() if isinstance(tp, TopicPartition)}
    assert isinstance(errors.pop(999), UnknownTopicOrPartition)
    assert {type(error) for error in errors.values()} == {InvalidRequest}
    assert "a key holds at most 950000" in str(errors[0])
