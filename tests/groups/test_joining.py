"""Members come, come again, and are given ids."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.groups.joining import NEW_MEMBER_MS
from kedge.controller.groups.replies import GroupError, Joined, JoinedMember, State, Synced
from kedge.controller.groups.requests import Join, Leaving
from tests.groups.driving import REBALANCE_MS, SESSION_MS, Driven


def test_first_member_leads_the_first_generation() -> None:
    """It gets the members with their metadata; a follower does not."""
    driven = Driven(initial_rebalance_delay_ms=100)
    driven.join("a", instance_id="i", protocols=[("range", b"orders"), ("sticky", b"more")])
    driven.join("b", protocols=[("sticky", b"own"), ("range", b"payments")])
    driven.wait(200)
    members = (JoinedMember("i-id1", "i", b"orders"), JoinedMember("b-id2", None, b"payments"))
    said = (1, "consumer", "range", "i-id1")
    assert driven.heard["a"] == Joined(GroupError.NONE, "i-id1", *said, members)
    assert driven.heard["b"] == Joined(GroupError.NONE, "b-id2", *said)


def test_member_without_id_has_to_ask_again() -> None:
    driven = Driven()
    assert driven.join("a", requires_member_id=True) == Joined(GroupError.MEMBER_ID_REQUIRED, "a-id1")
    assert driven.join("a", "a-id1", requires_member_id=True).generation == 1


def test_unused_member_id_is_forgotten_after_the_session() -> None:
    driven = Driven()
    driven.join("a", requires_member_id=True)
    driven.wait(SESSION_MS)
    assert driven.join("a", "a-id1").error is GroupError.UNKNOWN_MEMBER_ID
    assert driven.coordinator.listed() == []


def test_members_wait_until_all_joined_again() -> None:
    driven = Driven()
    ids = driven.stable("a")
    assert driven.join("b") is None
    assert driven.beat(ids["a"], 1) is GroupError.REBALANCE_IN_PROGRESS
    first = driven.join("a", ids["a"])
    second = driven.heard["b"]
    assert (first.generation, [m.member_id for m in first.members]) == (2, ["a-id1", "b-id2"])
    assert isinstance(second, Joined)
    assert (second.generation, second.members, second.leader) == (2, (), "a-id1")


def test_member_that_does_not_join_again_is_removed() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.join("b")
    for _ in range(REBALANCE_MS // 5_000):
        assert "b" not in driven.heard
        driven.beat(ids["a"], 1)
        driven.wait(5_000)
    answer = driven.heard["b"]
    assert isinstance(answer, Joined)
    assert (answer.generation, answer.leader) == (2, "b-id2")
    assert driven.beat(ids["a"], 1) is GroupError.UNKNOWN_MEMBER_ID


@pytest.mark.checklist(260)
def test_silent_member_is_removed_after_its_session() -> None:
    driven = Driven()
    ids = driven.stable("a", "b")
    driven.wait(SESSION_MS - 1)
    generation = driven.coordinator.groups["g"].generation
    assert driven.beat(ids["a"], generation) is GroupError.NONE
    driven.wait(1)
    assert driven.beat(ids["a"], generation) is GroupError.REBALANCE_IN_PROGRESS
    assert driven.beat(ids["b"], generation) is GroupError.UNKNOWN_MEMBER_ID


def test_protocol_of_most_members_is_elected() -> None:
    driven = Driven(initial_rebalance_delay_ms=100)
    for who, names in {"a": "xyz", "b": "yx", "c": "yxz"}.items():
        driven.join(who, protocols=[(name, b"") for name in names])
    driven.wait(100)
    driven.wait(100)
    answer = driven.heard["a"]
    assert isinstance(answer, Joined)
    assert (answer.protocol, answer.generation) == ("y", 1)


@pytest.mark.parametrize("kind, protocols", [("", (("range", b""),)), ("consumer", ()), ("", ())])
def test_first_member_needs_a_type_and_a_protocol(kind: str, protocols: tuple[tuple[str, bytes], ...]) -> None:
    driven = Driven()
    answer = driven.ask(Join("g", "", "id", kind, protocols, SESSION_MS, REBALANCE_MS))
    assert answer == Joined(GroupError.INCONSISTENT_GROUP_PROTOCOL, "")
    assert driven.coordinator.listed() == []


def test_stranger_does_not_join_under_an_id_of_its_own() -> None:
    driven = Driven()
    ids = driven.stable("a", instance_id="i")
    assert driven.join("b", "b-own") == Joined(GroupError.UNKNOWN_MEMBER_ID, "b-own")
    assert driven.join("b", "b-own", instance_id="i") == Joined(GroupError.FENCED_INSTANCE_ID, "b-own")
    assert driven.join("b", "b-own", instance_id="j") == Joined(GroupError.UNKNOWN_MEMBER_ID, "b-own")
    assert driven.beat(ids["a"], 1, "i") is GroupError.NONE


def test_member_without_common_protocol_is_refused() -> None:
    driven = Driven()
    driven.stable("a")
    assert driven.join("b", protocols=[("other", b"")]).error is GroupError.INCONSISTENT_GROUP_PROTOCOL
    assert driven.join("b", protocols=[]).error is GroupError.INCONSISTENT_GROUP_PROTOCOL


def test_initial_delay_is_put_off_while_members_come() -> None:
    driven = Driven(initial_rebalance_delay_ms=3_000)
    driven.join("a", rebalance_timeout_ms=7_000)
    driven.wait(2_000)
    driven.join("b", rebalance_timeout_ms=7_000)
    driven.wait(2_000)
    assert "a" not in driven.heard
    driven.wait(2_000)
    answer = driven.heard["a"]
    assert isinstance(answer, Joined)
    assert (answer.generation, len(answer.members)) == (1, 2)


def test_initial_delay_ends_with_the_rebalance_timeout() -> None:
    driven = Driven(initial_rebalance_delay_ms=3_000)
    for number in range(4):
        driven.join(f"member {number}", rebalance_timeout_ms=7_000)
        driven.wait(2_000)
    assert {answer.generation for answer in driven.heard.values() if isinstance(answer, Joined)} == {1}


@pytest.mark.parametrize("session_ms, refused", [(5_999, True), (6_000, False), (1_800_000, False), (1_800_001, True)])
def test_session_timeout_has_bounds(session_ms: int, refused: bool) -> None:
    driven = Driven()
    error = GroupError.INVALID_SESSION_TIMEOUT if refused else GroupError.NONE
    assert driven.join("a", session_timeout_ms=session_ms).error is error
    assert len(driven.coordinator.listed()) == (not refused)
    assert driven.join("b", "b-own", session_timeout_ms=session_ms).member_id == "b-own"


def test_follower_with_same_metadata_gets_the_present_generation() -> None:
    driven = Driven()
    ids = driven.stable("a", "b")
    generation = driven.coordinator.groups["g"].generation
    answer = driven.join("b", ids["b"])
    assert (answer.error, answer.generation, answer.members) == (0, generation, ())
    assert driven.coordinator.groups["g"].state is State.STABLE


def test_leader_that_did_not_hear_its_generation_gets_the_members_again() -> None:
    """Before the assignments are there. A follower gets its generation alone."""
    driven = Driven(initial_rebalance_delay_ms=100)
    for who in "ab":
        driven.join(who)
    driven.wait(200)
    for who, member_id in (("a", "a-id1"), ("b", "b-id2")):
        before = driven.heard[who]
        assert driven.join(who, member_id) == before
    assert driven.coordinator.groups["g"].state is State.COMPLETING


def test_new_member_does_not_wait_for_its_first_generation_for_ever() -> None:
    driven = Driven()
    driven.stable("a", session_timeout_ms=1_800_000, rebalance_timeout_ms=1_800_000)
    driven.join("b")
    driven.wait(NEW_MEMBER_MS - 1)
    assert "b" not in driven.heard
    driven.wait(1)
    assert driven.heard["b"] == Joined(GroupError.UNKNOWN_MEMBER_ID, "")


def test_leader_that_joins_again_begins_a_rebalance() -> None:
    driven = Driven()
    ids = driven.stable("a", "b")
    assert driven.join("a", ids["a"]) is None
    assert driven.coordinator.groups["g"].state is State.PREPARING


# --- static members


def test_restarted_static_member_keeps_its_assignment() -> None:
    driven = Driven()
    ids = driven.stable("a", instance_id="i")
    answer = driven.join("b", instance_id="i", skips_assignment=True)
    assert (answer.error, answer.generation, answer.leader) == (0, 1, "i-id2")
    assert (answer.skips_assignment, len(answer.members)) == (True, 1)
    assert driven.sync("b", "i-id2", 1).assignment == b"a"
    assert driven.beat(ids["a"], 1, "i") is GroupError.FENCED_INSTANCE_ID
    assert driven.reloaded().beat("i-id2", 1, "i") is GroupError.NONE


def test_old_client_that_led_does_not_assign_after_restart() -> None:
    driven = Driven()
    ids = driven.stable("a", instance_id="i")
    answer = driven.join("b", instance_id="i")
    assert (answer.member_id, answer.leader, answer.members) == ("i-id2", ids["a"], ())


def test_static_member_is_as_before_if_it_cannot_be_written() -> None:
    """With its former id, metadata and timeouts."""
    driven = Driven()
    ids = driven.stable("a", instance_id="i")
    before = driven.coordinator.groups["g"].record()
    driven.holds = True
    timeouts: dict[str, Any] = {"session_timeout_ms": 20_000, "rebalance_timeout_ms": 90_000}
    assert driven.join("b", protocols=[("range", b"payments")], instance_id="i", **timeouts) is None
    driven.settle(GroupError.COORDINATOR_NOT_AVAILABLE)
    assert driven.heard["b"] == Joined(GroupError.COORDINATOR_NOT_AVAILABLE, "")
    assert driven.beat(ids["a"], 1, "i") is GroupError.NONE
    assert driven.coordinator.groups["g"].record() == before


def test_static_member_that_is_replaced_twice_keeps_the_last_id() -> None:
    for error in (GroupError.NONE, GroupError.COORDINATOR_NOT_AVAILABLE):
        driven = Driven()
        driven.stable("a", instance_id="i")
        driven.holds = True
        driven.join("b", instance_id="i")
        assert driven.join("c", instance_id="i") is None
        assert driven.heard["b"] == Joined(GroupError.FENCED_INSTANCE_ID, "i-id2")
        first, second = driven.under_way
        driven.under_way = [first]
        driven.settle(error)
        assert "c" not in driven.heard
        driven.under_way = [second]
        driven.settle()
        assert (driven.heard["c"].member_id, driven.beat("i-id3", 1, "i")) == ("i-id3", GroupError.NONE)


@pytest.mark.checklist(260)
def test_waiting_request_of_replaced_static_member_is_fenced() -> None:
    driven = Driven(initial_rebalance_delay_ms=1_000)
    assert driven.join("a", instance_id="i") is None
    assert driven.join("b", instance_id="i") is None
    assert driven.heard["a"] == Joined(GroupError.FENCED_INSTANCE_ID, "i-id1")
    driven.wait(1_000)
    assert driven.heard["b"].generation == 1


def test_static_member_leaves_by_its_instance_id() -> None:
    driven = Driven()
    driven.stable("a", instance_id="i")
    assert driven.leave(Leaving("", "i"), Leaving("", "other")) == [0, GroupError.UNKNOWN_MEMBER_ID]
    assert driven.coordinator.groups["g"].state is State.EMPTY
    answer = driven.join("b", instance_id="i")
    assert (answer.error, answer.member_id, answer.generation) == (GroupError.NONE, "i-id2", 3)


def test_static_member_that_is_away_stays_until_its_session_ends() -> None:
    driven = Driven()
    ids = driven.stable("a", instance_id="i", session_timeout_ms=600_000)
    driven.join("b")
    driven.wait(REBALANCE_MS)
    answer = driven.heard["b"]
    assert isinstance(answer, Joined)
    assert {m.member_id for m in answer.members} == {ids["a"], "b-id2"}
    assert driven.sync("b", "b-id2", answer.generation, b=b"x") == Synced(GroupError.NONE, "consumer", "range", b"x")


def test_group_of_static_members_that_are_away_goes_on_when_they_are_back() -> None:
    """The one that led leads again, though another one was back before it."""
    driven = Driven(initial_rebalance_delay_ms=100)
    away: dict[str, Any] = {"session_timeout_ms": 600_000}
    for who in "ab":
        driven.join(who, instance_id=who, **away)
    driven.join("c")
    driven.wait(200)
    assert driven.heard["a"].leader == "a-id1"
    driven.leave("c-id3")
    driven.wait(3 * REBALANCE_MS)
    assert driven.coordinator.groups["g"].state is State.PREPARING
    driven.join("second", instance_id="b", **away)
    driven.join("first", instance_id="a", **away)
    assert (driven.heard["first"].error, driven.heard["first"].leader) == (GroupError.NONE, "a-id5")
    assert driven.heard["second"].generation == driven.heard["first"].generation == 2


def test_member_without_rebalance_timeout_stops_no_clock() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.join("s", instance_id="one", rebalance_timeout_ms=0)
    driven.join("a", ids["a"])
    driven.leave(ids["a"])
    driven.wait(1_000)  # the static member is away, and stays until its session ends
    assert driven.coordinator.next_ms is not None


def test_protocol_that_is_named_twice_counts_once() -> None:
    driven = Driven()
    answer = driven.join("a", protocols=[("range", b""), ("range", b"")])
    assert (answer.error, answer.protocol) == (GroupError.NONE, "range")


def test_first_rebalance_that_all_have_left_takes_the_next_one() -> None:
    driven = Driven(initial_rebalance_delay_ms=3_000)
    driven.join("a")
    (member_id,) = driven.coordinator.groups["g"].members
    driven.leave(member_id)
    driven.join("b")
    driven.wait(6_000)
    assert driven.heard["b"].error is GroupError.NONE


def test_static_member_that_comes_back_is_answered_if_it_does_not_sync_in_time() -> None:
    driven = Driven()
    leader = driven.join("leader")
    driven.join("b", instance_id="one")
    driven.join("leader", leader.member_id)
    group = driven.coordinator.groups["g"]
    driven.sync("leader", leader.member_id, group.generation, leader=b"all")
    assert (group.state.value, len(group.unsynced)) == ("Stable", 1)
    driven.holds = True
    assert driven.join("again", instance_id="one") is None
    for _ in range(REBALANCE_MS // 5_000):
        driven.wait(5_000)
        driven.beat(leader.member_id, group.generation)
    assert driven.heard["again"].error is GroupError.UNKNOWN_MEMBER_ID


# --- the size of a group


def test_full_group_refuses_one_more_member() -> None:
    driven = Driven(members_max=2)
    ids = driven.stable("a", "b")
    refused = driven.join("c")
    assert (refused.error, refused.member_id) == (GroupError.GROUP_MAX_SIZE_REACHED, "")
    assert driven.beat(ids["a"], driven.coordinator.groups["g"].generation) is GroupError.NONE
    driven.leave(ids["b"])
    driven.join("c")
    driven.join("a", ids["a"])
    assert set(driven.coordinator.groups["g"].members) == {ids["a"], driven.heard["c"].member_id}


def test_given_id_is_refused_when_the_group_is_full_by_then() -> None:
    driven = Driven(members_max=1, initial_rebalance_delay_ms=100)
    given = driven.join("b", requires_member_id=True).member_id
    driven.join("a")  # an old client, which needs no id
    assert driven.join("b", given).error is GroupError.GROUP_MAX_SIZE_REACHED
    driven.wait(100)
    assert driven.heard["a"].error is GroupError.NONE


def test_group_that_is_too_large_when_it_is_loaded_loses_the_last_to_join_again() -> None:
    before = Driven()
    ids = before.stable("a", "b", "c")
    full = Driven(before.log, members_max=3)
    assert full.beat(ids["a"], before.coordinator.groups["g"].generation) is GroupError.NONE
    driven = Driven(before.log, members_max=2)
    assert driven.beat(ids["a"], before.coordinator.groups["g"].generation) is GroupError.REBALANCE_IN_PROGRESS
    driven.join("b", ids["b"])
    driven.join("c", ids["c"])
    assert driven.join("a", ids["a"]).error is GroupError.GROUP_MAX_SIZE_REACHED
    assert set(driven.coordinator.groups["g"].members) == {ids["b"], ids["c"]}
    assert driven.heard["b"].error is GroupError.NONE
