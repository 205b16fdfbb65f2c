"""A group of the classic protocol becomes one of the consumer protocol when such a member joins."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, ClassicProtocols, Current, Subscriber
from kedge.controller.groups.records import Committed, GroupRecord
from kedge.controller.groups.replies import Joined, State, Synced
from kedge.controller.groups.requests import Commit, Sync
from tests.groups.consumer.driving import OK, ORDERS, Classic, Consumers, of
from tests.groups.driving import REBALANCE_MS, SESSION_MS, TP

REJOIN = CoordinatorError.REBALANCE_IN_PROGRESS


def test_members_go_on_while_they_are_upgraded() -> None:
    """They keep their partitions until the new member has its share."""
    driven = Consumers()
    c, d = driven.classics("c", "d")
    assert (c.owned, d.owned, c.epoch) == (of("orders", 0, 2), of("orders", 1, 3), 2)
    a = driven.client("a")
    assert (a.epoch, a.owned) == (3, NONE)
    member = driven[c.member_id]
    protocols = ClassicProtocols(SESSION_MS, (("range", b"orders|"),))
    assert member.said == Subscriber("c", "", ORDERS, rebalance_timeout_ms=REBALANCE_MS, classic=protocols)
    assert member.current == Current(2, 2, assigned=c.owned)
    had = c.owned, d.owned
    driven.reconcile(c, d, a)
    assert sorted(len(client.owned) for client in (c, d, a)) == [1, 1, 2]
    assert (c.owned <= had[0], d.owned <= had[1]) == (True, True)
    assert (driven.group.members, driven.group.state, driven.group.generation) == ({}, State.EMPTY, 0)


def test_upgraded_group_is_the_same_after_a_restart() -> None:
    """The record of the classic group is deleted in the same append."""
    driven = Consumers()
    c, _d = driven.classics("c", "d")
    driven.client("a")
    assert GroupRecord("g", None) in driven.log
    later = Consumers(driven.log)
    assert later[c.member_id].current == driven[c.member_id].current
    assert (later.consumer.epoch, later.consumer.target_epoch, later.group.members) == (3, 3, {})


def test_members_that_wait_for_a_rebalance_join_again() -> None:
    """A member that has joined, and waits for others, hears that a new rebalance began."""
    driven = Consumers()
    c, _d = driven.classics("c", "d")
    assert c.join(protocols=(("range", b"orders,payments|"),)) is None
    driven.client("a")
    assert driven.heard["c"] == Joined(REJOIN, c.member_id)
    assert c.join().error is OK


def test_members_that_wait_for_the_leader_join_again() -> None:
    """Also if its assignments are on the way to the log. What they had before is what they have."""
    driven = Consumers()
    c, d = driven.classics("c", "d")
    driven.holds = True
    c.join(protocols=(("range", b"orders,payments|"),))
    d.join()
    for client in (c, d):
        client.joined(driven.heard[client.name])
    assert d.sync() is None
    assert c.sync({c.member_id: driven.coordinator.codec.assignment(frozenset({("orders", 3)}))}) is None
    driven.heartbeat("a", 0)
    assert (driven.heard["c"], driven.heard["d"]) == (Synced(REJOIN), Synced(REJOIN))
    driven.settle()
    assert driven[c.member_id].current.assigned == of("orders", 0, 2)
    assert (driven.consumer.epoch, driven[c.member_id].current.epoch) == (4, 3)


def test_commit_under_way_survives_the_upgrade() -> None:
    """As do the offsets that were committed before."""
    driven = Consumers()
    (c,) = driven.classics("c")
    driven.holds = True
    assert driven.ask(Commit("g", {TP: Committed(5)}, 1, c.member_id), "commit") is None
    driven.heartbeat("a", 0)
    driven.settle()
    assert (driven.heard["commit"].errors, driven.committed()) == ({TP: OK}, 5)
    driven.holds = False
    assert Consumers(driven.log).committed() == 5


def test_static_classic_member_may_upgrade_its_group() -> None:
    """The group then has no classic members any more."""
    driven = Consumers()
    driven.classics("c", instance_id="i")
    answer = driven.heartbeat("a", 0, instance_id="i")
    assert (answer.error, answer.assigned, list(driven.consumer.members)) == (OK, of("orders", 0, 1, 2, 3), ["a"])


def test_member_in_its_first_rebalance_is_taken_along() -> None:
    """Its first protocol tells the topics. It has no partitions."""
    driven = Consumers(initial_rebalance_delay_ms=100)
    c = Classic(driven, "c")
    assert c.join(protocols=(("range", b"payments|"), ("x", b"orders|"))) is None
    driven.client("a")
    assert driven.heard["c"].error is REJOIN
    member = driven[driven.heard["c"].member_id]
    assert (member.said.topics, member.current) == (frozenset({"payments"}), Current())


def test_upgrade_begins_the_session_of_classic_members() -> None:
    """With its own timeout."""
    driven = Consumers()
    (c,) = driven.classics("c")
    driven.wait(SESSION_MS - 1)
    a = driven.client("a")
    driven.wait(SESSION_MS - 1)
    assert c.member_id in driven.consumer.members
    driven.wait(1)
    assert list(driven.consumer.members) == ["a"]
    assert a.beat().assigned == of("orders", 0, 1, 2, 3)


@pytest.mark.parametrize(
    "fields, epoch, error",
    [
        ({"kind": "connect"}, 0, CoordinatorError.GROUP_ID_NOT_FOUND),
        ({"protocols": (("range", b""),)}, 0, CoordinatorError.GROUP_ID_NOT_FOUND),
        ({}, 1, CoordinatorError.UNKNOWN_MEMBER_ID),
        ({"kind": "connect"}, 1, CoordinatorError.GROUP_ID_NOT_FOUND),
    ],
)
def test_group_that_cannot_be_upgraded(fields: dict[str, Any], epoch: int, error: CoordinatorError) -> None:
    """One of another protocol type, one whose metadata cannot be read, and any for a member that does not join."""
    driven = Consumers()
    (c,) = [Classic(driven, "c")]
    c.join(**fields)
    assert driven.heartbeat("a", epoch).error is error
    assert (driven.group.consumer, list(driven.group.members)) == (None, [c.member_id])


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"regex": "("}, CoordinatorError.INVALID_REGULAR_EXPRESSION),
        ({}, CoordinatorError.GROUP_MAX_SIZE_REACHED),
    ],
)
def test_refused_join_leaves_a_classic_group(fields: dict[str, Any], error: CoordinatorError) -> None:
    """Its members go on."""
    driven = Consumers(consumer_members_max=1 if error is CoordinatorError.GROUP_MAX_SIZE_REACHED else 2)
    (c,) = driven.classics("c")
    before = len(driven.log)
    assert driven.heartbeat("a", 0, **fields).error is error
    assert (driven.group.consumer, c.heartbeat(), len(driven.log)) == (None, OK, before)


def test_group_whose_assignments_cannot_be_read_stays() -> None:
    """Their partitions would be given to others while the members use them."""
    driven = Consumers()
    c = Classic(driven, "c")
    c.join()
    driven.ask(Sync("g", 1, c.member_id, {c.member_id: b"\1"}))
    assert driven.heartbeat("a", 0).error is CoordinatorError.GROUP_ID_NOT_FOUND
    assert driven.group.state is State.STABLE


def test_partitions_of_topics_that_are_gone_are_dropped() -> None:
    """Members of the classic protocol name them, and the coordinator knows their ids no more."""
    driven = Consumers()
    (c,) = driven.classics("c")
    driven.create(payments=1)
    driven.client("a")
    assert driven[c.member_id].current.assigned == NONE


@pytest.mark.parametrize("kind", ["consumer", "connect"])
def test_empty_classic_group_takes_the_consumer_protocol(kind: str) -> None:
    """Whatever it was before. Its epoch follows its generation."""
    driven = Consumers()
    c = Classic(driven, "c")
    c.join(kind=kind)
    c.leave()
    assert driven.group.generation == 2
    a = driven.client("a")
    assert (a.epoch, a.owned) == (3, of("orders", 0, 1, 2, 3))
    assert Consumers(driven.log).consumer.epoch == 3


def test_new_group_is_one_of_the_consumer_protocol() -> None:
    """Offsets that a tool committed before are in it."""
    driven = Consumers()
    driven.ask(Commit("g", {TP: Committed(5)}))
    assert driven.client("a").epoch == 1
    assert driven.committed() == 5
