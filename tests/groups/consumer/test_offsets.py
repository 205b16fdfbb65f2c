"""Offsets of groups of the consumer protocol: who may commit and read them, and when they are gone."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.records import Producer
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups.consumer.values import NONE, ConsumerRecord, Kind
from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord
from kedge.controller.groups.requests import Commit, DeleteGroup, DeleteOffsets, FetchOffsets
from kedge.controller.model.values import TopicPartition
from tests.groups.consumer.driving import OK, ORDERS, Classic, Consumers
from tests.groups.driving import TP

PAID = TopicPartition("payments", 0)
KEPT_MS, CHECK_MS = 20_000, 5_000


def commit(driven: Consumers, tp: TopicPartition = TP, **fields: Any) -> CoordinatorError:
    error: CoordinatorError = driven.ask(Commit("g", {tp: Committed(5)}, **fields)).errors[tp]
    return error


def mixed() -> Consumers:
    """Members `a` and `c-id1` in epoch 2."""
    driven = Consumers()
    driven.mixed()
    return driven


@pytest.mark.parametrize(
    "member_id, generation, is_transactional, error",
    [
        ("a", 2, False, OK),
        ("a", 3, False, CoordinatorError.STALE_MEMBER_EPOCH),
        ("c-id1", 2, False, OK),
        ("c-id1", 1, False, CoordinatorError.ILLEGAL_GENERATION),
        ("b", 2, False, CoordinatorError.UNKNOWN_MEMBER_ID),
        ("", 2, False, CoordinatorError.UNKNOWN_MEMBER_ID),
        ("", -1, False, CoordinatorError.UNKNOWN_MEMBER_ID),
        ("a", 2, True, OK),
        ("", -1, True, OK),
        ("a", 3, True, CoordinatorError.ILLEGAL_GENERATION),
        ("b", 2, True, CoordinatorError.UNKNOWN_MEMBER_ID),
    ],
)
def test_members_commit_with_their_epoch(
    member_id: str, generation: int, is_transactional: bool, error: CoordinatorError
) -> None:
    """The error is that of the protocol that the client uses. Old producers name no member."""
    producer = Producer(7, 0) if is_transactional else None
    assert commit(mixed(), member_id=member_id, generation=generation, producer=producer) is error


@pytest.mark.parametrize(
    "epoch, partition, error",
    [
        (1, 0, OK),
        (1, 2, CoordinatorError.STALE_MEMBER_EPOCH),
        (0, 0, CoordinatorError.STALE_MEMBER_EPOCH),
        (-1, 0, CoordinatorError.STALE_MEMBER_EPOCH),
    ],
)
def test_members_commit_with_a_former_epoch(epoch: int, partition: int, error: CoordinatorError) -> None:
    """What they have had since then (KIP-1251), and not what they had to revoke."""
    driven = Consumers()
    a = driven.client("a")
    driven.client("b")
    a.beat()
    a.beat()
    assert driven.coordinator.groups["g"].consumers.members["a"].current.epoch == 2
    tp = TopicPartition("orders", partition)
    assert commit(driven, tp, member_id="a", generation=epoch) is error


@pytest.mark.parametrize("generation, error", [(-1, OK), (0, CoordinatorError.UNKNOWN_MEMBER_ID)])
def test_tools_commit_while_there_are_no_members(generation: int, error: CoordinatorError) -> None:
    """To reset the offsets of a group."""
    driven = Consumers()
    driven.client("a").leave()
    assert commit(driven, generation=generation) is error


@pytest.mark.parametrize(
    "member_id, epoch, error",
    [
        ("a", 2, None),
        ("a", 1, CoordinatorError.STALE_MEMBER_EPOCH),
        ("b", 2, CoordinatorError.UNKNOWN_MEMBER_ID),
        (None, -1, None),
    ],
)
def test_members_fetch_with_their_epoch(member_id: str | None, epoch: int, error: CoordinatorError | None) -> None:
    """Clients that name no member read without one."""
    driven = mixed()
    commit(driven, member_id="a", generation=2)
    answer = driven.ask(FetchOffsets("g", (TP,), member_id=member_id, epoch=epoch))
    assert answer == Answered(error) if error else answer.offsets[TP].offset == 5


def test_classic_groups_ignore_the_epoch_of_fetches() -> None:
    """As do groups that do not exist."""
    driven = Consumers()
    asked = FetchOffsets("g", (TP,), member_id="a", epoch=7)
    assert driven.ask(asked).offsets == {TP: None}
    Classic(driven, "c").join()
    assert driven.ask(asked).offsets == {TP: None}


# --- deleting


@pytest.mark.parametrize("regex", ["", "ord.*"])
def test_offsets_of_subscribed_topics_are_not_deleted(regex: str) -> None:
    """Also not before the first heartbeat after a restart. In an empty group every offset may be deleted."""
    driven = Consumers(topics={"orders": 2, "payments": 2})
    a = driven.client("a", topics=NONE if regex else ORDERS, regex=regex)
    for tp in (TP, PAID):
        commit(driven, tp, member_id="a", generation=1)
    expected = {TP: CoordinatorError.GROUP_SUBSCRIBED_TO_TOPIC, PAID: OK}
    assert Consumers(driven.log).ask(DeleteOffsets("g", (TP, PAID))).errors == expected
    assert driven.ask(DeleteOffsets("g", (TP, PAID))).errors == expected
    assert driven.committed() == 5
    a.leave()
    assert driven.ask(DeleteOffsets("g", (TP,))).errors == {TP: OK}
    assert driven.committed() is None


def test_group_with_members_is_not_deleted() -> None:
    """When they have left it is, with its offsets and all of its records."""
    driven = Consumers()
    a = driven.client("a")
    commit(driven, member_id="a", generation=1)
    assert driven.ask(DeleteGroup("g")).error is CoordinatorError.NON_EMPTY_GROUP
    a.leave()
    assert driven.ask(DeleteGroup("g")).error is OK
    assert driven.log[-4:] == [
        OffsetRecord("g", TP, None),
        GroupRecord("g", None),
        ConsumerRecord("g", Kind.GROUP),
        ConsumerRecord("g", Kind.TARGET_EPOCH),
    ]
    assert (driven.coordinator.groups, Consumers(driven.log).coordinator.groups) == ({}, {})
    assert driven.coordinator.held.bytes == 0


def test_deletion_that_fails_leaves_the_group() -> None:
    """In memory and in the log, with its epoch."""
    driven = Consumers()
    driven.client("a").leave()
    driven.holds = True
    driven.ask(DeleteGroup("g"), "delete")
    assert driven.heartbeat("b", 0).error is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    driven.settle(CoordinatorError.NOT_COORDINATOR)
    assert driven.heard["delete"] == Answered(CoordinatorError.NOT_COORDINATOR)
    driven.holds = False
    assert driven.heartbeat("b", 0).epoch == 3
    assert Consumers(driven.log).consumer.epoch == 3


# --- expiring


def test_offsets_expire_that_no_member_needs() -> None:
    """Those of subscribed topics stay while the members do, and as long after that as they were committed before."""
    driven = Consumers(topics={"orders": 2, "payments": 2}, offsets_retention_ms=KEPT_MS, offsets_check_ms=CHECK_MS)
    a = driven.client("a")
    for tp in (TP, PAID):
        commit(driven, tp, member_id="a", generation=1)
    driven.wait(KEPT_MS - 1)
    assert driven.committed(PAID) == 5
    driven.wait(CHECK_MS)
    assert (driven.committed(TP), driven.committed(PAID)) == (5, None)
    assert OffsetRecord("g", PAID, None) in driven.log
    a.leave()
    driven.wait(CHECK_MS)
    assert "g" not in driven.coordinator.groups
    assert Consumers(driven.log).coordinator.groups == {}


def test_offsets_do_not_expire_before_the_first_heartbeat() -> None:
    """After a restart, the log says which topics the members want."""
    driven = Consumers()
    driven.client("a")
    commit(driven, member_id="a", generation=1)
    driven.log = [*driven.log]
    later = Consumers(driven.log, offsets_retention_ms=1, offsets_check_ms=CHECK_MS)
    later.wait(CHECK_MS)
    assert later.committed() == 5


def test_empty_group_expires_without_offsets() -> None:
    """All of its records are deleted, also those of an expression."""
    driven = Consumers(offsets_check_ms=CHECK_MS)
    driven.client("a", regex="o.*").leave()
    assert driven.consumer.epoch == 2
    driven.wait(CHECK_MS)
    assert (driven.coordinator.groups, driven.coordinator.held.bytes) == ({}, 0)
    assert Consumers(driven.log).coordinator.groups == {}


def test_expiry_that_fails_is_made_up_for() -> None:
    """With the next check. Until then the group is there."""
    driven = Consumers(offsets_check_ms=CHECK_MS)
    driven.client("a").leave()
    driven.holds = True
    driven.wait(CHECK_MS)
    assert "g" in driven.coordinator.groups
    driven.settle(CoordinatorError.REQUEST_TIMED_OUT)
    driven.holds = False
    driven.wait(CHECK_MS)
    assert (driven.coordinator.groups, Consumers(driven.log).coordinator.groups) == ({}, {})


def test_group_with_members_or_offsets_does_not_expire() -> None:
    """It keeps its epoch."""
    driven = Consumers(offsets_check_ms=CHECK_MS)
    a = driven.client("a")
    driven.wait(CHECK_MS)
    assert driven.consumer.epoch == 1
    commit(driven, member_id="a", generation=1)
    a.leave()
    driven.wait(2 * CHECK_MS)
    assert driven.consumer.epoch == 2
