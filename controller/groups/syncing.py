"""SyncGroup, Heartbeat and LeaveGroup.

The leader's assignments are written before any member gets its own. So the members of a generation that a coordinator
loads from the log may already use their assignments.
"""

from __future__ import annotations

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered, Ticket
from . import rebalancing
from .group import Group
from .replies import Left, State, Synced
from .requests import Heartbeat, Leave, Leaving, Sync
from .turn import Turn, as_of_group, fence, fence_generation


@attrs.frozen(eq=False)
class _Assigned:
    """Waits until the assignments of this generation are written."""

    group: Group
    generation: int
    assignments: dict[str, bytes]

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Answer all members that wait for their assignment."""
        group = self.group
        if group.state is not State.COMPLETING or group.generation != self.generation:
            return
        if error:
            rebalancing.reset_assignments(turn, group, as_of_group(error))
            rebalancing.begin(turn, group)
            return
        for member in group.members.values():
            member.assignment = self.assignments.get(member.member_id, b"")
            answer = Synced(CoordinatorError.NONE, group.protocol_type, group.protocol, member.assignment)
            if turn.answer_sync(member, answer):
                turn.heard_of(member)
        turn.enter(group, State.STABLE)


def sync(turn: Turn, group: Group, asked: Sync, ticket: Ticket) -> None:
    """Answer with the assignment: at once in a stable group, otherwise when the leader has sent it."""
    error = _flaw(group, asked)
    if error:
        turn.reply(ticket, Synced(error))
        return
    member = group.members[asked.member_id]
    _came(group, member.member_id)
    if group.state is State.STABLE:
        turn.reply(ticket, Synced(CoordinatorError.NONE, group.protocol_type, group.protocol, member.assignment))
        turn.heard_of(member)
        return
    turn.answer_sync(member, Synced(CoordinatorError.REBALANCE_IN_PROGRESS))  # an older request of the same member
    member.syncing = ticket
    if group.leader == member.member_id:
        assignments = dict(asked.assignments)
        turn.append([group.record(assignments)], _Assigned(group, group.generation, assignments))


def _flaw(group: Group, asked: Sync) -> CoordinatorError:
    error = fence_generation(group, asked.member_id, asked.instance_id, asked.generation)
    if error:
        return error
    if asked.protocol_type is not None and asked.protocol_type != group.protocol_type:
        return CoordinatorError.INCONSISTENT_GROUP_PROTOCOL
    if asked.protocol is not None and asked.protocol != group.protocol:
        return CoordinatorError.INCONSISTENT_GROUP_PROTOCOL
    return CoordinatorError.REBALANCE_IN_PROGRESS if group.state is State.PREPARING else CoordinatorError.NONE


def _came(group: Group, member_id: str) -> None:
    group.unsynced.discard(member_id)
    if not group.unsynced:
        group.sync_deadline_ms = None


def heartbeat(turn: Turn, group: Group, asked: Heartbeat, ticket: Ticket) -> None:
    """Prolong the session; the answer tells of a rebalance."""
    error = fence_generation(group, asked.member_id, asked.instance_id, asked.generation)
    if not error:
        turn.heard_of(group.members[asked.member_id])
        error = CoordinatorError.REBALANCE_IN_PROGRESS if group.state is State.PREPARING else error
    turn.reply(ticket, Answered(error))


def leave(turn: Turn, group: Group, asked: Leave, ticket: Ticket) -> None:
    """Remove each member that exists; an unknown one does not affect the others."""
    turn.reply(ticket, Left(tuple((leaving, _leave(turn, group, leaving)) for leaving in asked.members)))


def _leave(turn: Turn, group: Group, leaving: Leaving) -> CoordinatorError:
    member_id = leaving.member_id
    if not member_id:
        found = None if leaving.instance_id is None else group.static.get(leaving.instance_id)
        if found is None:
            return CoordinatorError.UNKNOWN_MEMBER_ID
        member_id = found
    elif member_id in group.pending:
        group.remove(member_id)
        rebalancing.go_on(turn, group)
        return CoordinatorError.NONE
    else:
        error = fence(group, member_id, leaving.instance_id)
        if error:
            return error
    rebalancing.remove(turn, group, group.members[member_id])
    return CoordinatorError.NONE
