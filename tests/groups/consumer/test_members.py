"""Members that join, share partitions, go and are removed."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, GroupState, MemberState
from tests.groups.consumer.driving import OK, ORDERS, Consumers, of
from tests.groups.driving import REBALANCE_MS

SESSION_MS = 45_000


def test_first_member_gets_every_partition() -> None:
    """With its first request, in epoch 1."""
    driven = Consumers()
    a = driven.client("a")
    assert (a.epoch, a.owned, driven.consumer.state) == (1, of("orders", 0, 1, 2, 3), GroupState.STABLE)


def test_second_member_waits_until_partitions_are_revoked() -> None:
    """The steps: a new target, the first member revokes, says so, and the second one gets them."""
    driven = Consumers()
    a, b = driven.client("a"), driven.client("b")
    assert (b.epoch, b.owned, driven["b"].current.state) == (2, NONE, MemberState.UNRELEASED_PARTITIONS)
    answer = driven.heartbeat("a", 1, owned=a.owned)
    assert (answer.epoch, answer.assigned) == (1, of("orders", 0, 1))
    assert driven["a"].current.revoking == of("orders", 2, 3)
    assert b.beat().assigned is None
    assert driven.described().state is GroupState.RECONCILING
    answer = driven.heartbeat("a", 1, owned=of("orders", 0, 1))
    assert (answer.epoch, answer.assigned, driven["a"].current.state) == (2, None, MemberState.STABLE)
    assert b.beat().assigned == of("orders", 2, 3)
    assert driven.consumer.state is GroupState.STABLE


def test_member_keeps_its_partitions_in_every_rebalance() -> None:
    """As far as they are not needed elsewhere."""
    driven = Consumers(topics={"orders": 6})
    a, b, c = driven.clients("a", "b", "c")
    had = {client.member_id: client.owned for client in (a, b)}
    c.leave()
    driven.reconcile(a, b)
    assert [len(client.owned) for client in (a, b)] == [3, 3]
    assert all(had[client.member_id] < client.owned for client in (a, b))


def test_member_that_leaves_gives_its_partitions_to_others() -> None:
    """At once: they were its own until it left."""
    driven = Consumers()
    a, b = driven.clients("a", "b")
    answer = b.leave()
    assert (answer.error, answer.member_id, answer.epoch, answer.assigned) == (OK, "b", -1, None)
    assert a.beat().assigned == of("orders", 0, 1, 2, 3)
    assert (a.epoch, list(driven.consumer.members)) == (3, ["a"])


def test_group_without_members_is_empty() -> None:
    """Its epoch goes on when the next member joins."""
    driven = Consumers()
    a = driven.client("a")
    a.leave()
    assert (driven.consumer.state, driven.consumer.epoch) == (GroupState.EMPTY, 2)
    assert driven.client("b").epoch == 3


def test_member_that_joins_again_keeps_its_partitions() -> None:
    """With the epoch that it has, and without a new rebalance."""
    driven = Consumers()
    driven.clients("a")
    answer = driven.heartbeat("a", 0)
    assert (answer.epoch, answer.assigned, driven.consumer.epoch) == (1, of("orders", 0, 1, 2, 3), 1)


def test_member_that_joins_again_has_revoked() -> None:
    """It says that it owns nothing."""
    driven = Consumers()
    a, b = driven.client("a"), driven.client("b")
    a.beat()
    assert driven["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    driven.heartbeat("a", 0)
    assert b.beat().assigned == of("orders", 2, 3)


@pytest.mark.parametrize("member_id, error", [("b", CoordinatorError.GROUP_MAX_SIZE_REACHED), ("a", OK)])
def test_full_group_takes_no_more_members(member_id: str, error: CoordinatorError) -> None:
    """But those that are in it may join again."""
    driven = Consumers(consumer_members_max=1)
    driven.client("a")
    assert driven.heartbeat(member_id, 0).error is error
    assert list(driven.consumer.members) == ["a"]


# --- deadlines


def test_silent_member_is_removed_after_its_session() -> None:
    """Each heartbeat begins a new session timeout."""
    driven = Consumers()
    a, b = driven.clients("a", "b")
    driven.wait(SESSION_MS - 1)
    assert a.beat().error is OK
    driven.wait(1)
    assert list(driven.consumer.members) == ["a"]
    assert a.beat().assigned == of("orders", 0, 1, 2, 3)
    assert b.beat().error is CoordinatorError.UNKNOWN_MEMBER_ID
    driven.wait(SESSION_MS)
    assert driven.consumer.state is GroupState.EMPTY


def test_member_that_does_not_revoke_is_removed() -> None:
    """After its rebalance timeout, although it sends heartbeats."""
    driven = Consumers()
    a, b = driven.client("a", rebalance_timeout_ms=2_000), driven.client("b")
    driven.heartbeat("a", 1)
    driven.wait(1_000)
    assert driven.heartbeat("a", 1, owned=a.owned).error is OK
    driven.wait(999)
    assert b.beat().assigned is None
    driven.wait(1)
    assert list(driven.consumer.members) == ["b"]
    assert b.beat().assigned == of("orders", 0, 1, 2, 3)


def test_member_that_revoked_has_no_deadline() -> None:
    """Nor has one that waits for others."""
    driven = Consumers()
    a, b = driven.client("a", rebalance_timeout_ms=2_000), driven.client("b", rebalance_timeout_ms=2_000)
    driven.heartbeat("a", 1, owned=a.owned)
    driven.heartbeat("a", 1, owned=of("orders", 0, 1))
    driven.wait(2_000)
    assert [driven.heartbeat(client.member_id, 2).error for client in (a, b)] == [OK, OK]


def test_further_revocation_has_its_own_deadline() -> None:
    """It begins when the member has done the former one."""
    driven = Consumers(topics={"orders": 6})
    a = driven.client("a", rebalance_timeout_ms=2_000)
    driven.client("b")
    driven.heartbeat("a", 1, owned=a.owned)
    driven.wait(1_500)
    driven.client("c")
    left = driven["a"].current.assigned
    answer = driven.heartbeat("a", 1, owned=left)
    assert (answer.epoch, len(answer.assigned)) == (2, 2)
    driven.wait(1_999)
    assert "a" in driven.consumer.members
    driven.wait(1)
    assert "a" not in driven.consumer.members


@pytest.mark.parametrize("fields", [{}, {"topics": frozenset({"payments"})}])
def test_state_of_a_group_that_assigns(fields: dict[str, Any]) -> None:
    """A target is computed with the first heartbeat after a member left, or with one that changes topics."""
    driven = Consumers(topics={"orders": 4, "payments": 1})
    a, b = driven.clients("a", "b")
    b.leave()
    assert (driven.consumer.state, driven.consumer.epoch, driven.consumer.target_epoch) == (GroupState.ASSIGNING, 3, 2)
    a.beat(**fields)
    epoch = 4 if fields else 3
    assert (driven.consumer.epoch, driven.consumer.target_epoch) == (epoch, epoch)


def test_topics_of_a_member_change_its_partitions() -> None:
    """It revokes those of topics that it does not want any more."""
    driven = Consumers(topics={"orders": 2, "payments": 2})
    (a,) = driven.clients("a")
    assert a.beat(topics=frozenset({"payments"})).assigned == NONE
    assert a.beat().assigned == of("payments", 0, 1)
    assert a.beat(topics=frozenset({"payments"})).epoch == a.epoch == 2
    assert driven.consumer.subscribed == {"payments"}


def test_member_may_want_no_topics() -> None:
    """It has no partitions, and is stable."""
    driven = Consumers()
    a = driven.client("a", topics=frozenset())
    assert (a.epoch, a.owned, driven.consumer.state) == (1, NONE, GroupState.STABLE)
    assert driven.client("b", topics=ORDERS).owned == of("orders", 0, 1, 2, 3)


def test_rebalance_timeout_is_that_of_the_member() -> None:
    """The latest that it sent."""
    driven = Consumers()
    a = driven.client("a")
    driven.client("b")
    a.beat(rebalance_timeout_ms=3_000)
    assert driven["a"].revoke_ms == driven.now_ms + 3_000 < driven.now_ms + REBALANCE_MS
