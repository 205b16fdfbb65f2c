"""ListGroups, DescribeGroups and DeleteGroups."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered, Ticket
from .consumer.values import ConsumerRecord, Kind, Topics
from .consumer.writes import Mark
from .group import CONSUMER, Group, Member
from .records import GroupRecord, OffsetRecord, Record
from .replies import Described, DescribedConsumer, DescribedConsumers, DescribedMember, Listed, State
from .turn import Turn


def listed(group: Group) -> Listed:
    """The row of a group."""
    if group.consumer is not None:
        return Listed(group.group_id, CONSUMER, group.consumer.state)
    return Listed(group.group_id, group.protocol_type or "", group.state)


def described_consumers(group: Group | None, topics: Topics) -> DescribedConsumers | Answered:
    """A group of the consumer protocol for tools."""
    consumer = None if group is None or group.state is State.DEAD else group.consumer
    if consumer is None:
        return Answered(CoordinatorError.GROUP_ID_NOT_FOUND)
    members = tuple(DescribedConsumer(m.member_id, m.said, m.current, m.target) for m in consumer.members.values())
    named = (consumer.state, consumer.epoch, consumer.target_epoch, consumer.assignor)
    return DescribedConsumers(*named, members, topics.names)


def described(group: Group | None) -> Described:
    """The group for tools. Only a stable group shows metadata and assignments."""
    if group is None or group.state is State.DEAD or group.consumer is not None:
        return Described(State.DEAD)
    protocol = group.protocol or "" if group.state is State.STABLE else ""
    members = tuple(_member(member, protocol) for member in group.members.values())
    return Described(group.state, group.protocol_type or "", protocol, members)


def _member(member: Member, protocol: str) -> DescribedMember:
    return DescribedMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.metadata(protocol),
        member.assignment if protocol else b"",
    )


@attrs.frozen(eq=False)
class _Deleting:
    """Waits until the deletion of a group is written."""

    groups: dict[str, Group]
    group: Group
    ticket: Ticket
    marked: Mapping[Mark, None]

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Remove the group; with an error it stays, empty as before."""
        if error:
            turn.enter(self.group, State.EMPTY)
            self.group.writes.marked.update(self.marked)
        else:
            self.groups.pop(self.group.group_id, None)
        turn.reply(self.ticket, Answered(error))


def delete(turn: Turn, groups: dict[str, Group], group: Group, ticket: Ticket) -> None:
    """Delete a group without members, with its committed offsets."""
    if group.has_members:
        turn.reply(ticket, Answered(CoordinatorError.NON_EMPTY_GROUP))
        return
    partitions = dict.fromkeys((*group.offsets, *group.unstable))
    records: list[Record] = [OffsetRecord(group.group_id, tp, None) for tp in partitions]
    records.append(GroupRecord(group.group_id, None))
    if group.consumer is not None:
        group.writes.mark(Kind.GROUP)
        group.writes.mark(Kind.TARGET_EPOCH)
    marked = group.writes.taken()
    records += [ConsumerRecord(group.group_id, kind, name) for kind, name in marked if kind is not Kind.CLASSIC]
    turn.enter(group, State.DEAD)
    turn.append(records, _Deleting(groups, group, ticket, marked))
