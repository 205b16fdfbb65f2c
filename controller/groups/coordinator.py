"""The coordinator of the groups in one partition of `__consumer_offsets`, as a state machine.

Rules (those of `kedge.controller.coordinators.machine`, and)
* Until it is loaded every request gets COORDINATOR_LOAD_IN_PROGRESS, except that a Heartbeat gets 0 and a Sync
  REBALANCE_IN_PROGRESS, as in Kafka.
* A request by which groups would hold more memory than they may gets COORDINATOR_NOT_AVAILABLE
  (`held`), and one with more for a member than any may have gets INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

import attrs

from ..coordinators import CoordinatorError, Machine, Output
from ..coordinators.held import Held
from ..coordinators.turn import Ticket
from ..model.logs import NO_PRODUCER
from ..model.values import TopicPartition
from . import expiring, growing, joining, listing, offsets, rebalancing, syncing
from .consumer import classic, converting, heartbeats, members, writing
from .consumer.values import ConsumerRecord, Topics
from .group import Group
from .loading import restore
from .records import GroupRecord, MemberCodec, OffsetRecord, Record
from .replies import Joined, Listed, State, Synced, refused
from .requests import (
    Commit,
    ConsumerHeartbeat,
    DeleteGroup,
    DeleteOffsets,
    Describe,
    DescribeConsumers,
    FetchOffsets,
    GroupRequest,
    GroupSettings,
    Heartbeat,
    Join,
    Leave,
    Sync,
)
from .turn import Appending, Turn

_NAMELESS: Final = (Commit, FetchOffsets, Describe, DescribeConsumers, DeleteGroup)
"""The requests that may name the empty group id. Old clients that use no group protocol send them."""
_READING: Final = (Heartbeat, FetchOffsets, Describe, DescribeConsumers)
"""The requests that change nothing that a group holds."""


@attrs.define(eq=False)
class Coordinator(Machine[Record, Turn]):
    """`codec`: of what members send. `held`: what the groups of all coordinators hold that share
    `GroupSettings.held_bytes_max`. `topics`: those of the cluster; the host sets new ones when they change."""

    settings: GroupSettings
    codec: MemberCodec
    held: Held = attrs.field(factory=Held)
    topics: Topics = attrs.field(factory=Topics)
    groups: dict[str, Group] = attrs.field(factory=dict)

    # --- events

    def ask(self, asked: GroupRequest, ticket: Ticket, now_ms: int) -> Output:
        """Take a request. Its answer is among the replies of this event or of a later one, under its ticket."""
        turn = self._turn(now_ms)
        error, flaw = self._refusal(asked), heartbeats.flaw(asked) if isinstance(asked, ConsumerHeartbeat) else None
        if flaw is not None:
            turn.reply(ticket, flaw)
        elif error is not None:
            turn.reply(ticket, refused(asked, error))
        else:
            self._handle(turn, asked, ticket)
        group = self.groups.get(asked.group)
        if group is not None:
            self._asked(turn, group, asked)
        return self._output(turn)

    def forget(self, before_ms: Mapping[TopicPartition, int], now_ms: int) -> Output:
        """Drop the offsets that were committed before these times, at which the partitions were deleted. A partition
        that exists under the same name now is a new one."""
        turn = self._turn(now_ms)
        for group in list(self.groups.values()):
            offsets.forget(turn, group, before_ms)
            self._settle(turn, group)
        return self._output(turn)

    def transaction_ended(self, producer_id: int, now_ms: int, *, is_commit: bool) -> Output:
        """The marker that ends the transaction of this producer is in the log."""
        turn = self._turn(now_ms)
        for group in [group for group in self.groups.values() if producer_id in group.transactional]:
            group.end_transaction(producer_id, is_commit=is_commit)
            self._settle(turn, group)
        return self._output(turn)

    def listed(self) -> list[Listed]:
        """Every group."""
        return [listing.listed(group) for group in self.groups.values()]

    # --- what a machine does

    @property
    def _check_every_ms(self) -> int:
        return self.settings.offsets_check_ms

    def _turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self._next_number, self.settings, self.codec, self.topics)

    def _restore(self, turn: Turn, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record, GroupRecord) and record.stored is not None:
                self.groups[record.group] = restore(turn, record.group, record.stored)
        for place, record in enumerate(records, 1):
            if isinstance(record, OffsetRecord) and record.committed is not None:
                group = self.groups.setdefault(record.group, Group(record.group))
                if record.producer_id == NO_PRODUCER:
                    offsets.restore(group, record.tp, record.committed)
                else:
                    offsets.restore_transactional(group, record, record.committed, place)
        of_consumers = sorted((r for r in records if isinstance(r, ConsumerRecord)), key=lambda record: record.group)
        for name, found in groupby(of_consumers, lambda record: record.group):
            converting.restore(self.groups.setdefault(name, Group(name)), list(found))
        for group in self.groups.values():
            if group.consumer is not None:
                members.restored(turn, group.consumer)
            if len(group.members) > self.settings.members_max:
                rebalancing.begin(turn, group)
            self._settle(turn, group)

    def _end(self, turn: Turn) -> None:
        for group in self.groups.values():
            writing.refuse(turn, group, CoordinatorError.NOT_COORDINATOR)
            for member in group.members.values():
                turn.answer_join(member, Joined(CoordinatorError.NOT_COORDINATOR, member.member_id))
                turn.answer_sync(member, Synced(CoordinatorError.NOT_COORDINATOR))
            self.held.count(group, 0)
        self.groups.clear()

    def _expire(self, turn: Turn) -> None:
        for each in list(self.groups.values()):
            expiring.expire(turn, each)
            self._settle(turn, each)

    def _due(self, turn: Turn, key: str) -> None:
        group = self.groups.get(key)
        if group is not None:
            members.expire(turn, group)
            rebalancing.expire(turn, group)
            self._settle(turn, group)

    def _after(self, turn: Turn, waiting: Appending, error: CoordinatorError) -> None:  # noqa: ARG002 - as of all machines
        rebalancing.go_on(turn, waiting.group)
        self._settle(turn, waiting.group)

    # --- inside

    def _asked(self, turn: Turn, group: Group, asked: GroupRequest) -> None:
        """What follows a request. Those that come often and change nothing must not take long in a large group."""
        if isinstance(asked, ConsumerHeartbeat) and group.consumer is not None and not group.writes.marked:
            writing.write(turn, group)  # its deadlines became later, if any
        elif isinstance(asked, _READING):
            writing.write(turn, group)
            self._schedule.set(group.group_id, group.next_ms)
        else:
            self._settle(turn, group)

    def _handle(self, turn: Turn, asked: GroupRequest, ticket: Ticket) -> None:
        group = self.groups.get(asked.group)
        if group is None and _creates(asked):
            group = Group(asked.group, state_ms=turn.now_ms, principal=_principal(asked))
            self.groups[asked.group] = group
        if isinstance(asked, FetchOffsets):
            turn.reply(ticket, offsets.fetched(group, asked))
        elif isinstance(asked, Describe):
            turn.reply(ticket, listing.described(group))
        elif isinstance(asked, DescribeConsumers):
            turn.reply(ticket, listing.described_consumers(group, turn.topics))
        elif group is None:
            turn.reply(ticket, refused(asked, _unknown(asked)))
        elif group.state is State.DEAD:
            turn.reply(ticket, refused(asked, CoordinatorError.COORDINATOR_NOT_AVAILABLE))
        elif isinstance(asked, DeleteGroup):
            listing.delete(turn, self.groups, group, ticket)
        else:
            if isinstance(asked, Join):
                converting.make_room(turn, group, asked)
            handlers = _IN_GROUP if group.consumer is None else _IN_CONSUMER_GROUP
            handlers[type(asked)](turn, group, asked, ticket)

    def _refusal(self, asked: GroupRequest) -> CoordinatorError | None:
        if not asked.group and not isinstance(asked, _NAMELESS):
            return CoordinatorError.INVALID_GROUP_ID
        if self.is_over:
            return CoordinatorError.NOT_COORDINATOR
        if growing.is_too_large(asked, self.settings):
            return CoordinatorError.INVALID_REQUEST
        if self.is_loaded:
            return None if self._has_room(asked) else CoordinatorError.COORDINATOR_NOT_AVAILABLE
        if isinstance(asked, Heartbeat):
            return CoordinatorError.NONE
        return (
            CoordinatorError.REBALANCE_IN_PROGRESS
            if isinstance(asked, Sync)
            else CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS
        )

    def _has_room(self, asked: GroupRequest) -> bool:
        group = self.groups.get(asked.group)
        principal, present = (_principal(asked), 0) if group is None else (group.principal, group.counted_bytes)
        return self.held.has_room(self.settings.held_bytes_max, principal, present, growing.growth(group, asked))

    def _settle(self, turn: Turn, group: Group) -> None:
        """Write what is marked. Remove a blank group; count what any other holds, and schedule its next tick."""
        writing.write(turn, group)
        is_there = self.groups.get(group.group_id) is group
        if is_there and group.is_blank:
            del self.groups[group.group_id]
            self._schedule.drop(group.group_id)
            is_there = False
        self.held.count(group, group.held_bytes if is_there else 0)
        if is_there:
            self._schedule.set(group.group_id, group.next_ms)


_IN_GROUP: Final[dict[type, Callable[..., None]]] = {
    Join: joining.join,
    Sync: syncing.sync,
    Heartbeat: syncing.heartbeat,
    Leave: syncing.leave,
    ConsumerHeartbeat: heartbeats.heartbeat,
    Commit: offsets.commit,
    DeleteOffsets: offsets.delete,
}
_IN_CONSUMER_GROUP: Final[dict[type, Callable[..., None]]] = {
    **_IN_GROUP,
    Join: classic.join,
    Sync: classic.sync,
    Heartbeat: classic.heartbeat,
    Leave: classic.leave_group,
}


def _creates(asked: GroupRequest) -> bool:
    if isinstance(asked, Join):
        return not asked.member_id
    if isinstance(asked, ConsumerHeartbeat):
        return asked.epoch == 0
    return isinstance(asked, Commit) and asked.generation < 0


def _principal(asked: GroupRequest) -> str:
    return asked.principal if isinstance(asked, Join | Commit | ConsumerHeartbeat) else ""


def _unknown(asked: GroupRequest) -> CoordinatorError:
    """The error of a request whose group does not exist."""
    if isinstance(asked, Commit):
        return CoordinatorError.ILLEGAL_GENERATION
    is_by_tool = isinstance(asked, DeleteGroup | DeleteOffsets)
    return CoordinatorError.GROUP_ID_NOT_FOUND if is_by_tool else CoordinatorError.UNKNOWN_MEMBER_ID
