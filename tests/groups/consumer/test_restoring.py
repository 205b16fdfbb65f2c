"""A coordinator that takes over a group of the consumer protocol from its log."""

from __future__ import annotations

from kedge.controller.groups.consumer.values import ConsumerRecord, GroupEpoch, Kind, MemberState, Subscriber
from kedge.controller.groups.records import Committed
from kedge.controller.groups.requests import Commit
from tests.groups.consumer.driving import OK, Classic, Consumers, of
from tests.groups.consumer.states import same, sound
from tests.groups.driving import SESSION_MS, TP


def busy() -> Consumers:
    """A group with members of every kind, in the middle of a rebalance."""
    driven = Consumers(topics={"orders": 6, "oil": 3})
    a, b = driven.clients("a", "b", topics=None, regex="o.*")
    driven.client("i1", instance_id="i", assignor="range", rebalance_timeout_ms=7_000)
    c = Classic(driven, "c")
    c.join()
    a.beat()
    b.leave()
    driven.ask(Commit("g", {TP: Committed(5)}, a.epoch, "a"))
    return driven


def test_loaded_group_is_what_was_written() -> None:
    """With targets, states, expressions, static members and offsets."""
    driven = busy()
    assert driven["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    later = Consumers(driven.log, {"orders": 6, "oil": 3})
    same(driven, later)
    sound(later)
    assert later.consumer.static == {"i": "i1"}
    assert later.committed() == 5


def test_group_can_be_loaded_after_each_append() -> None:
    """No partition has two owners in between."""
    driven = busy()
    assert len(driven.ends) > 5
    for end in driven.ends:
        sound(Consumers(driven.log[:end]))


def test_members_go_on_after_a_takeover() -> None:
    """Without joining again."""
    driven = busy()
    later = Consumers(driven.log, {"orders": 6, "oil": 3})
    answer = later.heartbeat("a", driven["a"].current.epoch, owned=driven["a"].current.assigned)
    assert (answer.error, answer.epoch) == (OK, driven.consumer.epoch)


def test_sessions_begin_with_a_takeover() -> None:
    """Those of classic members with their own timeout."""
    later = Consumers(busy().log, consumer_session_timeout_ms=20_000)
    classic = [member_id for member_id in later.consumer.members if member_id.startswith("c-")]
    later.wait(SESSION_MS - 1)
    assert classic[0] in later.consumer.members
    later.wait(1)
    assert sorted(later.consumer.members) == ["a", "i1"]
    later.wait(20_000 - SESSION_MS)
    assert later.consumer.members == {}


def test_time_to_revoke_begins_with_a_takeover() -> None:
    """A member has all of its rebalance timeout."""
    driven = Consumers()
    driven.client("a", rebalance_timeout_ms=7_000)
    driven.client("b")
    driven.heartbeat("a", 1)
    later = Consumers(driven.log)
    later.wait(6_999)
    assert "a" in later.consumer.members
    later.wait(1)
    assert "a" not in later.consumer.members


def test_classic_member_has_no_time_to_revoke() -> None:
    """After a takeover, too: it joins when its Heartbeat says so."""
    driven = Consumers(topics={"orders": 6})
    a, c = driven.client("a"), Classic(driven, "c")
    c.join()
    c.sync()
    driven.reconcile(a, c)
    driven.client("b")
    c.join()
    member = Consumers(driven.log)[c.member_id]
    assert (member.current.state, member.revoke_ms) == (MemberState.UNREVOKED_PARTITIONS, None)


def test_records_of_unknown_members_make_a_group() -> None:
    """A log may begin anywhere after it was compacted: the order of records does not matter."""
    records = [
        ConsumerRecord("g", Kind.CURRENT, "a"),
        ConsumerRecord("g", Kind.MEMBER, "a", Subscriber(topics=frozenset({"orders"}))),
        ConsumerRecord("g", Kind.GROUP, "", GroupEpoch(3)),
    ]
    driven = Consumers(records)
    sound(driven)
    assert (driven.consumer.epoch, driven.consumer.target_epoch) == (3, 0)
    assert driven.heartbeat("a", 0).assigned == of("orders", 0, 1, 2, 3)
