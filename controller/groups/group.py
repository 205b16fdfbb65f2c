"""The state of a group and of its members, in memory. The other modules of this package change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from ..coordinators.held import by_ids
from ..coordinators.turn import Ticket
from ..model.values import TopicPartition
from . import held
from .consumer.state import ConsumerGroup
from .consumer.writes import Writes
from .records import Committed, GroupRecord, StoredGroup, StoredMember
from .replies import JoinedMember, State

CONSUMER: Final = "consumer"
"""The protocol type whose metadata contain topics."""


@attrs.define(eq=False)
class Member:
    """`joining`, `syncing`: the ticket of a Join or Sync that waits for other members. `deadline_ms`: when the session
    ends, None while a request waits. `is_new`: it was in no generation yet."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = True
    joining: Ticket = None
    syncing: Ticket = None
    deadline_ms: int | None = None
    _brought_bytes: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._brought_bytes = self._brings(self.protocols)

    def change(
        self, protocols: tuple[tuple[str, bytes], ...], session_timeout_ms: int, rebalance_timeout_ms: int
    ) -> None:
        """Set what a member brings with each Join."""
        self.protocols, self._brought_bytes = protocols, self._brings(protocols)
        self.session_timeout_ms, self.rebalance_timeout_ms = session_timeout_ms, rebalance_timeout_ms

    def _brings(self, protocols: Iterable[tuple[str, bytes]]) -> int:
        ids = by_ids(self.member_id, self.client_id, self.instance_id or "")
        return ids + held.by_protocols(protocols)

    @property
    def held_bytes(self) -> int:
        return max(held.MEMBER, self._brought_bytes + len(self.assignment))

    def growth(self, protocols: Iterable[tuple[str, bytes]] | None = None, assignment: bytes | None = None) -> int:
        """How much more memory it takes with these instead of its own, 0 if it is no more."""
        brought = self._brought_bytes if protocols is None else self._brings(protocols)
        assigned = self.assignment if assignment is None else assignment
        return max(0, brought + len(assigned) - self.held_bytes)

    @property
    def waits(self) -> bool:
        """Whether a request of this member waits, so that it sends no heartbeats."""
        return self.joining is not None or self.syncing is not None

    def metadata(self, protocol: str) -> bytes:
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The first of the candidates in the member's order."""
        return next(name for name, _ in self.protocols if name in candidates)


@attrs.frozen
class CommittedAt:
    """A committed offset and the number of the append that wrote it: that of the latest append is valid."""

    number: int
    committed: Committed


