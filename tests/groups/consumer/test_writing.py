"""Appends of a group: one at a time, what waits for them, and what happens when one fails."""

from __future__ import annotations

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups.consumer.values import ConsumerRecord, Current, GroupState, Kind, Target
from kedge.controller.groups.records import Committed, GroupRecord
from kedge.controller.groups.replies import ConsumerHeartbeated, Joined, Left, OffsetErrors, Synced
from kedge.controller.groups.requests import Commit, DeleteGroup, DescribeConsumers, Heartbeat, Leave, Leaving, Sync
from tests.groups.consumer.driving import OK, Classic, Consumers, of
from tests.groups.consumer.states import same
from tests.groups.driving import TP

FAILED = CoordinatorError.REQUEST_TIMED_OUT


def held(*members: str) -> Consumers:
    """A group with these members, whose appends stay under way from now on."""
    driven = Consumers()
    driven.clients(*members)
    driven.holds, driven.log = True, [*driven.log]
    return driven


def keys(driven: Consumers, place: int = 0) -> list[tuple[Kind, str]]:
    """What the append under way at this place writes."""
    return [
        (record.kind, record.name) for record in driven.under_way[place].records if isinstance(record, ConsumerRecord)
    ]


def test_first_member_is_written_in_one_append() -> None:
    """With all that its answer depends on."""
    driven = Consumers()
    driven.holds = True
    assert driven.heartbeat("a", 0, "a") is None
    (append,) = driven.under_way
    assert append.records[0] == GroupRecord("g", None)
    assert keys(driven) == [
        (Kind.GROUP, ""),
        (Kind.MEMBER, "a"),
        (Kind.TARGET_EPOCH, ""),
        (Kind.TARGET, "a"),
        (Kind.CURRENT, "a"),
    ]
    driven.settle()
    assert driven.heard["a"].epoch == 1


def test_records_are_written_of_what_changed() -> None:
    """A second member changes the target of the first one, but not what that has."""
    driven = held("a")
    driven.heartbeat("b", 0)
    assert keys(driven) == [
        (Kind.GROUP, ""),
        (Kind.MEMBER, "b"),
        (Kind.TARGET_EPOCH, ""),
        (Kind.TARGET, "a"),
        (Kind.TARGET, "b"),
        (Kind.CURRENT, "b"),
    ]
    values = {
        record.key[1:]: record.value for record in driven.under_way[0].records if isinstance(record, ConsumerRecord)
    }
    assert values[Kind.TARGET, "a"] == Target(of("orders", 0, 1))
    driven.settle()
    driven.heartbeat("a", 1)
    assert keys(driven) == [(Kind.CURRENT, "a")]


def test_records_of_a_member_that_left_are_deleted() -> None:
    """In Kafka's order, before the epoch of the group is written."""
    driven = held("a", "b")
    driven.heartbeat("b", -1)
    kinds = (Kind.CURRENT, Kind.TARGET, Kind.MEMBER)
    assert keys(driven) == [*((kind, "b") for kind in kinds), (Kind.GROUP, "")]
    assert [record.is_deleted for record in driven.under_way[0].records] == [True, True, True, False]


def test_one_append_is_under_way() -> None:
    """What changes meanwhile is written with the next one, as it is then, and answered after that."""
    driven = held("a")
    driven.heartbeat("b", 0, "b")
    driven.heartbeat("c", 0, "c")
    driven.heartbeat("d", 0, "d")
    assert (len(driven.under_way), driven.heard.keys() & set("bcd")) == (1, set())
    driven.ended(driven.under_way.pop(0), OK)
    assert driven.heard.keys() & set("bcd") == {"b"}
    assert {name for kind, name in keys(driven) if kind is Kind.MEMBER} == {"c", "d"}
    (target,) = [record for record in driven.under_way[0].records if record.key[1:] == (Kind.TARGET_EPOCH, "")]
    assert isinstance(target, ConsumerRecord)
    assert target.value == driven.consumer.value(Kind.TARGET_EPOCH, "")
    driven.settle()
    assert (driven.heard["c"].epoch, driven.heard["d"].epoch, driven.under_way) == (3, 4, [])


def test_answer_that_depends_on_an_append_waits() -> None:
    """Also one that changes nothing: its member may have been changed by what is being written."""
    driven = held("a")
    driven.heartbeat("a", 1, "first", rack="r")
    assert driven.heartbeat("a", 1, "second") is None
    driven.settle()
    assert [driven.heard[ticket].error for ticket in ("first", "second")] == [OK, OK]
    assert driven.heartbeat("a", 1).error is OK


def test_reading_does_not_wait() -> None:
    """Nor do requests that are refused."""
    driven = held("a")
    driven.heartbeat("b", 0)
    assert driven.ask(DescribeConsumers("g")).state is GroupState.RECONCILING
    assert driven.heartbeat("x", 1).error is CoordinatorError.UNKNOWN_MEMBER_ID


def test_heartbeats_that_change_nothing_write_nothing() -> None:
    """They are answered at once."""
    driven = Consumers()
    (a,) = driven.clients("a")
    before = len(driven.log)
    for _ in range(10_000):
        driven.wait(3)
        assert driven.heartbeat("a", 1, "t", owned=a.owned).error is OK
    assert (len(driven.log), driven.consumer.epoch) == (before, 1)


# --- appends that fail


