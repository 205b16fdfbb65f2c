"""The handling of one event by the coordinator: the time, and the answers and appends that result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from .group import Group, Member, Ticket
from .records import Record
from .replies import GroupError, Joined, Reply, State, Synced
from .requests import GroupSettings


class Appending(Protocol):
    """A change of a group that waits for an append."""

    @property
    def group(self) -> Group:
        """The group of the records."""

    def done(self, turn: Turn, error: GroupError) -> None:
        """The records are committed, or the append failed with `error`."""


@attrs.frozen(eq=False)
class Unawaited:
    """An append whose result changes nothing: if it fails, the log keeps the former records."""

    group: Group

    def done(self, turn: Turn, error: GroupError) -> None:
        """Does nothing."""


@attrs.define(eq=False)
class Turn:
    """`replies`: tickets and their answers, to send now. `appends`: records to append in this order, each with the
    change that waits for it. `subscribed`: the topics in the metadata of a member."""

    now_ms: int
    settings: GroupSettings
    subscribed: Callable[[bytes], frozenset[str] | None]
    next_number: Callable[[], int]
    replies: list[tuple[Ticket, Reply]] = attrs.field(factory=list)
    appends: list[tuple[int, Sequence[Record], Appending]] = attrs.field(factory=list)

    def reply(self, ticket: Ticket, answer: Reply) -> None:
        self.replies.append((ticket, answer))

    def append(self, records: Sequence[Record], waiting: Appending) -> int:
        """Append records; returns the number of the append."""
        number = self.next_number()
        self.appends.append((number, records, waiting))
        return number

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
        GroupError.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        group.known_members() if shows_members else (),
        skips_assignment,
    )


def as_of_group(error: GroupError) -> GroupError:
    """The error of an append, as members of a group may get it."""
    if error is GroupError.REQUEST_TIMED_OUT:
        return GroupError.REBALANCE_IN_PROGRESS
    return GroupError.UNKNOWN_SERVER_ERROR if error is GroupError.INVALID_COMMIT_OFFSET_SIZE else error


def fence(group: Group, member_id: str, instance_id: str | None) -> GroupError:
    """The error of a client that is not a member, or whose instance id another member has."""
    if instance_id is not None:
        current = group.static.get(instance_id)
        if current is None:
            return GroupError.UNKNOWN_MEMBER_ID
        if current != member_id:
            return GroupError.FENCED_INSTANCE_ID
    return GroupError.NONE if member_id in group.members else GroupError.UNKNOWN_MEMBER_ID


def fence_generation(group: Group, member_id: str, instance_id: str | None, generation: int) -> GroupError:
    """As `fence`; also for a client with another generation."""
    error = fence(group, member_id, instance_id)
    if error or generation == group.generation:
        return error
    return GroupError.ILLEGAL_GENERATION
