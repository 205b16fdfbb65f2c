"""Restore a group from its record: stable with all members, or empty. One that was written in a rebalance begins it."""

from __future__ import annotations

from . import rebalancing
from .group import Group, Member
from .records import StoredGroup
from .replies import State
from .turn import Turn


def restore(turn: Turn, group_id: str, stored: StoredGroup) -> Group:
    """The sessions of its members begin now."""
    group = Group(
        group_id,
        State.STABLE if stored.members else State.EMPTY,
        stored.state_ms,
        stored.generation,
        stored.protocol_type or None,
        stored.protocol,
        stored.leader,
    )
    for each in stored.members:
        member = Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            each.session_timeout_ms,
            each.session_timeout_ms if each.rebalance_timeout_ms < 0 else each.rebalance_timeout_ms,
            ((stored.protocol or "", each.subscription),),
            each.assignment,
            is_new=False,
        )
        turn.heard_of(member)
        group.add(member)
    group.topics = rebalancing.subscribed_topics(turn, group) if stored.members else frozenset()
    if stored.members and stored.leader is None:
        rebalancing.begin(turn, group)
    return group
