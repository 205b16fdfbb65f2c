"""JoinGroup: new members, members that join again, and static members that were restarted.

Rules (Kafka's)
* A dynamic member without an id gets one, and must send JoinGroup again with it (version 4 and later). So a lost answer
  leaves no member behind. The id is valid for a session timeout, here for a minute at most: a client uses it at once.
* A static member without an id replaces the member with the same instance id, which is fenced. In a stable group this
  causes no rebalance if the elected protocol stays the same. It is written before it is answered.
* A group takes no more members than `members_max`. While it rebalances, those count that have joined again, so that a
  group that is too large loses the last of them. Here, ids that were given out and not used yet count, too, when a
  further one would be given out; they take no room from members.
* In a stable group a member that joins again with the same metadata gets the current generation. The leader, or a
  member with other metadata, starts a rebalance.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Ticket
from . import rebalancing
from .group import Group, Member
from .replies import Joined, State, Synced
from .requests import Join
from .turn import Turn, as_of_group, fence, joined

NEW_MEMBER_MS: Final = 300_000
"""How long a new member may wait for its first generation."""
UNUSED_ID_MS: Final = 60_000
"""How long an id that was given out is valid, at most."""


def join(turn: Turn, group: Group, asked: Join, ticket: Ticket) -> None:
    """Add the member to the next generation, or refuse it."""
    error = flaw(turn, group, asked)
    if error:
        turn.reply(ticket, Joined(error, asked.member_id if error is CoordinatorError.INVALID_SESSION_TIMEOUT else ""))
    elif not _has_room(turn, group, asked.member_id):
        group.remove(asked.member_id)
        turn.reply(ticket, Joined(CoordinatorError.GROUP_MAX_SIZE_REACHED, ""))
    elif not asked.member_id:
        _new(turn, group, asked, ticket)
    elif asked.member_id in group.pending and asked.instance_id is None:
        _add(turn, group, asked, asked.member_id, ticket)
    else:
        _again(turn, group, asked, ticket)
    rebalancing.go_on(turn, group)


def flaw(turn: Turn, group: Group, asked: Join) -> CoordinatorError:
    """Why no member may join like that."""
    settings = turn.settings
    if not settings.session_timeout_min_ms <= asked.session_timeout_ms <= settings.session_timeout_max_ms:
        return CoordinatorError.INVALID_SESSION_TIMEOUT
    if not group.supports(asked.protocol_type, {name for name, _ in asked.protocols}):
        return CoordinatorError.INCONSISTENT_GROUP_PROTOCOL
    return CoordinatorError.NONE


def _has_room(turn: Turn, group: Group, member_id: str) -> bool:
    """Whether the group has room for a member with this id, which may be one of its members."""
    if group.state is State.EMPTY:
        return True
    members = _counted(group)
    return member_id in members or len(members) < turn.settings.members_max


def _counted(group: Group) -> Collection[str]:
    """The ids of the members that take room."""
    if group.state is not State.PREPARING:
        return group.members
    return [member.member_id for member in group.members.values() if member.joining is not None]


def _new(turn: Turn, group: Group, asked: Join, ticket: Ticket) -> None:
    if asked.instance_id is not None:
        new_id = f"{asked.instance_id}-{asked.fresh_id}"
        old_id = group.static.get(asked.instance_id)
        if old_id is None:
            _add(turn, group, asked, new_id, ticket)
        else:
            _replace(turn, group, asked, (old_id, new_id), ticket)
        return
    new_id = f"{asked.client_id}-{asked.fresh_id}"
    if not asked.requires_member_id:
        _add(turn, group, asked, new_id, ticket)
    elif len(_counted(group)) + len(group.pending) >= turn.settings.members_max:
        turn.reply(ticket, Joined(CoordinatorError.GROUP_MAX_SIZE_REACHED, ""))
    else:
        group.pending[new_id] = turn.now_ms + min(asked.session_timeout_ms, UNUSED_ID_MS)
        turn.reply(ticket, Joined(CoordinatorError.MEMBER_ID_REQUIRED, new_id))


def _add(turn: Turn, group: Group, asked: Join, member_id: str, ticket: Ticket) -> None:
    if not group.members:
        group.protocol_type = asked.protocol_type
    member = Member(
        member_id,
        asked.instance_id,
        asked.client_id,
        asked.client_host,
        asked.session_timeout_ms,
        asked.rebalance_timeout_ms,
        asked.protocols,
        joining=ticket,
        deadline_ms=turn.now_ms + NEW_MEMBER_MS,
    )
    if group.state is State.PREPARING and group.generation == 0:
        group.is_member_added = True
    group.add(member)
    rebalancing.begin(turn, group)


def _again(turn: Turn, group: Group, asked: Join, ticket: Ticket) -> None:
    error = fence(group, asked.member_id, asked.instance_id)
    if error:
        turn.reply(ticket, Joined(error, asked.member_id))
        return
    member = group.members[asked.member_id]
    is_same = member.protocols == asked.protocols
    leads = group.leader == member.member_id
    if group.state is State.PREPARING or not is_same or (leads and group.state is State.STABLE):
        _update(turn, member, asked, ticket)
        rebalancing.begin(turn, group)
    else:
        shows_members = leads and group.state is State.COMPLETING
        turn.reply(ticket, joined(group, member, shows_members=shows_members))


def _update(turn: Turn, member: Member, asked: Join, ticket: Ticket) -> None:
    """Take over the member's protocols and timeouts. An earlier Join of it that still waits is refused."""
    turn.answer_join(member, Joined(CoordinatorError.REBALANCE_IN_PROGRESS, member.member_id))
    member.change(asked.protocols, asked.session_timeout_ms, asked.rebalance_timeout_ms)
    member.joining = ticket


# --- static members that come back


@attrs.frozen(eq=False)
class _Replaced:
    """Waits until the group is written with the new id. `before`: the member's former protocols and timeouts."""

    group: Group
    member: Member
    ticket: Ticket
    old_id: str
    new_id: str
    before: tuple[tuple[tuple[str, bytes], ...], int, int]
    skips_assignment: bool

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Answer the member; undo the change if it could not be written."""
        group, member = self.group, self.member
        if group.members.get(self.new_id) is not member or member.joining is not self.ticket:
            return  # it left, was replaced again or is in a later generation, and was answered then
        if error:
            turn.answer_join(member, Joined(as_of_group(error), ""))
            group.rename(self.new_id, self.old_id)
            member.change(*self.before)
            return
        leads = group.leader == member.member_id
        skips = leads and self.skips_assignment
        answer = joined(group, member, shows_members=skips, skips_assignment=skips)
        # A leader that cannot be asked to skip its assignment is answered as a follower of its former self.
        turn.answer_join(member, answer if skips or not leads else attrs.evolve(answer, leader=self.old_id))


def _replace(turn: Turn, group: Group, asked: Join, ids: tuple[str, str], ticket: Ticket) -> None:
    old_id, new_id = ids
    member = group.members[old_id]
    turn.answer_join(member, Joined(CoordinatorError.FENCED_INSTANCE_ID, old_id))
    turn.answer_sync(member, Synced(CoordinatorError.FENCED_INSTANCE_ID))
    before = (member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms)
    group.rename(old_id, new_id)
    _update(turn, member, asked, ticket)
    turn.heard_of(member)
    if group.state is State.STABLE and group.elected() == group.protocol:
        turn.append([group.record()], _Replaced(group, member, ticket, *ids, before, asked.skips_assignment))
    else:
        rebalancing.begin(turn, group)
