"""Rebalances: the way from one generation of a group to the next.

Rules (Kafka's)
* A rebalance ends when every member has joined again and every id that was given out was used, or after the longest
  rebalance timeout of the members. The first rebalance of a group ends after the initial delay. New members prolong
  that delay, up to their rebalance timeout.
* Dynamic members that did not join again are removed; static ones stay until their session ends. If the leader did not
  join again, another member becomes the leader.
* A member that sends no SyncGroup within the rebalance timeout is removed.
"""

from __future__ import annotations

from ..coordinators import CoordinatorError
from .group import CONSUMER, Group, Member
from .replies import Joined, State, Synced
from .turn import Turn, Unawaited, joined


def begin(turn: Turn, group: Group) -> None:
    """Start a rebalance, unless one is running."""
    if group.state not in {State.EMPTY, State.STABLE, State.COMPLETING}:
        return
    if group.state is State.COMPLETING:
        reset_assignments(turn, group, CoordinatorError.REBALANCE_IN_PROGRESS)
    group.unsynced, group.sync_deadline_ms = set(), None
    timeout_ms = group.rebalance_timeout_ms
    if group.state is State.EMPTY:
        delay_ms = turn.settings.initial_rebalance_delay_ms
        group.join_deadline_ms = turn.now_ms + delay_ms
        group.initial_left_ms = max(timeout_ms - delay_ms, 0)
    else:
        group.join_deadline_ms, group.initial_left_ms = turn.now_ms + timeout_ms, None
    group.is_member_added = False
    turn.enter(group, State.PREPARING)


def go_on(turn: Turn, group: Group) -> None:
    """End the rebalance if no member is missing, or its time is over."""
    if group.state is not State.PREPARING or group.join_deadline_ms is None:
        return
    is_over = group.join_deadline_ms <= turn.now_ms
    if group.initial_left_ms is None:
        if is_over or group.has_all_joined:
            complete(turn, group)
    elif is_over and group.is_member_added and group.initial_left_ms > 0 and turn.settings.initial_rebalance_delay_ms:
        delay_ms = min(turn.settings.initial_rebalance_delay_ms, group.initial_left_ms)
        group.is_member_added = False
        group.initial_left_ms -= delay_ms
        group.join_deadline_ms = turn.now_ms + delay_ms
    elif is_over:
        complete(turn, group)


def complete(turn: Turn, group: Group) -> None:
    """Start the next generation, with the members that joined."""
    for member in [m for m in group.members.values() if m.joining is None and m.instance_id is None]:
        group.remove(member.member_id)
    if group.members and not _has_leader(group):
        group.join_deadline_ms = turn.now_ms + group.rebalance_timeout_ms  # only static members that are away
        group.initial_left_ms = None
        return
    group.join_deadline_ms = group.initial_left_ms = None
    group.generation += 1
    group.unsynced = set()
    if not group.members:
        group.protocol, group.topics = None, frozenset() if group.protocol_type == CONSUMER else None
        turn.enter(group, State.EMPTY)
        turn.append([group.record()], Unawaited(group))
        return
    group.protocol = group.elected()
    group.topics = subscribed_topics(turn, group)
    turn.enter(group, State.COMPLETING)
    group.sync_deadline_ms = turn.now_ms + group.rebalance_timeout_ms
    for member in group.members.values():
        turn.answer_join(member, joined(group, member, shows_members=member.member_id == group.leader))
        turn.heard_of(member)
        member.is_new = False
        group.unsynced.add(member.member_id)


def _has_leader(group: Group) -> bool:
    """Whether a member that joined leads. If the leader did not join, another one becomes the leader."""
    if group.leader is not None and group.members[group.leader].joining is not None:
        return True
    group.leader = next((m.member_id for m in group.members.values() if m.joining is not None), group.leader)
    return group.leader is not None and group.members[group.leader].joining is not None


def subscribed_topics(turn: Turn, group: Group) -> frozenset[str] | None:
    """The topics that the members of a group of consumers subscribe to; None if unknown."""
    if group.protocol_type != CONSUMER or group.protocol is None:
        return None
    found = [turn.codec.subscription(member.metadata(group.protocol)) for member in group.members.values()]
    known = [subscription.topics for subscription in found if subscription is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


def reset_assignments(turn: Turn, group: Group, error: CoordinatorError) -> None:
    """Clear all assignments; a Sync that waits gets the error."""
    for member in group.members.values():
        member.assignment = b""
        if turn.answer_sync(member, Synced(error)):
            turn.heard_of(member)


def remove(turn: Turn, group: Group, member: Member) -> None:
    """Remove a member that left or whose session ended, and start a rebalance."""
    turn.answer_join(member, Joined(CoordinatorError.UNKNOWN_MEMBER_ID, ""))
    turn.answer_sync(member, Synced(CoordinatorError.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)
    if group.state in {State.STABLE, State.COMPLETING}:
        begin(turn, group)
    go_on(turn, group)


def expire(turn: Turn, group: Group) -> None:
    """Handle the deadlines of the group that are due."""
    now_ms = turn.now_ms
    for member_id in [i for i, ms in group.pending.items() if ms <= now_ms]:
        group.remove(member_id)
    for member in list(group.members.values()):
        if member.deadline_ms is None or member.deadline_ms > now_ms or member.member_id not in group.members:
            continue
        if member.is_new or not member.waits:
            remove(turn, group, member)
        else:
            member.deadline_ms = None  # it waits for others, and gets a whole session when they are there
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
        _expire_syncs(turn, group)
    go_on(turn, group)


def _expire_syncs(turn: Turn, group: Group) -> None:
    group.sync_deadline_ms = None
    if group.state not in {State.COMPLETING, State.STABLE} or not group.unsynced:
        return
    for member_id in list(group.unsynced):
        member = group.members.get(member_id)
        if member is not None:
            turn.answer_join(member, Joined(CoordinatorError.UNKNOWN_MEMBER_ID, ""))
        group.remove(member_id)
    begin(turn, group)
