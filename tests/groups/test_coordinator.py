"""A coordinator is loaded, answers, and ends; and which partition holds which group."""

from __future__ import annotations

import attrs
import pytest

from kedge.controller.groups import Coordinator, partition_of
from kedge.controller.groups.partitions import java_hash
from kedge.controller.groups.records import Committed, GroupRecord, StoredGroup, StoredMember
from kedge.controller.groups.replies import (
    Answered,
    Described,
    DescribedMember,
    GroupError,
    Joined,
    Listed,
    OffsetErrors,
    State,
    Synced,
)
from kedge.controller.groups.requests import (
    Commit,
    DeleteGroup,
    DeleteOffsets,
    Describe,
    FetchOffsets,
    GroupRequest,
    GroupSettings,
    Heartbeat,
    Join,
    Leave,
    Sync,
)
from tests.groups.driving import TP, Driven, topics_of


def answers(coordinator: Coordinator, group: str = "g") -> dict[str, object]:
    """What each kind of request hears at once."""
    asked: dict[str, GroupRequest] = {
        "join": Join(group, "m", "id", "consumer", (("range", b""),), 10_000, 10_000),
        "sync": Sync(group, 1, "m", {}),
        "heartbeat": Heartbeat(group, 1, "m"),
        "leave": Leave(group, ()),
        "commit": Commit(group, {}, generation=1),
        "fetch": FetchOffsets(group, ()),
        "delete offsets": DeleteOffsets(group, ()),
        "describe": Describe(group),
        "delete": DeleteGroup(group),
    }
    return {name: coordinator.ask(request, name, 0).replies[0][1] for name, request in asked.items()}


def test_nothing_is_answered_before_the_log_is_loaded() -> None:
    loading = GroupError.COORDINATOR_LOAD_IN_PROGRESS
    assert answers(Coordinator(GroupSettings(), topics_of)) == {
        "join": Joined(loading, "m"),
        "sync": Synced(GroupError.REBALANCE_IN_PROGRESS),
        "heartbeat": Answered(GroupError.NONE),
        "commit": OffsetErrors({}),
        **dict.fromkeys(("leave", "fetch", "delete offsets", "describe", "delete"), Answered(loading)),
    }


def test_coordinator_that_is_over_sends_all_members_elsewhere() -> None:
    driven = Driven()
    driven.coordinator.unload(0)
    heard = answers(driven.coordinator)
    assert {getattr(answer, "error", None) for answer in heard.values()} == {GroupError.NOT_COORDINATOR, None}


def test_group_needs_a_name_to_have_members() -> None:
    heard = answers(Driven().coordinator, group="")
    invalid = {name for name, answer in heard.items() if getattr(answer, "error", 0) is GroupError.INVALID_GROUP_ID}
    assert invalid == {"join", "sync", "heartbeat", "leave", "delete offsets"}


def test_waiting_members_hear_that_the_coordinator_moved() -> None:
    driven = Driven(initial_rebalance_delay_ms=1_000)
    driven.holds = True
    driven.join("a")
    driven.ask(Commit("g", {TP: Committed(1)}), "c")
    heard = dict(driven.coordinator.unload(driven.now_ms).replies)
    assert heard["a"] == Joined(GroupError.NOT_COORDINATOR, "a-id1")
    assert driven.coordinator.next_ms is None


def test_waiting_sync_hears_that_the_coordinator_moved() -> None:
    driven = Driven(initial_rebalance_delay_ms=10)
    driven.join("a")
    driven.join("b")
    driven.wait(20)
    driven.sync("b", "b-id2", 1)
    heard = dict(driven.coordinator.unload(driven.now_ms).replies)
    assert heard == {"b": Synced(GroupError.NOT_COORDINATOR)}


def test_commit_under_way_is_not_answered_by_a_coordinator_that_is_over() -> None:
    driven = Driven()
    driven.holds = True
    driven.commit(1, ticket="held")
    heard = dict(driven.coordinator.unload(driven.now_ms).replies)
    assert heard == {"held": OffsetErrors({TP: GroupError.NOT_COORDINATOR})}
    assert driven.coordinator.appended(1, GroupError.NONE, 0).replies == ()