@attrs.define(eq=False)
class Group:
    """`writing`: how many commits of a partition are under way; `writing_bytes`: how much memory they add at most.
    `pending`: ids that were given out, and until when they may be used. `unsynced`: members that have not asked for
    their assignment yet, with `sync_deadline_ms` for them. `join_deadline_ms`: when a rebalance goes on without those
    that did not join again; `initial_left_ms` None: it is not the first one, else how far it may still be put off.
    `consumer`: its members and partitions if it is a group of the consumer protocol (KIP-848), which has no others;
    `writes`: what is to be written of them. `transactional`: offsets in open transactions, by producer id.
    `offset_bytes`: the memory of all offsets; `counted_bytes`: the part of the coordinators' memory that counts as its
    own. `principal`: whose request created it, empty if unknown."""

    group_id: str
    state: State = State.EMPTY
    state_ms: int = 0
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = attrs.field(factory=dict)
    static: dict[str, str] = attrs.field(factory=dict)
    pending: dict[str, int] = attrs.field(factory=dict)
    unsynced: set[str] = attrs.field(factory=set)
    offsets: dict[TopicPartition, CommittedAt] = attrs.field(factory=dict)
    transactional: dict[int, dict[TopicPartition, CommittedAt]] = attrs.field(factory=dict)
    writing: Counter[TopicPartition] = attrs.field(factory=Counter)
    writing_bytes: int = 0
    topics: frozenset[str] | None = None
    join_deadline_ms: int | None = None
    initial_left_ms: int | None = None
    sync_deadline_ms: int | None = None
    is_member_added: bool = False
    offset_bytes: int = 0
    counted_bytes: int = 0
    principal: str = ""
    consumer: ConsumerGroup | None = None
    writes: Writes = attrs.field(factory=Writes)

    # --- members

    def add(self, member: Member) -> None:
        """Add a member. The first one leads, and its protocol type is that of the group."""
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.leader = self.leader or member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Remove a member, or an id that was given out and not used."""
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.pop(member_id, None)
        self.unsynced.discard(member_id)

    def rename(self, old_id: str, new_id: str) -> Member:
        """Give a static member that came back its new id."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.unsynced:
            self.unsynced.discard(old_id)
            self.unsynced.add(new_id)
        assert member.instance_id is not None
        self.static[member.instance_id] = new_id
        return member

    def clear(self) -> None:
        """Drop all members and generations of the classic protocol."""
        self.members, self.static, self.pending, self.unsynced = {}, {}, {}, set()
        self.state, self.generation, self.topics = State.EMPTY, 0, None
        self.protocol_type = self.protocol = self.leader = None
        self.join_deadline_ms = self.initial_left_ms = self.sync_deadline_ms = None

    @property
    def consumers(self) -> ConsumerGroup:
        """Of a group of the consumer protocol."""
        assert self.consumer is not None
        return self.consumer

    @property
    def has_members(self) -> bool:
        """Whether it has members, or waits for some, of either protocol."""
        return self.state is not State.EMPTY or bool(self.consumer is not None and self.consumer.members)

    @property
    def is_blank(self) -> bool:
        """Whether the group holds nothing, so that it can be removed."""
        has_epoch = bool(self.generation or self.consumer is not None)
        return not (self.has_members or has_epoch or self.pending or self.has_offsets or self.writes.is_busy)

    @property
    def has_offsets(self) -> bool:
        """Whether there are offsets, or some are about to be."""
        return bool(self.offsets or self.transactional or +self.writing)

    @property
    def has_all_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max((max(member.rebalance_timeout_ms, 1) for member in self.members.values()), default=0)

    # --- offsets

    def commit(self, tp: TopicPartition, offset: CommittedAt) -> None:
        self.forget(tp)
        self.offsets[tp] = offset
        self.offset_bytes += held.by_offset(tp, offset.committed)

    def forget(self, tp: TopicPartition) -> None:
        """Drop the committed offset of a partition, if there is one."""
        gone = self.offsets.pop(tp, None)
        if gone is not None:
            self.offset_bytes -= held.by_offset(tp, gone.committed)

    @property
    def unstable(self) -> dict[TopicPartition, None]:
        """The partitions with offsets in open transactions, or on their way to the log."""
        pending = [tp for offsets in self.transactional.values() for tp in offsets]
        return dict.fromkeys([*pending, *+self.writing])

    def commit_later(self, producer_id: int, tp: TopicPartition, offset: CommittedAt) -> None:
        """Commit when the transaction of this producer is committed."""
        offsets = self.transactional.setdefault(producer_id, {})
        before = offsets.get(tp)
        offsets[tp] = offset
        self.offset_bytes += held.by_offset(tp, offset.committed)
        self.offset_bytes -= 0 if before is None else held.by_offset(tp, before.committed)

    def drop_transactional(self, tp: TopicPartition, is_dropped: Callable[[CommittedAt], bool]) -> None:
        """Drop the offsets for this partition that open transactions would commit."""
        for producer_id, offsets in list(self.transactional.items()):
            offset = offsets.get(tp)
            if offset is not None and is_dropped(offset):
                del offsets[tp]
                self.offset_bytes -= held.by_offset(tp, offset.committed)
                if not offsets:
                    del self.transactional[producer_id]

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """The transaction of this producer is over. An offset stays that was committed after the transaction's."""
        for tp, offset in self.transactional.pop(producer_id, {}).items():
            self.offset_bytes -= held.by_offset(tp, offset.committed)
            present = self.offsets.get(tp)
            if is_commit and (present is None or present.number < offset.number):
                self.commit(tp, offset)

    def wrote(self, partitions: Iterable[TopicPartition]) -> None:
        """Commits of these partitions, each counted in `writing`, are no longer under way."""
        for tp in partitions:
            self.writing[tp] -= 1
            if not self.writing[tp]:
                del self.writing[tp]

    @property
    def held_bytes(self) -> int:
        ids = by_ids(self.group_id, *self.pending)
        offsets = self.offset_bytes + self.writing_bytes
        consumers = 0 if self.consumer is None else self.consumer.held_bytes
        return held.GROUP + ids + offsets + consumers + sum(member.held_bytes for member in self.members.values())

    # --- protocols

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a member with these protocols can join: all members must share one of them."""
        if self.state is State.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and (not self.members or bool(names & self._common()))

    def _common(self) -> set[str]:
        counts = Counter(name for member in self.members.values() for name in {name for name, _ in member.protocols})
        return {name for name, count in counts.items() if count == len(self.members)}

    def elected(self) -> str:
        """The protocol that all members share and most of them prefer."""
        candidates = self._common()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    # --- what others see

    def known_members(self) -> tuple[JoinedMember, ...]:
        """The members with their metadata, for the leader, which assigns."""
        protocol = self.protocol or ""
        return tuple(JoinedMember(m.member_id, m.instance_id, m.metadata(protocol)) for m in self.members.values())

    def record(self, assignments: dict[str, bytes] | None = None) -> GroupRecord:
        """A record of the current generation. `assignments`: instead of those of the members. It names no leader in a
        rebalance, which the next coordinator then begins."""
        members = tuple(self._stored(m, assignments) for m in self.members.values() if not m.is_new)
        leader = self.leader if members and self.state is not State.PREPARING else None
        named = (self.protocol_type or "", self.generation, self.protocol, leader)
        return GroupRecord(self.group_id, StoredGroup(*named, self.state_ms, members))

    def _stored(self, m: Member, assignments: dict[str, bytes] | None) -> StoredMember:
        assignment = m.assignment if assignments is None else assignments.get(m.member_id, b"")
        timeouts = (m.rebalance_timeout_ms, m.session_timeout_ms)
        subscription = m.metadata(self.protocol or "")
        return StoredMember(m.member_id, m.instance_id, m.client_id, m.client_host, *timeouts, subscription, assignment)

    @property
    def next_ms(self) -> int | None:
        due = [self.join_deadline_ms, self.sync_deadline_ms, *self.pending.values()]
        due += [member.deadline_ms for member in self.members.values()]
        due.append(None if self.consumer is None else self.consumer.next_ms)
        return min((ms for ms in due if ms is not None), default=None)
