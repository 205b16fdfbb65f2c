"""The handling of one event by the coordinator: the time, and the answers and appends that result."""

from __future__ import annotations

from typing import Protocol

import attrs

from ..coordinators import CoordinatorError, turn
from .consumer.values import Topics
from .group import Group, Member
from .records import MemberCodec
from .replies import Joined, State, Synced
from .requests import GroupSettings


class Appending(Protocol):
    """A change of a group that waits for an append."""

    @property
    def group(self) -> Group:
        """The group of the records."""

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """The records are committed, or the append failed with `error`."""


@attrs.frozen(eq=False)
class Unawaited:
    """An append whose result changes nothing: if it fails, the log keeps the former records."""

    group: Group

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Does nothing."""


@attrs.define(eq=False)
class Turn(turn.Turn[Appending]):
    """`topics`: those of the cluster."""

    settings: GroupSettings
    codec: MemberCodec
    topics: Topics

    # --- what several kinds of event do to a group

    def enter(self, group: Group, state: State) -> None:
        group.state, group.state_ms = state, self.now_ms

    def heard_of(self, member: Member) -> None:
        """Begin a new session timeout for the member."""
        member.deadline_ms = self.now_ms + member.session_timeout_ms

    def answer_join(self, member: Member, answer: Joined) -> None:
        """Answer the member's Join, if one waits."""
        if member.joining is not None:
            ticket, member.joining = member.joining, None
            self.reply(ticket, answer)

    def answer_sync(self, member: Member, answer: Synced) -> bool:
        """Answer the member's Sync, if one waits; returns whether one did."""
        ticket, member.syncing = member.syncing, None
        if ticket is not None:
            self.reply(ticket, answer)
        return ticket is not None


def joined(group: Group, member: Member, *, shows_members: bool, skips_assignment: bool = False) -> Joined:
    """The answer to a Join of a member of the current generation."""
    return Joined(
        CoordinatorError.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        group.known_members() if shows_members else (),
        skips_assignment,
    )


def as_of_group(error: CoordinatorError) -> CoordinatorError:
    """The error of an append, as members of a group may get it."""
    if error is CoordinatorError.REQUEST_TIMED_OUT:
        return CoordinatorError.REBALANCE_IN_PROGRESS
    return CoordinatorError.UNKNOWN_SERVER_ERROR if error is CoordinatorError.INVALID_COMMIT_OFFSET_SIZE else error


def fence(group: Group, member_id: str, instance_id: str | None) -> CoordinatorError:
    """The error of a client that is not a member, or whose instance id another member has."""
    if instance_id is not None:
        current = group.static.get(instance_id)
        if current is None:
            return CoordinatorError.UNKNOWN_MEMBER_ID
        if current != member_id:
            return CoordinatorError.FENCED_INSTANCE_ID
    return CoordinatorError.NONE if member_id in group.members else CoordinatorError.UNKNOWN_MEMBER_ID


def fence_generation(group: Group, member_id: str, instance_id: str | None, generation: int) -> CoordinatorError:
    """As `fence`; also for a client with another generation."""
    error = fence(group, member_id, instance_id)
    if error or generation == group.generation:
        return error
    return CoordinatorError.ILLEGAL_GENERATION
