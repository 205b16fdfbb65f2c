"""Groups of the classic protocol to the consumer protocol and back, while their members go on (KIP-848).

Rules (Kafka's, with its default `group.consumer.migration.policy=bidirectional`)
* A member of the consumer protocol that joins a group of classic consumers changes the protocol of the group. Members
  keep their partitions; those that wait in a rebalance have to join again.
* When the last member of the consumer protocol goes and classic ones remain, the group becomes classic and rebalances.
* A group without members takes the protocol of the next member. Committed offsets remain in each case.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...coordinators import CoordinatorError
from .. import joining, rebalancing
from ..group import CONSUMER, Group, Member
from ..replies import Joined, State, Synced
from ..requests import ConsumerHeartbeat, Join
from ..turn import Turn
from .state import ConsumerGroup, ConsumerMember
from .values import ClassicProtocols, ConsumerRecord, Current, Kind, Subscriber


def make_room(turn: Turn, group: Group, asked: Join) -> None:
    """A group without members takes the classic protocol with a member that joins."""
    if group.consumer is not None and not group.has_members and not joining.flaw(turn, group, asked):
        epoch = group.consumer.epoch
        dropped(group)
        group.generation = epoch  # generations never go back


def of_consumers(turn: Turn, group: Group, asked: ConsumerHeartbeat) -> ConsumerGroup | CoordinatorError:
    """The group as one of the consumer protocol, or why the member cannot be in it. A classic group stays one."""
    if group.consumer is not None:
        return group.consumer
    if asked.epoch != 0:
        # The member may have been removed, so that only classic ones remained: it can join again.
        is_of_consumers = group.protocol_type in {None, CONSUMER}
        return CoordinatorError.UNKNOWN_MEMBER_ID if is_of_consumers else CoordinatorError.GROUP_ID_NOT_FOUND
    consumer = ConsumerGroup(group.generation, target_epoch=group.generation)
    for classic in group.members.values():
        member = _consumer(turn, group, classic)
        if member is None or group.protocol_type != CONSUMER:
            return CoordinatorError.GROUP_ID_NOT_FOUND
        current, member.current = member.current, Current()
        consumer.members[member.member_id] = member
        consumer.put(member, member.said)
        consumer.own(member, current)
    return consumer


def upgrade(turn: Turn, group: Group, consumer: ConsumerGroup) -> None:
    """Change the classic group to this one."""
    for classic in group.members.values():
        turn.answer_join(classic, Joined(CoordinatorError.REBALANCE_IN_PROGRESS, classic.member_id))
        turn.answer_sync(classic, Synced(CoordinatorError.REBALANCE_IN_PROGRESS))
    group.clear()
    group.consumer = consumer
    _mark(group, consumer)


def _consumer(turn: Turn, group: Group, member: Member) -> ConsumerMember | None:
    """None if what it brings cannot be read."""
    name = group.protocol or member.protocols[0][0]
    subscription = turn.codec.subscription(member.metadata(name))
    assigned = turn.codec.assigned(member.assignment)
    if subscription is None or assigned is None:
        return None
    said = Subscriber(
        member.client_id,
        member.client_host,
        subscription.topics,
        instance_id=member.instance_id,
        rack=subscription.rack,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, member.protocols),
    )
    partitions = turn.topics.by_names(assigned)
    current = Current(group.generation, group.generation, assigned=partitions)
    session_ms = turn.now_ms + member.session_timeout_ms
    return ConsumerMember(member.member_id, said, partitions, current, session_ms)


def downgrade(turn: Turn, group: Group) -> None:
    """Make the group a classic one that rebalances, if it has members, and none of the consumer protocol."""
    consumer = group.consumers
    if not consumer.members or any(member.said.classic is None for member in consumer.members.values()):
        return
    dropped(group)
    group.generation = consumer.epoch
    group.protocol_type = CONSUMER
    for member in consumer.members.values():
        group.add(_classic(turn, member))
    group.protocol = group.elected()
    group.topics = rebalancing.subscribed_topics(turn, group)
    turn.enter(group, State.STABLE)
    rebalancing.begin(turn, group)


def dropped(group: Group) -> None:
    """The group is none of the consumer protocol any more."""
    _mark(group, group.consumers)
    group.consumer = None


def _classic(turn: Turn, member: ConsumerMember) -> Member:
    said, classic = member.said, member.said.classic
    assert classic is not None
    made = Member(
        member.member_id,
        said.instance_id,
        said.client_id,
        said.client_host,
        classic.session_timeout_ms,
        said.rebalance_timeout_ms,
        classic.protocols,
        turn.codec.assignment(turn.topics.named(member.current.assigned)),
        is_new=False,
    )
    turn.heard_of(made)
    return made


def restore(group: Group, records: Sequence[ConsumerRecord]) -> None:
    """Restore the group from these records; its record of the classic protocol was taken before. Both are in a log that
    ends within a change of the protocol: the one with the higher epoch is the later one, and the other is deleted."""
    consumer = ConsumerGroup()
    consumer.take(records)
    if consumer.epoch < group.generation:
        _mark(group, consumer)
    else:
        group.clear()
        group.consumer = consumer


def _mark(group: Group, consumer: ConsumerGroup) -> None:
    """All records of the group are to be written, or deleted."""
    for kind in (Kind.CLASSIC, Kind.GROUP, Kind.TARGET_EPOCH):
        group.writes.mark(kind)
    for member_id in consumer.members:
        group.writes.mark_member(member_id)
    for regex in consumer.regexes:
        group.writes.mark(Kind.REGEX, regex)
