"""The coordinator of the groups in one partition of `__consumer_offsets`, as a state machine.

Rules
* Each event is passed with the time. The result (`Output`) is answers to tickets, and records to append in their order.
  The host appends them as the leader of the partition, reports the result of each with `appended`, and calls `tick` at
  `next_ms`.
* It begins without groups. `load` takes the records of the log, and `loaded` follows the last of them. Until then every
  request gets COORDINATOR_LOAD_IN_PROGRESS, except that a Heartbeat gets 0 and a Sync REBALANCE_IN_PROGRESS, as in
  Kafka.
* When the host no longer leads the partition, it calls `unload`: all waiting requests get NOT_COORDINATOR.
* An answer that depends on a record is given when the record is committed. If the append fails, its changes are undone.
* A request by which groups would hold more memory than they may gets COORDINATOR_NOT_AVAILABLE
  (`held`), and one with more for a member than any may have gets INVALID_REQUEST.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import attrs

from ..model.values import TopicPartition
from . import expiring, growing, joining, listing, offsets, rebalancing, syncing
from .group import Group, Ticket
from .held import GROUP_SHARE, MUCH_SHARE, Held
from .loading import restore
from .records import GroupRecord, Newest, OffsetRecord, Record
from .replies import Answered, GroupError, Joined, Left, Listed, OffsetErrors, Reply, State, Synced
from .requests import (
    Commit,
    DeleteGroup,
    DeleteOffsets,
    Describe,
    FetchOffsets,
    GroupRequest,
    GroupSettings,
    Heartbeat,
    Join,
    Leave,
    Sync,
)
from .turn import Appending, Turn

_NAMELESS: Final = (Commit, FetchOffsets, Describe, DeleteGroup)
"""The requests that may name the empty group id. Old clients that use no group protocol send them."""
_READING: Final = (Heartbeat, FetchOffsets, Describe)
"""The requests that change nothing that a group holds."""
_STALE_MAX: Final = 100
"""How many entries of the schedule may be without effect, beside one for each group."""


@attrs.frozen
class Append:
    """Records to append; `number` counts up."""

    number: int
    records: Sequence[Record]


@attrs.frozen
class Output:
    """The result of an event: answers to send now, and appends in their order."""

    replies: tuple[tuple[Ticket, Reply], ...] = ()
    appends: tuple[Append, ...] = ()


@attrs.define(eq=False)
class Coordinator:
    """`subscribed`: the topics in the metadata of a member of a group of consumers (`RecordCodec.subscribed`). `held`:
    what the groups of all coordinators hold that share `GroupSettings.held_bytes_max`."""

    settings: GroupSettings
    subscribed: Callable[[bytes], frozenset[str] | None]
    held: Held = attrs.field(factory=Held)
    groups: dict[str, Group] = attrs.field(factory=dict)
    is_loaded: bool = False
    is_over: bool = False
    _waiting: dict[int, Appending] = attrs.field(factory=dict)
    _numbers: int = 0
    _due: list[tuple[int, str]] = attrs.field(factory=list)
    _read: Newest = attrs.field(factory=Newest)
    _check_ms: int | None = None

    # --- loading, and the end

    def load(self, records: Iterable[Record]) -> None:
        """Take records of the log, in its order. The last record of each key counts."""
        self._read.add(records)

    def loaded(self, now_ms: int) -> Output:
        """The log is complete. The sessions of all members begin now."""
        self.is_loaded = True
        turn = self._turn(now_ms)
        for record in self._read.records:
            if isinstance(record, GroupRecord) and record.stored is not None:
                self.groups[record.group] = restore(turn, record.group, record.stored)
        for record in self._read.records:
            if isinstance(record, OffsetRecord) and record.committed is not None:
                group = self.groups.setdefault(record.group, Group(record.group))
                offsets.restore(group, record.tp, record.committed)
        self._read = Newest()
        self._check_ms = now_ms + self.settings.offsets_check_ms
        for group in self.groups.values():
            if len(group.members) > self.settings.members_max:
                rebalancing.begin(turn, group)
            self._settle(group)
        return self._output(turn)

    def unload(self, now_ms: int) -> Output:
        """End the coordinator. All waiting requests get NOT_COORDINATOR."""
        self.is_over = True
        turn = self._turn(now_ms)
        for waiting in self._waiting.values():
            waiting.done(turn, GroupError.NOT_COORDINATOR)
        for group in self.groups.values():
            for member in group.members.values():
                turn.answer_join(member, Joined(GroupError.NOT_COORDINATOR, member.member_id))
                turn.answer_sync(member, Synced(GroupError.NOT_COORDINATOR))
            self._count(group, 0)
        self._waiting.clear()
        self.groups.clear()
        self._due.clear()
        self._check_ms = None
        return Output(tuple(turn.replies))

    # --- events

    def ask(self, asked: GroupRequest, ticket: Ticket, now_ms: int) -> Output:
        """Take a request. Its answer is among the replies of this event or of a later one, under its ticket."""
        turn = self._turn(now_ms)
        error = self._refusal(asked)
        if error is None:
            self._handle(turn, asked, ticket)
        else:
            turn.reply(ticket, refused(asked, error))
        group = self.groups.get(asked.group)
        if group is not None and isinstance(asked, _READING):
            self._schedule(group)
        elif group is not None:
            self._settle(group)
        return self._output(turn)

    def appended(self, number: int, error: GroupError, now_ms: int) -> Output:
        """The append with this number is committed, or has failed with `error`."""
        turn = self._turn(now_ms)
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            waiting.done(turn, error)
            rebalancing.go_on(turn, waiting.group)
            self._settle(waiting.group)
        return self._output(turn)

    def tick(self, now_ms: int) -> Output:
        """Handle what is due: sessions that ended, rebalances that timed out, offsets that expired."""
        turn = self._turn(now_ms)
        if self._check_ms is not None and self._check_ms <= now_ms:
            self._check_ms = now_ms + self.settings.offsets_check_ms
            for each in list(self.groups.values()):
                expiring.expire(turn, each)
                self._settle(each)
        while self._due and self._due[0][0] <= now_ms:
            _, group_id = heapq.heappop(self._due)
            group = self.groups.get(group_id)
            if group is not None:
                group.scheduled_ms = None
                rebalancing.expire(turn, group)
                self._settle(group)
        return self._output(turn)

    def forget(self, before_ms: Mapping[TopicPartition, int], now_ms: int) -> Output:
        """Drop the offsets that were committed before these times, at which the partitions were deleted. A partition
        that exists under the same name now is a new one."""
        turn = self._turn(now_ms)
        for group in list(self.groups.values()):
            offsets.forget(turn, group, before_ms)
            self._settle(group)
        return self._output(turn)

    @property
    def next_ms(self) -> int | None:
        """When `tick` is due, None if never."""
        due_ms = [ms for ms in (self._check_ms, self._due[0][0] if self._due else None) if ms is not None]
        return min(due_ms, default=None)

    def listed(self) -> list[Listed]:
        """Every group."""
        return [Listed(group.group_id, group.protocol_type or "", group.state) for group in self.groups.values()]

    # --- inside

    def _handle(self, turn: Turn, asked: GroupRequest, ticket: Ticket) -> None:
        group = self.groups.get(asked.group)
        if group is None and _creates(asked):
            group = Group(asked.group, state_ms=turn.now_ms, principal=_principal(asked))
            self.groups[asked.group] = group
        if isinstance(asked, FetchOffsets):
            turn.reply(ticket, offsets.fetched(group, asked))
        elif isinstance(asked, Describe):
            turn.reply(ticket, listing.described(group))
        elif group is None:
            turn.reply(ticket, refused(asked, _unknown(asked)))
        elif group.state is State.DEAD:
            turn.reply(ticket, refused(asked, GroupError.COORDINATOR_NOT_AVAILABLE))
        elif isinstance(asked, DeleteGroup):
            listing.delete(turn, self.groups, group, ticket)
        else:
            _IN_GROUP[type(asked)](turn, group, asked, ticket)

    def _refusal(self, asked: GroupRequest) -> GroupError | None:
        if not asked.group and not isinstance(asked, _NAMELESS):
            return GroupError.INVALID_GROUP_ID
        if self.is_over:
            return GroupError.NOT_COORDINATOR
        if growing.is_too_large(asked, self.settings):
            return GroupError.INVALID_REQUEST
        if self.is_loaded:
            return None if self._has_room(asked) else GroupError.COORDINATOR_NOT_AVAILABLE
        if isinstance(asked, Heartbeat):
            return GroupError.NONE
        return GroupError.REBALANCE_IN_PROGRESS if isinstance(asked, Sync) else GroupError.COORDINATOR_LOAD_IN_PROGRESS

    def _has_room(self, asked: GroupRequest) -> bool:
        """Whether all groups may hold as much more as the request adds, and its group its share of that; and the groups
        of its principal the same share, once all groups hold much."""
        group = self.groups.get(asked.group)
        grown = growing.growth(group, asked)
        most = self.settings.held_bytes_max
        of_group = 0 if group is None else group.counted_bytes
        principal = _principal(asked) if group is None else group.principal
        of_all, of_principal = self.held.bytes + grown, self.held.by_principal[principal] + grown
        is_fair = of_all <= most * MUCH_SHARE or of_principal <= most * GROUP_SHARE
        return not grown or (of_all <= most and of_group + grown <= most * GROUP_SHARE and is_fair)

    def _settle(self, group: Group) -> None:
        """Remove a blank group; count what any other holds, and schedule its next tick."""
        is_there = self.groups.get(group.group_id) is group
        if is_there and group.is_blank:
            del self.groups[group.group_id]
            is_there = False
        self._count(group, group.held_bytes if is_there else 0)
        if is_there:
            self._schedule(group)

    def _count(self, group: Group, held_bytes: int) -> None:
        self.held.add(group.principal, held_bytes - group.counted_bytes)
        group.counted_bytes = held_bytes

    def _schedule(self, group: Group) -> None:
        """Earlier entries in the schedule stay, and do nothing when they are due. They are dropped before there are
        many, since clients decide how many and for how long."""
        due_ms = group.next_ms
        if due_ms is None or (group.scheduled_ms is not None and group.scheduled_ms <= due_ms):
            return
        group.scheduled_ms = due_ms
        heapq.heappush(self._due, (due_ms, group.group_id))
        if len(self._due) > 2 * len(self.groups) + _STALE_MAX:
            scheduled = ((each.scheduled_ms, each.group_id) for each in self.groups.values())
            self._due = [(ms, group_id) for ms, group_id in scheduled if ms is not None]
            heapq.heapify(self._due)

    def _turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self.settings, self.subscribed, self._next_number)

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _output(self, turn: Turn) -> Output:
        appends = []
        for number, records, waiting in turn.appends:
            self._waiting[number] = waiting
            appends.append(Append(number, records))
        return Output(tuple(turn.replies), tuple(appends))


_IN_GROUP: Final[dict[type, Callable[..., None]]] = {
    Join: joining.join,
    Sync: syncing.sync,
    Heartbeat: syncing.heartbeat,
    Leave: syncing.leave,
    Commit: offsets.commit,
    DeleteOffsets: offsets.delete,
}


def _creates(asked: GroupRequest) -> bool:
    if isinstance(asked, Join):
        return not asked.member_id
    return isinstance(asked, Commit) and asked.generation < 0


def _principal(asked: GroupRequest) -> str:
    return asked.principal if isinstance(asked, Join | Commit) else ""


def _unknown(asked: GroupRequest) -> GroupError:
    """The error of a request whose group does not exist."""
    if isinstance(asked, Commit):
        return GroupError.ILLEGAL_GENERATION
    is_by_tool = isinstance(asked, DeleteGroup | DeleteOffsets)
    return GroupError.GROUP_ID_NOT_FOUND if is_by_tool else GroupError.UNKNOWN_MEMBER_ID


def refused(asked: GroupRequest, error: GroupError) -> Reply:
    """The answer that refuses a whole request."""
    if isinstance(asked, Join):
        return Joined(error, asked.member_id)
    if isinstance(asked, Sync):
        return Synced(error)
    if isinstance(asked, Commit):
        return OffsetErrors(dict.fromkeys(asked.offsets, error))
    if isinstance(asked, Leave) and error is GroupError.UNKNOWN_MEMBER_ID:
        return Left(tuple((leaving, error) for leaving in asked.members))
    return Answered(error)
