"""A group of the consumer protocol becomes a classic one when only classic members remain."""

from __future__ import annotations

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import ConsumerRecord, GroupState, Kind
from kedge.controller.groups.records import Committed, GroupRecord
from kedge.controller.groups.replies import Listed, State
from kedge.controller.groups.requests import Commit, ConsumerHeartbeat, DeleteOffsets, DescribeConsumers, Leave, Leaving
from kedge.controller.model.values import TopicPartition
from tests.groups.consumer.driving import OK, Classic, Client, Consumers, of
from tests.groups.consumer.states import same
from tests.groups.driving import REBALANCE_MS, SESSION_MS, TP

REJOIN = CoordinatorError.REBALANCE_IN_PROGRESS


def mixed(driven: Consumers, **fields: str) -> tuple[Classic, Client]:
    """A classic member, and one of the consumer protocol, which have two partitions each."""
    (c,) = driven.classics("c")
    a = driven.client("a", **fields)
    driven.reconcile(c, a)
    assert (len(c.owned), len(a.owned), c.epoch) == (2, 2, 2)
    return c, a


def test_group_is_downgraded_when_its_last_consumer_leaves() -> None:
    """It rebalances. Its generation is the epoch, and members keep their partitions until they have joined."""
    driven = Consumers()
    c, a = mixed(driven)
    assert a.leave().error is OK
    assert (driven.group.consumer, driven.group.state, driven.group.generation) == (None, State.PREPARING, 2)
    member = driven.group.members[c.member_id]
    assert driven.coordinator.codec.assigned(member.assignment) == frozenset({("orders", 0), ("orders", 1)})
    assert (member.client_id, member.session_timeout_ms, member.rebalance_timeout_ms) == ("c", SESSION_MS, REBALANCE_MS)
    assert driven.coordinator.listed() == [Listed("g", "consumer", State.PREPARING)]
    assert driven.beat(c.member_id, 2) is REJOIN
    answer = c.join()
    assert (answer.error, answer.generation, answer.leader, answer.protocol) == (OK, 3, c.member_id, "range")


def test_downgraded_group_is_the_same_after_a_restart() -> None:
    """Its records of the consumer protocol are deleted in the same append, also that of an expression. Its members
    rebalance, as their partitions are not all."""
    driven = Consumers()
    c, a = mixed(driven, regex="o.*")
    a.leave()
    assert ConsumerRecord("g", Kind.REGEX, "o.*") in driven.log
    later = Consumers(driven.log)
    assert (later.group.consumer, later.group.state, later.group.generation) == (None, State.PREPARING, 2)
    assert later.beat(c.member_id, 2) is REJOIN
    stored = later.group.record().stored
    assert stored is not None
    assert [member.member_id for member in stored.members] == [c.member_id]
    assert later.ask(DescribeConsumers("g")).error is CoordinatorError.GROUP_ID_NOT_FOUND


def test_downgraded_group_keeps_offsets_of_its_topics() -> None:
    """Those of others may be deleted."""
    driven = Consumers(topics={"orders": 4, "payments": 1})
    _c, a = mixed(driven)
    a.leave()
    paid = TopicPartition("payments", 0)
    expected = {TP: CoordinatorError.GROUP_SUBSCRIBED_TO_TOPIC, paid: OK}
    assert driven.ask(DeleteOffsets("g", (TP, paid))).errors == expected


def test_group_is_downgraded_when_the_last_session_ends() -> None:
    """Of a member of the consumer protocol."""
    driven = Consumers(consumer_session_timeout_ms=5_000)
    c, _a = mixed(driven)
    driven.wait(5_000)
    assert (driven.group.consumer, list(driven.group.members)) == (None, [c.member_id])
    driven.wait(SESSION_MS)
    assert (driven.group.state, driven.group.members) == (State.EMPTY, {})


def test_group_is_downgraded_when_the_last_hangs() -> None:
    """Like one that leaves."""
    driven = Consumers(consumer_session_timeout_ms=300_000)
    (c,) = driven.classics("c")
    driven.client("z", rebalance_timeout_ms=1_000)
    c.beat()
    c.beat()
    driven.heartbeat("z", 2)
    d = Classic(driven, "d")
    d.join()
    answer = driven.heartbeat("z", 2)
    assert len(answer.assigned) == 1
    driven.wait(1_000)
    assert sorted(driven.group.members) == sorted([c.member_id, d.member_id])