@pytest.mark.parametrize(
    "error, answered",
    [
        (FAILED, CoordinatorError.COORDINATOR_NOT_AVAILABLE),
        (CoordinatorError.NOT_COORDINATOR, CoordinatorError.NOT_COORDINATOR),
        (CoordinatorError.INVALID_COMMIT_OFFSET_SIZE, CoordinatorError.UNKNOWN_SERVER_ERROR),
    ],
)
def test_failed_append_is_answered_with_its_error(error: CoordinatorError, answered: CoordinatorError) -> None:
    """So are all answers that wait, and nothing is written again before the next event."""
    driven = held("a")
    c = Classic(driven, "c")
    driven.heartbeat("b", 0, "b")
    c.join()
    driven.ask(Leave("g", (Leaving("x"),)), "leave")
    driven.settle(error)
    assert driven.heard["b"] == ConsumerHeartbeated(answered, "b")
    assert driven.heard["c"] == Joined(answered, "")
    assert driven.heard["leave"] == Answered(answered)
    assert driven.under_way == []


@pytest.mark.parametrize("event", ["the same request", "another request", "time"])
def test_failed_append_is_made_up_for(event: str) -> None:
    """With the next event, whatever that is."""
    driven = held("a")
    driven.heartbeat("b", 0)
    driven.heartbeat("c", 0)
    driven.settle(FAILED)
    driven.holds = False
    if event == "time":
        driven.wait(45_000)
        driven.wait(600_000)
    else:
        named = ("b", 0) if event == "the same request" else ("a", 1)
        assert driven.heartbeat(*named).error is OK
    same(driven, Consumers(driven.log))


def test_client_goes_on_after_a_failed_append() -> None:
    """It sends everything with its former epoch, and gets what it got in the answer that it never heard."""
    driven = Consumers()
    a, b = driven.client("a"), driven.client("b")
    driven.holds = True
    a.beat()
    driven.settle(FAILED)
    a.took(driven.heard["a"])
    assert (a.epoch, a.owned) == (1, of("orders", 0, 1, 2, 3))
    driven.holds = False
    driven.reconcile(a, b)
    assert (a.owned, b.owned) == (of("orders", 0, 1), of("orders", 2, 3))
    assert driven["b"].current == Current(2, 2, assigned=b.owned)


def test_later_answers_fail_with_the_append_before() -> None:
    """What they depend on is not written."""
    driven = held("a")
    driven.heartbeat("b", 0, "b")
    driven.heartbeat("a", 1, "a")
    assert driven.heard.keys() & {"a", "b"} == set()
    driven.ended(driven.under_way.pop(0), FAILED)
    assert {driven.heard[ticket].error for ticket in ("a", "b")} == {CoordinatorError.COORDINATOR_NOT_AVAILABLE}


def test_commits_do_not_wait_for_the_group() -> None:
    """Their appends are their own, and fail on their own."""
    driven = held("a")
    driven.heartbeat("b", 0)
    driven.ask(Commit("g", {TP: Committed(5)}, 1, "a"), "commit")
    assert len(driven.under_way) == 2
    driven.ended(driven.under_way.pop(1), FAILED)
    assert driven.heard["commit"] == OffsetErrors({TP: FAILED})
    assert len(driven.under_way) == 1


# --- the end


def test_coordinator_that_is_unloaded_answers_all() -> None:
    """What is under way, and what waits for it."""
    driven = held("a")
    c = Classic(driven, "c")
    c.join()
    driven.settle()
    c.joined(driven.heard["c"])
    driven.heartbeat("b", 0, "b")
    driven.heartbeat("a", 1, "a")
    driven.ask(Sync("g", c.epoch, c.member_id, {}), "sync")
    driven.ask(Heartbeat("g", c.epoch, c.member_id), "heartbeat")
    heard = dict(driven.coordinator.unload(driven.now_ms).replies)
    error = CoordinatorError.NOT_COORDINATOR
    rejoin = Synced(CoordinatorError.REBALANCE_IN_PROGRESS)
    assert heard == {
        "b": ConsumerHeartbeated(error, "b"),
        "a": ConsumerHeartbeated(error, "a"),
        "heartbeat": Answered(error),
    }
    assert driven.heard["sync"] == rejoin
    assert driven.heartbeat("b", 0) == ConsumerHeartbeated(error, "b")
    assert driven.coordinator.held.bytes == 0


def test_deletion_waits_for_its_own_append() -> None:
    """What was marked before is deleted with it."""
    driven = held("a")
    driven.heartbeat("b", 0, "b")
    for member_id in ("a", "b"):
        driven.ask(Leave("g", (Leaving(member_id),)), member_id)
    driven.ask(DeleteGroup("g"), "delete")
    driven.settle()
    assert driven.heard["delete"] == Answered(OK)
    assert driven.heard["a"] == Left(((Leaving("a"), OK),))
    assert (driven.coordinator.groups, Consumers(driven.log).coordinator.groups) == ({}, {})


@pytest.mark.parametrize("first", [0, 1])
def test_deletion_covers_what_is_not_written(first: int) -> None:
    """If the append before it fails, whichever of both ends first."""
    driven = held("a")
    driven.heartbeat("a", -1)
    driven.ask(DeleteGroup("g"), "delete")
    leaving, deletion = driven.under_way
    driven.under_way = []
    for append, error in [(leaving, FAILED), (deletion, OK)][:: -1 if first else 1]:
        driven.ended(append, error)
    driven.settle()
    assert driven.heard["delete"] == Answered(OK)
    assert (driven.coordinator.groups, Consumers(driven.log).coordinator.groups) == ({}, {})


def test_deletion_that_fails_writes_what_was_before() -> None:
    """With the next event, as if it had not been asked for."""
    driven = held("a")
    driven.heartbeat("a", -1)
    driven.ask(DeleteGroup("g"), "delete")
    driven.settle(FAILED)
    driven.holds = False
    driven.heartbeat("b", 0)
    same(driven, Consumers(driven.log))