def test_coordinator_ends_while_a_record_without_a_waiting_client_is_under_way() -> None:
    """As that of a group which the last member has left."""
    driven = Driven()
    ids = driven.stable("a")
    driven.holds = True
    driven.leave(ids["a"])
    assert len(driven.under_way) == 1
    assert driven.coordinator.unload(driven.now_ms).replies == ()


def test_members_of_a_loaded_group_go_on() -> None:
    driven = Driven()
    ids = driven.stable("a", "b")
    generation = driven.coordinator.groups["g"].generation
    other = driven.reloaded()
    assert other.beat(ids["a"], generation) is GroupError.NONE
    assert other.sync("b", ids["b"], generation).assignment == b"b"
    described = other.ask(Describe("g"))
    assert (described.state, described.protocol) == (State.STABLE, "range")
    assert [(m.member_id, m.metadata, m.assignment) for m in described.members] == [
        (ids["a"], b"orders", b"a"),
        (ids["b"], b"orders", b"b"),
    ]


def test_loaded_group_is_what_was_written() -> None:
    """A rebalance timeout that an older version did not write is the session timeout."""
    members = [
        StoredMember("i-1", "i", "a", "host", rebalance_ms, 10_000, b"orders", b"x") for rebalance_ms in (-1, 0, 60_000)
    ]
    for member, kept_ms in zip(members, (10_000, 0, 60_000), strict=True):
        stored = StoredGroup("consumer", 7, "range", "i-1", 33, (member,))
        group = Driven([GroupRecord("g", stored)]).coordinator.groups["g"]
        kept = attrs.evolve(member, rebalance_timeout_ms=kept_ms)
        assert group.record() == GroupRecord("g", attrs.evolve(stored, members=(kept,)))
        assert group.topics == frozenset({"orders"})


def test_members_that_are_gone_leave_a_loaded_group() -> None:
    driven = Driven()
    driven.stable("a")
    other = driven.reloaded()
    other.wait(10_000)
    assert other.coordinator.groups["g"].state is State.EMPTY


def test_groups_are_listed_with_type_and_state() -> None:
    """A group of a client without a protocol has no type."""
    driven = Driven()
    driven.stable("a")
    driven.ask(Commit("other", {TP: Committed(1)}))
    assert driven.coordinator.listed() == [
        Listed("g", "consumer", State.STABLE),
        Listed("other", "", State.EMPTY),
    ]


def test_stable_group_is_described_with_its_members() -> None:
    driven = Driven()
    ids = driven.stable("a", instance_id="i", client_host="host")
    assert driven.ask(Describe("g")) == Described(
        State.STABLE, "consumer", "range", (DescribedMember(ids["a"], "i", "a", "host", b"orders", b"a"),)
    )
    driven.leave(ids["a"])
    driven.ask(Commit("other", {TP: Committed(1)}))
    assert driven.ask(Describe("g")) == Described(State.EMPTY, "consumer")
    assert driven.ask(Describe("other")) == Described(State.EMPTY)
    assert driven.ask(Describe("none")) == Described(State.DEAD)


def test_described_members_show_nothing_during_a_rebalance() -> None:
    driven = Driven()
    driven.stable("a")
    driven.join("b")
    described = driven.ask(Describe("g"))
    assert (described.state, described.protocol) == (State.PREPARING, "")
    assert {(m.client_id, m.metadata, m.assignment) for m in described.members} == {("a", b"", b""), ("b", b"", b"")}


@pytest.mark.parametrize(
    "text, value",
    [
        ("", 0),
        ("a", 97),
        ("group-1", 293427299),
        ("polygenelubricants", -(2**31)),
        ("\N{GRINNING FACE}", 1772899),
        ("\ud800", 0xD800),
    ],
)
def test_hash_is_that_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(
    "group, of_50, of_7",
    [
        ("g", 3, 5),
        ("group-1", 49, 4),
        ("orders", 31, 2),
        ("my-group", 12, 1),
        ("analytics", 10, 3),
        ("polygenelubricants", 0, 0),
    ],
)
def test_group_is_in_the_partition_that_kafka_says(group: str, of_50: int, of_7: int) -> None:
    """The last four have negative hashes, of which the absolute value counts; the lowest number has none."""
    assert (partition_of(group, 50), partition_of(group, 7)) == (of_50, of_7)