def test_group_is_downgraded_by_a_static_member() -> None:
    """It joins with the classic protocol, and is a member of the classic group at once."""
    driven = Consumers()
    c, a = mixed(driven, instance_id="i")
    back = Classic(driven, "b", instance_id="i")
    assert back.join().error is OK
    assert (driven.group.consumer, sorted(driven.group.members)) == (None, sorted([c.member_id, back.member_id]))
    assert driven.group.static == {"i": back.member_id}
    assert driven.beat(back.member_id, driven.group.generation, "i") is REJOIN
    assert a.beat().error in {CoordinatorError.UNKNOWN_MEMBER_ID, CoordinatorError.FENCED_INSTANCE_ID}


def test_group_is_not_downgraded_while_consumers_remain() -> None:
    """Nor when a classic member leaves."""
    driven = Consumers()
    c, a = mixed(driven)
    b = driven.client("b")
    b.leave()
    assert driven.consumer.state is GroupState.ASSIGNING
    assert c.leave() is OK
    driven.reconcile(a)
    assert a.owned == of("orders", 0, 1, 2, 3)


def test_empty_group_is_not_downgraded() -> None:
    """It takes the protocol of the next member. Generations go on from its epoch."""
    driven = Consumers()
    a = driven.client("a")
    driven.ask(Commit("g", {TP: Committed(5)}, 1, "a"))
    a.leave()
    assert driven.consumer.state is GroupState.EMPTY
    c = Classic(driven, "c")
    assert (c.join().error, c.epoch, driven.group.consumer) == (OK, 3, None)
    assert driven.committed() == 5
    c.sync({c.member_id: b""})
    later = Consumers(driven.log)
    assert (later.group.consumer, list(later.group.members), later.group.generation) == (None, [c.member_id], 3)


def test_assignments_of_a_leader_are_written_last() -> None:
    """Also if the group still writes that it was one of the consumer protocol."""
    driven = Consumers()
    driven.client("a")
    driven.holds = True
    driven.heartbeat("a", -1)
    c = Classic(driven, "c")
    c.join()
    assert c.sync({c.member_id: driven.coordinator.codec.assignment(frozenset({("orders", 1)}))}) is None
    driven.settle()
    assert driven.heard["c"].error is OK
    same(driven, Consumers(driven.log))


def test_refused_join_leaves_an_empty_group_alone() -> None:
    """The group keeps its protocol."""
    driven = Consumers()
    driven.client("a").leave()
    assert Classic(driven, "c").join(session_timeout_ms=1).error is CoordinatorError.INVALID_SESSION_TIMEOUT
    assert driven.consumer.epoch == 2


def test_all_members_may_go_at_once() -> None:
    """The group is empty then, and not downgraded."""
    driven = Consumers(consumer_session_timeout_ms=SESSION_MS)
    mixed(driven)
    driven.wait(SESSION_MS)
    assert driven.consumer.state is GroupState.EMPTY


def test_protocol_changes_there_and_back() -> None:
    """While one member remains."""
    driven = Consumers()
    c, a = mixed(driven)
    for _ in range(3):
        a.leave()
        c.join()
        c.sync({c.member_id: driven.coordinator.codec.assignment(frozenset({("orders", 0)}))})
        assert (driven.group.consumer, c.owned) == (None, of("orders", 0))
        driven.reconcile(c, a)
        assert len(c.owned | a.owned) == 4
    assert driven.consumer.epoch == c.epoch == a.epoch


def test_record_of_the_classic_group_is_written() -> None:
    """With its members, and once."""
    driven = Consumers()
    _c, a = mixed(driven)
    before = len(driven.log)
    a.leave()
    written = [record for record in driven.log[before:] if isinstance(record, GroupRecord)]
    assert written == [driven.group.record()]
    assert driven.ask(ConsumerHeartbeat("g", "a", 2)).error is CoordinatorError.UNKNOWN_MEMBER_ID
    assert driven.ask(Leave("g", (Leaving("a"),))).members[0][1] is CoordinatorError.UNKNOWN_MEMBER_ID
