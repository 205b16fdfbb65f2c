"""The members of a group of the consumer protocol: what changes the group, and how each gets its partitions.

Rules (Kafka's)
* The epoch of the group grows when a member comes or goes, subscribes to other topics, or the topics change. Then the
  assignor computes a new target, and each member goes there with its own heartbeats (`reconciling`).
* A member that sends no heartbeat for the session timeout is removed, and so is one that does not revoke partitions
  within its rebalance timeout.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from ..group import Group
from ..turn import Turn
from .assigning import ASSIGNORS, Asking
from .converting import downgrade
from .reconciling import reconciled
from .state import ConsumerGroup, ConsumerMember
from .values import NONE, Current, Kind, MemberState, Partitions, Subscriber


def follow(turn: Turn, group: Group, member: ConsumerMember, said: Subscriber, owned: Partitions | None) -> None:
    """Take what a member says of itself, compute the target if something changed, and bring the member nearer to it."""
    consumer, writes = group.consumers, group.writes
    is_new = member.member_id not in consumer.members
    is_other = is_new or (said.topics, said.regex) != (member.said.topics, member.said.regex)
    if said != member.said or is_new:
        consumer.members[member.member_id] = member
        consumer.put(member, said)
        writes.mark(Kind.MEMBER, member.member_id)
    if is_other or consumer.seen is not turn.topics:
        _drop_regexes(group, consumer)
        if consumer.subscribe(turn.topics) or is_other:
            _raise_epoch(group, consumer)
    if consumer.epoch > consumer.target_epoch:
        _assign(turn, group, consumer)
    current = reconciled(consumer, member, owned)
    if current != member.current:
        own(turn, group, member, current)


def _raise_epoch(group: Group, consumer: ConsumerGroup) -> None:
    """The members, or what they subscribe to, are others: a new target is needed."""
    consumer.epoch += 1
    group.writes.mark(Kind.GROUP)


def _assign(turn: Turn, group: Group, consumer: ConsumerGroup) -> None:
    """Compute the target of the present epoch."""
    asking = [Asking(m.member_id, consumer.topics_of(m.said), m.target, m.place) for m in consumer.members.values()]
    targets = ASSIGNORS[consumer.assignor](asking, turn.topics)
    for member in consumer.members.values():
        target = targets.get(member.member_id, NONE)
        if target != member.target:
            member.target = target
            group.writes.mark(Kind.TARGET, member.member_id)
    consumer.target_epoch = consumer.epoch
    group.writes.mark(Kind.TARGET_EPOCH)


def own(turn: Turn, group: Group, member: ConsumerMember, current: Current) -> None:
    """Set what the member owns. It has its rebalance timeout to revoke the rest."""
    consumer = group.consumers
    consumer.own(member, current)
    group.writes.mark(Kind.CURRENT, member.member_id)
    has_to = current.state is MemberState.UNREVOKED_PARTITIONS and member.said.classic is None
    member.revoke_ms = turn.now_ms + member.said.rebalance_timeout_ms if has_to else None


def replace(group: Group, before: ConsumerMember, member_id: str) -> ConsumerMember:
    """The member under a new id, in epoch 0, with the target and the partitions of its former self."""
    consumer = group.consumers
    member = ConsumerMember(member_id, before.said, before.target)
    kept = attrs.evolve(before.current, epoch=0, previous_epoch=0)
    remove(group, before)
    consumer.members[member_id] = member
    consumer.put(member, before.said)
    consumer.own(member, kept)
    group.writes.mark_member(member_id)
    return member


def leave(turn: Turn, group: Group, members: Iterable[ConsumerMember]) -> None:
    """Remove members that left or whose time is over. If only members of the classic protocol remain, the group is one
    of that protocol from then on."""
    consumer = group.consumers
    gone = [member for member in members if consumer.members.get(member.member_id) is member]
    for member in gone:
        remove(group, member)
    if any(member.said.classic is None for member in gone):
        downgrade(turn, group)  # in the present epoch, which is the generation of the members that remain
    if gone and group.consumer is not None:
        _drop_regexes(group, consumer)
        consumer.subscribe(turn.topics)
        _raise_epoch(group, consumer)


def remove(group: Group, member: ConsumerMember) -> None:
    """Remove a member and its records."""
    consumer = group.consumers
    consumer.remove(member)
    group.writes.mark_member(member.member_id)


def restored(turn: Turn, consumer: ConsumerGroup) -> None:
    """The group was loaded from the log. Sessions begin now, and the time to revoke partitions."""
    for member in consumer.members.values():
        heard_of(turn, member)
        if member.current.state is MemberState.UNREVOKED_PARTITIONS and member.said.classic is None:
            member.revoke_ms = turn.now_ms + member.said.rebalance_timeout_ms


def heard_of(turn: Turn, member: ConsumerMember) -> None:
    """Begin a new session timeout for the member."""
    classic = member.said.classic
    default_ms = turn.settings.consumer_session_timeout_ms
    member.session_ms = turn.now_ms + (default_ms if classic is None else classic.session_timeout_ms)


def expire(turn: Turn, group: Group) -> None:
    """Remove the members whose time is over."""
    consumer = group.consumer
    if consumer is None:
        return
    late = [m for m in consumer.members.values() if min(m.due_ms, default=turn.now_ms + 1) <= turn.now_ms]
    leave(turn, group, late)


def _drop_regexes(group: Group, consumer: ConsumerGroup) -> None:
    for regex in consumer.unused_regexes():
        del consumer.regexes[regex]
        group.writes.mark(Kind.REGEX, regex)
