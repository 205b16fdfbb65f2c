"""Assignments, heartbeats and members that leave."""

from __future__ import annotations

from kedge.controller.groups.records import GroupRecord
from kedge.controller.groups.replies import GroupError, Joined, State, Synced
from kedge.controller.groups.requests import Heartbeat, Leaving, Sync
from tests.groups.driving import REBALANCE_MS, SESSION_MS, Driven


def assigned(assignment: bytes) -> Synced:
    return Synced(GroupError.NONE, "consumer", "range", assignment)


def two() -> tuple[Driven, int]:
    """Members a-id1 (leader) and b-id2 have joined, and neither has an assignment yet."""
    driven = Driven(initial_rebalance_delay_ms=10)
    driven.join("a")
    driven.join("b")
    driven.wait(20)
    return driven, driven.coordinator.groups["g"].generation


def test_members_wait_for_the_assignments_of_the_leader() -> None:
    driven, generation = two()
    assert driven.sync("b", "b-id2", generation) is None
    assert driven.sync("a", "a-id1", generation, a=b"0", b=b"1") == assigned(b"0")
    assert driven.heard["b"] == assigned(b"1")
    assert driven.sync("b", "b-id2", generation) == assigned(b"1")


def test_member_that_the_leader_forgot_gets_nothing() -> None:
    driven, generation = two()
    driven.sync("b", "b-id2", generation)
    driven.sync("a", "a-id1", generation, a=b"0")
    assert driven.heard["b"] == assigned(b"")


def test_assignments_are_written_before_they_are_given_out() -> None:
    driven, generation = two()
    driven.holds = True
    assert driven.sync("a", "a-id1", generation, a=b"0", b=b"1") is None
    (record,) = driven.under_way[0].records
    assert isinstance(record, GroupRecord)
    assert record.stored is not None
    assert [(m.member_id, m.assignment) for m in record.stored.members] == [("a-id1", b"0"), ("b-id2", b"1")]
    driven.settle()
    assert driven.heard["a"] == assigned(b"0")


def test_rebalance_begins_if_assignments_cannot_be_written() -> None:
    driven, generation = two()
    driven.holds = True
    driven.sync("b", "b-id2", generation)
    driven.sync("a", "a-id1", generation, a=b"0")
    driven.settle(GroupError.NOT_COORDINATOR)
    assert driven.heard["a"] == driven.heard["b"] == Synced(GroupError.NOT_COORDINATOR)
    assert driven.coordinator.groups["g"].state is State.PREPARING


def test_write_of_a_former_generation_assigns_nothing() -> None:
    driven, generation = two()
    driven.holds = True
    driven.sync("a", "a-id1", generation, a=b"0", b=b"1")
    driven.join("c")
    assert driven.heard["a"] == Synced(GroupError.REBALANCE_IN_PROGRESS)
    driven.settle()
    assert driven.coordinator.groups["g"].state is State.PREPARING


def test_members_that_do_not_sync_are_removed() -> None:
    driven, generation = two()
    driven.sync("a", "a-id1", generation, a=b"0", b=b"1")
    for _ in range(REBALANCE_MS // 5_000):
        driven.beat("a-id1", generation)
        driven.beat("b-id2", generation)
        driven.wait(5_000)
    assert driven.beat("a-id1", generation) is GroupError.REBALANCE_IN_PROGRESS
    assert driven.beat("b-id2", generation) is GroupError.UNKNOWN_MEMBER_ID


def test_waiting_for_assignments_is_no_silence() -> None:
    driven, generation = two()
    driven.sync("b", "b-id2", generation)
    driven.beat("a-id1", generation)
    driven.wait(SESSION_MS - 1)
    driven.beat("a-id1", generation)
    driven.wait(2)
    assert driven.sync("a", "a-id1", generation, a=b"0", b=b"1") == assigned(b"0")
    assert driven.heard["b"] == assigned(b"1")


def test_request_of_another_generation_is_refused() -> None:
    driven, generation = two()
    assert driven.sync("a", "a-id1", generation + 1) == Synced(GroupError.ILLEGAL_GENERATION)
    assert driven.beat("a-id1", generation - 1) is GroupError.ILLEGAL_GENERATION
    assert driven.beat("other", generation) is GroupError.UNKNOWN_MEMBER_ID


def test_sync_with_another_protocol_is_refused() -> None:
    driven, generation = two()
    for kind, name in (("consumer", "other"), ("connect", "range")):
        answer = driven.ask(Sync("g", generation, "b-id2", {}, None, kind, name))
        assert answer == Synced(GroupError.INCONSISTENT_GROUP_PROTOCOL)
    assert driven.ask(Sync("g", generation, "b-id2", {}, None, "consumer", "range"), "held") is None


def test_sync_during_a_rebalance_is_refused() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.join("b")
    assert driven.sync("a", ids["a"], 1) == Synced(GroupError.REBALANCE_IN_PROGRESS)


def test_others_share_what_a_leaving_member_had() -> None:
    driven = Driven()
    ids = driven.stable("a", "b")
    generation = driven.coordinator.groups["g"].generation
    assert driven.leave(ids["b"]) == [GroupError.NONE]
    assert driven.leave(ids["b"]) == [GroupError.UNKNOWN_MEMBER_ID]
    assert driven.beat(ids["a"], generation) is GroupError.REBALANCE_IN_PROGRESS
    answer = driven.join("a", ids["a"])
    assert isinstance(answer, Joined)
    assert (answer.generation, len(answer.members)) == (generation + 1, 1)


def test_waiting_join_of_a_leaving_member_is_answered() -> None:
    driven = Driven()
    driven.stable("a")
    driven.join("b")
    driven.leave("b-id2")
    assert driven.heard["b"] == Joined(GroupError.UNKNOWN_MEMBER_ID, "")


def test_id_that_was_given_out_can_leave() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.join("b", requires_member_id=True)
    driven.join("c")
    assert driven.join("a", ids["a"]) is None  # b may still come
    assert driven.leave("b-id2") == [GroupError.NONE]
    assert isinstance(driven.heard["a"], Joined)


def test_group_is_empty_when_the_last_one_left() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.leave(Leaving(ids["a"]))
    group = driven.coordinator.groups["g"]
    assert (group.state, group.generation, group.protocol) == (State.EMPTY, 2, None)
    assert driven.reloaded().coordinator.groups["g"].generation == 2
    assert driven.beat(ids["a"], 2) is GroupError.UNKNOWN_MEMBER_ID


def test_a_group_that_does_not_exist_has_no_members() -> None:
    driven = Driven()
    assert driven.ask(Heartbeat("g", 1, "a")).error is GroupError.UNKNOWN_MEMBER_ID
    assert driven.sync("a", "a", 1) == Synced(GroupError.UNKNOWN_MEMBER_ID)
    assert driven.leave("a") == [GroupError.UNKNOWN_MEMBER_ID]
    assert driven.join("a", "a").error is GroupError.UNKNOWN_MEMBER_ID
    assert driven.coordinator.listed() == []
