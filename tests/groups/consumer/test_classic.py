"""Members that use the classic protocol in a group of the consumer protocol: SyncGroup, Heartbeat, LeaveGroup."""

from __future__ import annotations

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, MemberState
from kedge.controller.groups.replies import Left
from kedge.controller.groups.requests import Heartbeat, Join, Leave, Leaving, Sync
from tests.groups.consumer.driving import OK, Classic, Consumers, of
from tests.groups.driving import REBALANCE_MS, SESSION_MS

REJOIN = CoordinatorError.REBALANCE_IN_PROGRESS


REFUSED = [
    ("c-id1", 2, None, OK),
    ("c-id1", 1, None, CoordinatorError.ILLEGAL_GENERATION),
    ("c-id1", 3, None, CoordinatorError.ILLEGAL_GENERATION),
    ("b", 2, None, CoordinatorError.UNKNOWN_MEMBER_ID),
    ("a", 2, None, CoordinatorError.UNKNOWN_MEMBER_ID),
    ("c-id1", 2, "i", CoordinatorError.UNKNOWN_MEMBER_ID),
    ("c-id1", 2, "s", CoordinatorError.FENCED_INSTANCE_ID),
    ("s-id1", 3, "s", OK),
]


@pytest.mark.parametrize("member_id, generation, instance_id, error", REFUSED)
def test_who_may_send_heartbeat_and_sync(
    member_id: str, generation: int, instance_id: str | None, error: CoordinatorError
) -> None:
    """A classic member in its generation, with its instance id."""
    driven = Consumers()
    a, c = driven.mixed()
    s = Classic(driven, "s", instance_id="s")
    s.join()
    assert s.member_id == "s-id3"
    driven.reconcile(a, c, s)
    named = (member_id.replace("s-id1", "s-id3"), instance_id)
    generation += 1 if instance_id != "s" else 0
    assert driven.ask(Heartbeat("g", generation, *named)).error is error
    assert driven.ask(Sync("g", generation, named[0], {}, named[1])).error is error


@pytest.mark.parametrize(
    "kind, protocol, error",
    [
        ("consumer", "range", OK),
        (None, None, OK),
        ("connect", "range", CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "x", CoordinatorError.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_names_the_protocol_of_the_join(kind: str | None, protocol: str | None, error: CoordinatorError) -> None:
    """If its version has these fields. The answer repeats them."""
    driven = Consumers()
    driven.mixed()
    answer = driven.ask(Sync("g", 2, "c-id1", {}, None, kind, protocol))
    assert answer.error is error
    assert error or (answer.protocol_type, answer.protocol) == (kind, protocol)


def test_sync_sends_a_member_to_join_again() -> None:
    """When there is a new epoch; but one that revokes gets its assignment first."""
    driven = Consumers()
    _a, c = driven.mixed()
    driven.client("b")
    assert c.sync().error is REJOIN
    c.join()
    assert (driven.consumer.epoch, c.epoch, c.sync().error) == (3, 2, OK)


def test_group_assigns_whatever_a_classic_member_brings() -> None:
    """There is no leader: the assignments in a Sync are ignored."""
    driven = Consumers()
    _a, c = driven.mixed()
    c.sync({c.member_id: driven.coordinator.codec.assignment(frozenset({("orders", 0)}))})
    assert c.owned == of("orders", 3, 4, 5)


def test_members_leave_one_by_one() -> None:
    """By id or by instance id. What is wrong with one of them does not affect the others."""
    driven = Consumers()
    driven.mixed()
    s, t = Classic(driven, "s", instance_id="s"), Classic(driven, "t", instance_id="t")
    s.join()
    t.join()
    epoch = driven.consumer.epoch
    leaving = {
        Leaving("c-id1"): OK,
        Leaving("c-id1", None): OK,
        Leaving("b"): CoordinatorError.UNKNOWN_MEMBER_ID,
        Leaving("", "s"): OK,
        Leaving("x", "t"): CoordinatorError.FENCED_INSTANCE_ID,
        Leaving("", "u"): CoordinatorError.UNKNOWN_MEMBER_ID,
        Leaving(""): CoordinatorError.UNKNOWN_MEMBER_ID,
    }
    assert driven.ask(Leave("g", tuple(leaving))) == Left(tuple(leaving.items()))
    assert (sorted(driven.consumer.members), driven.consumer.epoch) == (["a", t.member_id], epoch + 1)


def test_leave_of_strangers_changes_nothing() -> None:
    """The epoch stays."""
    driven = Consumers()
    driven.mixed()
    driven.ask(Leave("g", (Leaving("x"),)))
    assert driven.consumer.epoch == 2


# --- deadlines


def test_silent_classic_member_is_removed() -> None:
    """After the session timeout that it brought. Join, Sync and Heartbeat begin a new one."""
    driven = Consumers()
    a, c = driven.mixed()
    for step in (c.join, c.sync, c.heartbeat):
        driven.wait(SESSION_MS - 1)
        step()
        assert c.member_id in driven.consumer.members
    driven.wait(SESSION_MS - 1)
    assert c.member_id in driven.consumer.members
    driven.wait(1)
    assert list(driven.consumer.members) == ["a"]
    assert a.beat().assigned == of("orders", 0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("how", ["heartbeat", "sync"])
def test_classic_member_that_does_not_join_is_removed(how: str) -> None:
    """Within its rebalance timeout, since it first heard that it has to. A member that joins has time again."""
    driven = Consumers()
    _a, c = driven.mixed()
    driven.join("c", "c-id1", rebalance_timeout_ms=8_000)
    c.sync()
    driven.client("b")
    for _ in range(2):
        getattr(c, how)()
        driven.wait(3_999)
    c.join(rebalance_timeout_ms=8_000)
    c.sync()
    driven.wait(SESSION_MS - 1)
    assert c.heartbeat() is REJOIN
    driven.wait(7_999)
    assert c.heartbeat() is REJOIN
    driven.wait(1)
    assert c.heartbeat() is CoordinatorError.UNKNOWN_MEMBER_ID


def test_classic_member_that_does_not_sync_is_removed() -> None:
    """Within its rebalance timeout."""
    driven = Consumers()
    _a, c = driven.mixed()
    c.join(rebalance_timeout_ms=8_000)
    driven.wait(7_999)
    assert c.heartbeat() is OK
    driven.wait(1)
    assert c.heartbeat() is CoordinatorError.UNKNOWN_MEMBER_ID


def test_classic_member_has_no_deadline_to_revoke() -> None:
    """But those to join and to synchronize."""
    driven = Consumers()
    _a, c = driven.mixed()
    driven.client("b")
    c.join(rebalance_timeout_ms=REBALANCE_MS)
    c.sync()
    member = driven["c-id1"]
    assert member.current.state is MemberState.UNREVOKED_PARTITIONS
    assert (member.revoke_ms, member.join_ms, member.sync_ms) == (None, None, None)


def test_classic_member_may_become_a_consumer() -> None:
    """Under its own id and epoch; it has no deadlines of the classic protocol then."""
    driven = Consumers()
    driven.client("a")
    assert driven.join("c").member_id == "c-id1"
    epoch = driven.consumer.epoch
    answer = driven.heartbeat("c-id1", 2, owned=NONE)
    member = driven["c-id1"]
    assert (answer.error, member.said.classic, member.join_ms, member.sync_ms) == (OK, None, None, None)
    assert driven.consumer.epoch == epoch
    assert driven.ask(Join("g", "", "f", "consumer", (("x", b"orders"),), 6_000, 6_000)).error is OK
