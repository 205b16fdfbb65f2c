"""Static members (KIP-345) of the consumer protocol: they leave for a while, and are back under another id."""

from __future__ import annotations

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, MemberState
from tests.groups.consumer.driving import OK, Classic, Consumers, of
from tests.groups.consumer.states import same
from tests.groups.driving import REBALANCE_MS

SESSION_MS = 45_000


def test_static_member_is_back_under_a_new_id() -> None:
    """With its partitions and the epoch of the group, and without a rebalance."""
    driven = Consumers()
    a = driven.client("a", instance_id="i")
    b = driven.client("b")
    driven.reconcile(a, b)
    had = a.owned
    assert a.leave(-2).epoch == -2
    assert driven["a"].current.epoch == -2
    assert b.beat().assigned is None
    answer = driven.heartbeat("a2", 0, instance_id="i")
    assert (answer.error, answer.epoch, answer.assigned, driven.consumer.epoch) == (OK, 2, had, 2)
    assert (sorted(driven.consumer.members), driven.consumer.static) == (["a2", "b"], {"i": "a2"})
    assert driven.heartbeat("a", 2, instance_id="i").error is CoordinatorError.FENCED_INSTANCE_ID
    assert driven.heartbeat("a", 2).error is CoordinatorError.UNKNOWN_MEMBER_ID


def test_static_member_is_back_under_its_former_id() -> None:
    """As under a new one."""
    driven = Consumers()
    a = driven.client("a", instance_id="i")
    a.leave(-2)
    answer = driven.heartbeat("a", 0, instance_id="i")
    assert (answer.epoch, answer.assigned) == (1, of("orders", 0, 1, 2, 3))
    assert driven["a"].current.previous_epoch == 0


def test_static_members_are_written_as_they_are() -> None:
    """When they leave for a while, and when they are back under a new id."""
    driven = Consumers()
    a = driven.client("a", instance_id="i")
    a.leave(-2)
    same(driven, Consumers(driven.log))
    driven.heartbeat("a2", 0, instance_id="i")
    same(driven, Consumers(driven.log))


def test_returning_static_member_may_want_other_topics() -> None:
    """What it said before is what it leaves out."""
    driven = Consumers(topics={"orders": 2, "payments": 2})
    driven.client("a", instance_id="i", rack="r").leave(-2)
    answer = driven.heartbeat("a2", 0, instance_id="i", topics=frozenset({"payments"}))
    assert (answer.epoch, answer.assigned, driven["a2"].said.rack) == (2, of("payments", 0, 1), "r")


@pytest.mark.parametrize(
    "member_id, epoch, instance_id, error",
    [
        ("b", 0, "i", CoordinatorError.UNRELEASED_INSTANCE_ID),
        ("b", 1, "i", CoordinatorError.FENCED_INSTANCE_ID),
        ("b", -1, "i", CoordinatorError.FENCED_INSTANCE_ID),
        ("b", -2, "i", CoordinatorError.FENCED_INSTANCE_ID),
        ("b", 1, "j", CoordinatorError.UNKNOWN_MEMBER_ID),
        ("a", 1, "j", CoordinatorError.UNKNOWN_MEMBER_ID),
        ("b", -2, "j", CoordinatorError.UNKNOWN_MEMBER_ID),
        ("a", 7, "i", CoordinatorError.FENCED_MEMBER_EPOCH),
        ("a", 0, "i", OK),
        ("a", 1, "i", OK),
        ("a", 1, None, OK),
        ("b", 0, "j", OK),
    ],
)
def test_instance_ids_that_a_client_may_use(
    member_id: str, epoch: int, instance_id: str | None, error: CoordinatorError
) -> None:
    """An instance id belongs to one member until that leaves."""
    driven = Consumers()
    driven.client("a", instance_id="i")
    assert driven.heartbeat(member_id, epoch, instance_id=instance_id).error is error
    assert driven.consumer.static["i"] == "a"


def test_static_member_that_left_keeps_its_partitions() -> None:
    """Until its session ends. That begins with its last heartbeat, not when it leaves."""
    driven = Consumers()
    a = driven.client("a", instance_id="i")
    b = driven.client("b")
    driven.reconcile(a, b)
    driven.wait(10_000)
    b.beat()
    a.leave(-2)
    driven.wait(SESSION_MS - 10_001)
    assert b.beat().assigned is None
    driven.wait(1)
    assert b.beat().assigned == of("orders", 0, 1, 2, 3)
    assert driven.consumer.static == {}


def test_leaving_static_member_gives_up_revoked_partitions() -> None:
    """It uses no partitions any more. Its rebalance timeout is over, too."""
    driven = Consumers()
    a = driven.client("a", instance_id="i", rebalance_timeout_ms=1_000)
    b = driven.client("b")
    a.beat()
    assert driven["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    a.leave(-2)
    assert driven["a"].current.revoking == NONE
    assert b.beat().assigned == of("orders", 2, 3)
    driven.wait(2_000)
    answer = driven.heartbeat("a2", 0, instance_id="i")
    assert (answer.epoch, answer.assigned) == (2, of("orders", 0, 1))


def test_static_member_that_leaves_for_good_is_removed() -> None:
    """With its instance id."""
    driven = Consumers()
    a = driven.client("a", instance_id="i")
    a.leave(-1)
    assert (driven.consumer.members, driven.consumer.static) == ({}, {})
    assert driven.heartbeat("b", 0, instance_id="i").error is OK


def test_full_group_takes_a_static_member_back() -> None:
    """It takes the place of its former self."""
    driven = Consumers(consumer_members_max=1)
    driven.client("a", instance_id="i").leave(-2)
    assert driven.heartbeat("a2", 0, instance_id="i").error is OK


@pytest.mark.parametrize("before", [None, "j"])
def test_member_may_join_again_with_another_instance_id(before: str | None) -> None:
    """It keeps its partitions, and the former instance id is free."""
    driven = Consumers()
    a = driven.client("a", instance_id=before)
    assert driven.heartbeat("a", 0, instance_id="i").epoch == a.epoch == 1
    assert driven.consumer.static == {"i": "a"}
    driven.heartbeat("a", -1)
    assert (driven.consumer.static, driven.consumer.owners) == ({}, {})


def test_classic_static_member_comes_as_a_consumer() -> None:
    """It need not leave before: the application was restarted with the other protocol."""
    driven = Consumers()
    b = driven.client("b")
    classic = Classic(driven, "c", instance_id="i")
    classic.join()
    classic.sync()
    driven.reconcile(b, classic)
    answer = driven.heartbeat("a", 0, instance_id="i")
    assert (answer.error, answer.assigned, driven.consumer.epoch) == (OK, classic.owned, b.epoch)
    assert driven["a"].said.classic is None
    assert driven["a"].said.rebalance_timeout_ms == REBALANCE_MS
    assert classic.heartbeat() is CoordinatorError.FENCED_INSTANCE_ID
