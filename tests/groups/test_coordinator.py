"""A coordinator is loaded, answers, and ends; and which partition holds which group."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from kedge.controller.coordinators import CoordinatorError, partition_of
from kedge.controller.coordinators.partitions import java_hash
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups import Coordinator
from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord, Record, StoredGroup, StoredMember
from kedge.controller.groups.replies import Joined, OffsetErrors, Synced
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
from tests.groups.driving import TP, Driven, PlainBytes

KEPT_MS: Final = 1_000_000
CHECK_MS: Final = 10_000


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
    loading = CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS
    assert answers(Coordinator(GroupSettings(), PlainBytes())) == {
        "join": Joined(loading, "m"),
        "sync": Synced(CoordinatorError.REBALANCE_IN_PROGRESS),
        "heartbeat": Answered(CoordinatorError.NONE),
        "commit": OffsetErrors({}),
        **dict.fromkeys(("leave", "fetch", "delete offsets", "describe", "delete"), Answered(loading)),
    }


def test_coordinator_that_is_over_sends_all_members_elsewhere() -> None:
    driven = Driven()
    driven.coordinator.unload(0)
    heard = answers(driven.coordinator)
    assert {getattr(answer, "error", None) for answer in heard.values()} == {CoordinatorError.NOT_COORDINATOR, None}


def test_group_needs_a_name_to_have_members() -> None:
    heard = answers(Driven().coordinator, group="")
    invalid = {
        name for name, answer in heard.items() if getattr(answer, "error", 0) is CoordinatorError.INVALID_GROUP_ID
    }
    assert invalid == {"join", "sync", "heartbeat", "leave", "delete offsets"}


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


@pytest.mark.parametrize("state_ms, expires_ms", [(-1, 500_000 + KEPT_MS), (0, KEPT_MS), (700_000, 700_000 + KEPT_MS)])
def test_offsets_expire_from_their_commit_in_a_group_without_a_time(state_ms: int, expires_ms: int) -> None:
    """Kafka before 2.1 did not write it; -1 stands there."""
    group = StoredGroup("consumer", 2, None, None, state_ms)
    records: list[Record] = [GroupRecord("g", group), OffsetRecord("g", TP, Committed(5, commit_ms=500_000))]
    tried = Driven(records, offsets_retention_ms=KEPT_MS, offsets_check_ms=CHECK_MS)
    tried.wait(expires_ms - tried.now_ms - 1)
    assert tried.committed() == 5
    tried.wait(CHECK_MS)
    assert tried.committed() is None


def test_member_id_is_answered_for_the_errors_that_kafka_answers_it_for() -> None:
    driven = Driven()
    (member_id,) = driven.stable("a").values()
    assert driven.join("a", member_id, session_timeout_ms=1) == Joined(
        CoordinatorError.INVALID_SESSION_TIMEOUT, member_id
    )
    assert driven.join("a", member_id, protocols=()) == Joined(CoordinatorError.INCONSISTENT_GROUP_PROTOCOL, "")


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
