"""ListGroups, ConsumerGroupDescribe and DescribeGroups of groups of the consumer protocol."""

from __future__ import annotations

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups.consumer.values import NONE, Current, GroupState, MemberState, Subscriber
from kedge.controller.groups.replies import Described, DescribedConsumer, DescribedConsumers, Listed, State
from kedge.controller.groups.requests import DeleteGroup, Describe, DescribeConsumers
from tests.groups.consumer.driving import ORDERS, Classic, Consumers, of
from tests.groups.driving import REBALANCE_MS


def test_group_is_listed_with_its_state() -> None:
    """Its protocol type is that of all consumers."""
    driven = Consumers()
    a = driven.client("a")
    states = [driven.coordinator.listed()[0].state]
    driven.client("b")
    states.append(driven.coordinator.listed()[0].state)
    driven.heartbeat("b", -1)
    states.append(driven.coordinator.listed()[0].state)
    a.leave()
    assert driven.coordinator.listed() == [Listed("g", "consumer", GroupState.EMPTY)]
    assert states == [GroupState.STABLE, GroupState.RECONCILING, GroupState.ASSIGNING]


def test_group_reconciles_until_every_member_is_stable() -> None:
    """In the present epoch, with all of its partitions."""
    driven = Consumers()
    a, b = driven.client("a", topics=frozenset()), driven.client("b", topics=frozenset())
    assert [driven[member_id].current.epoch for member_id in "ab"] == [1, 2]
    states = [driven.consumer.state]
    driven.reconcile(a, b)
    a.beat(topics=ORDERS)
    b.beat(topics=ORDERS)
    a.beat()
    a.beat()
    assert [driven[member_id].current.epoch for member_id in "ab"] == [4, 4]
    states.append(driven.consumer.state)
    b.beat()
    states.append(driven.consumer.state)
    assert states == [GroupState.RECONCILING, GroupState.RECONCILING, GroupState.STABLE]


def test_group_is_described_with_its_members() -> None:
    """What they said, what they have and what they shall have."""
    driven = Consumers()
    driven.client("a", client_id="c", client_host="h")
    driven.client("b", assignor="range")
    driven.heartbeat("a", 1, client_id="c", client_host="h")
    left, moved = of("orders", 0, 1), of("orders", 2, 3)
    members = (
        DescribedConsumer(
            "a",
            Subscriber("c", "h", ORDERS, rebalance_timeout_ms=REBALANCE_MS),
            Current(1, 1, MemberState.UNREVOKED_PARTITIONS, left, moved),
            left,
        ),
        DescribedConsumer(
            "b",
            Subscriber("", "", ORDERS, rebalance_timeout_ms=REBALANCE_MS, assignor="range"),
            Current(2, 0, MemberState.UNRELEASED_PARTITIONS, NONE),
            moved,
        ),
    )
    names = {"orders-id": "orders"}
    assert driven.described() == DescribedConsumers(GroupState.RECONCILING, 2, 2, "range", members, names)


def test_each_protocol_describes_its_own_groups() -> None:
    """A group of the other one does not exist for it, as in Kafka."""
    driven = Consumers()
    driven.client("a")
    assert driven.ask(Describe("g")) == Described(State.DEAD)
    assert driven.ask(DescribeConsumers("other")) == Answered(CoordinatorError.GROUP_ID_NOT_FOUND)
    classic = Consumers()
    Classic(classic, "c").join()
    assert classic.described() == Answered(CoordinatorError.GROUP_ID_NOT_FOUND)


def test_group_that_is_being_deleted_is_not_described() -> None:
    """Its deletion is on the way to the log."""
    driven = Consumers()
    driven.client("a").leave()
    driven.holds = True
    driven.ask(DeleteGroup("g"))
    assert driven.described() == Answered(CoordinatorError.GROUP_ID_NOT_FOUND)
