"""ListGroups, DescribeGroups and DeleteGroups."""

from __future__ import annotations

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered, Ticket
from .group import Group, Member
from .records import GroupRecord, OffsetRecord, Record
from .replies import Described, DescribedMember, State
from .turn import Turn


def described(group: Group | None) -> Described:
    """The group for tools. Only a stable group shows metadata and assignments."""
    if group is None or group.state is State.DEAD:
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
        member.metadata(protocol) if protocol else b"",
        member.assignment if protocol else b"",
    )


@attrs.frozen(eq=False)
class _Deleting:
    """Waits until the deletion of a group is written."""

    groups: dict[str, Group]
    group: Group
    ticket: Ticket

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Remove the group; with an error it stays, empty as before."""
        if error:
            turn.enter(self.group, State.EMPTY)
        else:
            self.groups.pop(self.group.group_id, None)
        turn.reply(self.ticket, Answered(error))


def delete(turn: Turn, groups: dict[str, Group], group: Group, ticket: Ticket) -> None:
    """Delete a group without members, with its committed offsets."""
    if group.state is not State.EMPTY:
        turn.reply(ticket, Answered(CoordinatorError.NON_EMPTY_GROUP))
        return
    partitions = dict.fromkeys((*group.offsets, *group.unstable))
    records: list[Record] = [OffsetRecord(group.group_id, tp, None) for tp in partitions]
    records.append(GroupRecord(group.group_id, None))
    turn.enter(group, State.DEAD)
    turn.append(records, _Deleting(groups, group, ticket))
