"""JoinGroup of members that use the classic protocol in a group of the consumer protocol."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, MemberState
from kedge.controller.groups.replies import Joined
from tests.groups.consumer.driving import OK, Classic, Consumers, of

REJOIN = CoordinatorError.REBALANCE_IN_PROGRESS


def test_classic_member_joins_as_a_follower() -> None:
    """The coordinator assigns: the answer names no leader and no members. The generation is its epoch."""
    driven = Consumers()
    driven.client("a")
    c = Classic(driven, "c")
    assert c.join() == Joined(OK, "c-id1", 2, "consumer", "range")
    assert driven["c-id1"].current.state is MemberState.UNRELEASED_PARTITIONS
    assert (c.sync().assignment, c.owned) == (driven.coordinator.codec.assignment(NONE), NONE)


def test_classic_member_joins_when_partitions_are_released() -> None:
    """Its Heartbeat says so. The former generation is over then only if the epoch changed."""
    driven = Consumers()
    a, c = driven.client("a"), Classic(driven, "c")
    c.join()
    c.sync()
    assert c.heartbeat() is OK
    driven.reconcile(a)
    assert c.heartbeat() is REJOIN
    assert (c.join().generation, c.sync().error) == (2, OK)
    assert (c.owned, c.heartbeat()) == (of("orders", 2, 3), OK)


def test_classic_member_revokes_in_two_steps() -> None:
    """It keeps the rest meanwhile (KIP-429)."""
    driven = Consumers()
    a, c = driven.mixed()
    b = driven.client("b")
    assert c.heartbeat() is REJOIN
    assert (c.join().generation, driven["c-id1"].current.state) == (2, MemberState.UNREVOKED_PARTITIONS)
    c.sync()
    assert c.owned == of("orders", 3, 4)
    assert c.heartbeat() is REJOIN
    assert (c.join().generation, c.sync().error, c.heartbeat()) == (3, OK, OK)
    driven.reconcile(a, b)
    assert b.owned == of("orders", 2, 5)


def test_classic_member_that_owns_nothing_has_revoked() -> None:
    """The eager protocol gives everything back before it joins."""
    driven = Consumers()
    _a, c = driven.mixed()
    driven.client("b")
    c.owned = NONE
    assert (c.join().generation, c.sync().error, c.owned) == (3, OK, of("orders", 3, 4))


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"session_timeout_ms": 5_999}, CoordinatorError.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, CoordinatorError.INVALID_SESSION_TIMEOUT),
        ({"kind": "connect"}, CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("x", b"orders"),)}, CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("range", b""),)}, CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance_id": "i", "member_id": "x"}, CoordinatorError.UNKNOWN_MEMBER_ID),
        ({"instance_id": "s", "member_id": "x"}, CoordinatorError.FENCED_INSTANCE_ID),
    ],
    ids=lambda value: value.name if isinstance(value, CoordinatorError) else "",
)
def test_classic_member_that_is_refused(fields: dict[str, Any], error: CoordinatorError) -> None:
    """It does not change the group. All classic members must share a protocol."""
    driven = Consumers()
    driven.mixed()
    driven.client("s", instance_id="s")
    epoch, member_id = driven.consumer.epoch, fields.pop("member_id", "")
    assert driven.join("d", member_id, **fields) == Joined(error, member_id)
    assert (driven.consumer.epoch, sorted(driven.consumer.members)) == (epoch, ["a", "c-id1", "s"])


def test_classic_members_share_a_protocol() -> None:
    """Members of the consumer protocol have none. The answer has the one that the member prefers."""
    driven = Consumers()
    driven.client("a")
    both = (("x", b"orders"), ("range", b"orders"))
    assert driven.join("c", protocols=both).protocol == "x"
    assert driven.join("d", protocols=both[1:]).error is OK
    assert driven.join("e", protocols=both[:1]).error is CoordinatorError.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("member_id, error", [("", CoordinatorError.GROUP_MAX_SIZE_REACHED), ("c-id1", OK)])
def test_full_group_takes_no_classic_member(member_id: str, error: CoordinatorError) -> None:
    """But those that are in it may join again."""
    driven = Consumers(consumer_members_max=2)
    driven.mixed()
    assert driven.join("c", member_id).error is error


def test_classic_member_gets_an_id_first() -> None:
    """Version 4 of JoinGroup and later; a static one has its own."""
    driven = Consumers()
    driven.client("a")
    answer = driven.join("c", requires_member_id=True)
    assert (answer, sorted(driven.consumer.members)) == (Joined(CoordinatorError.MEMBER_ID_REQUIRED, "c-id1"), ["a"])
    assert driven.join("c", "c-id1", requires_member_id=True).error is OK
    assert driven.join("s", requires_member_id=True, instance_id="i").member_id == "i-id3"
    assert sorted(driven.consumer.members) == ["a", "c-id1", "i-id3"]


def test_classic_member_brings_its_rack_and_timeouts() -> None:
    """And other ones with a later Join, by which nothing is assigned again."""
    driven = Consumers()
    driven.mixed()
    epoch = driven.consumer.epoch
    driven.join("c", "c-id1", rebalance_timeout_ms=7, session_timeout_ms=6_000, client_host="h")
    said = driven["c-id1"].said
    assert said.classic is not None
    assert (said.rebalance_timeout_ms, said.classic.session_timeout_ms, said.client_host) == (7, 6_000, "h")
    assert driven.consumer.epoch == epoch
    driven.join("c", "c-id1", protocols=(("range", b"orders,payments|"),))
    assert driven.consumer.epoch == epoch + 1


def test_static_classic_member_gets_a_new_id() -> None:
    """With its partitions, whichever protocol it had, and without having left."""
    driven = Consumers()
    a = driven.client("a")
    c, d = Classic(driven, "c", instance_id="i"), Classic(driven, "d", instance_id="i")
    c.join()
    c.sync()
    driven.reconcile(a, c)
    assert (d.join().error, d.member_id, d.epoch) == (OK, "i-id3", c.epoch)
    assert (d.sync().error, d.owned) == (OK, c.owned)
    assert (driven.consumer.static, "i-id1" in driven.consumer.members) == ({"i": "i-id3"}, False)
    assert (c.heartbeat(), c.join().error) == (CoordinatorError.FENCED_INSTANCE_ID,) * 2
    assert d.join().error is OK


def test_static_consumer_comes_back_with_the_classic_protocol() -> None:
    """The group stays as long as others use the consumer protocol."""
    driven = Consumers()
    a, b = driven.client("a", instance_id="i"), driven.client("b")
    driven.reconcile(a, b)
    c = Classic(driven, "c", instance_id="i")
    assert (c.join().error, c.sync().error, c.owned) == (OK, OK, a.owned)
    assert driven.consumer.epoch == b.epoch


def test_static_classic_member_that_is_back_may_own() -> None:
    """It goes on with its partitions, and gives up what it has to revoke in two steps like any other."""
    driven = Consumers(topics={"orders": 6})
    a, c = driven.client("a"), Classic(driven, "c", instance_id="i")
    c.join()
    c.sync()
    driven.reconcile(a, c)
    b = driven.client("b")
    c.member_id = ""
    assert (c.join().generation, c.sync().error, c.owned) == (0, OK, of("orders", 3, 4))
    assert b.beat().assigned is None
    c.join()
    assert b.beat().assigned == of("orders", 5)
