"""A group and its members: what is held in memory. What changes it stands in the modules beside this one."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import attrs

from controller.groups.records import Committed, GroupRecord, StoredGroup, StoredMember
from controller.groups.replies import JoinedMember, State
from controller.model.values import TopicPartition

CONSUMER: Final = "consumer"
"""The protocol type whose metadata name topics."""
Ticket = Any
"""What the caller gave with a request, and gets back with its reply."""


@attrs.define(eq=False)
class Member:
    """`joining`, `syncing`: the ticket of a request that waits for the others. `deadline_ms`: when it counts as dead
    unless it is heard of before; None: not while it waits. `is_new`: it has not been in a generation yet."""

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

    @property
    def waits(self) -> bool:
        """Whether a request of it is held, so that nobody can expect heartbeats."""
        return self.joining is not None or self.syncing is not None

    def metadata(self, protocol: str) -> bytes:
        """What it said of itself for that protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The candidate that it likes best."""
        return next(name for name, _ in self.protocols if name in candidates)


@attrs.frozen
class CommittedAt:
    """A committed offset and the number of the append that wrote it: a later append counts more."""

    number: int
    committed: Committed


@attrs.define(eq=False)
class Group:
    """`writing`: how many commits of a partition are under way. `pending`: ids that were given out, and until when they
    may be used. `unsynced`: members that have not asked for their assignment yet, with `sync_deadline_ms` for them.
    `join_deadline_ms`: when a rebalance goes on without those that did not join again; `initial_left_ms` None: it is
    not the first one, else how far it may still be put off. `scheduled_ms`: when it is looked at next."""

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
    writing: Counter[TopicPartition] = attrs.field(factory=Counter)
    topics: frozenset[str] | None = None
    join_deadline_ms: int | None = None
    initial_left_ms: int | None = None
    sync_deadline_ms: int | None = None
    is_member_added: bool = False
    scheduled_ms: int | None = None

    # --- members

    def add(self, member: Member) -> None:
        """The first one decides the type of the protocol, and leads."""
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.leader = self.leader or member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Also an id that was given out and not used yet."""
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.pop(member_id, None)
        self.unsynced.discard(member_id)

    def rename(self, old_id: str, new_id: str) -> Member:
        """A static member came back, with a new id and in its place."""
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

    @property
    def is_blank(self) -> bool:
        """Whether nothing is known of it, so that it need not be there."""
        is_empty = self.state is State.EMPTY and not self.generation
        return is_empty and not (self.pending or self.offsets or +self.writing)

    @property
    def has_all_joined(self) -> bool:
        """Whether a rebalance waits for nobody."""
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that a member needs."""
        return max((max(member.rebalance_timeout_ms, 1) for member in self.members.values()), default=0)

    # --- protocols

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether somebody with these protocols can be in the group: all members have one of them."""
        if self.state is State.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and (not self.members or bool(names & self._common()))

    def _common(self) -> set[str]:
        counts = Counter(name for member in self.members.values() for name in {name for name, _ in member.protocols})
        return {name for name, count in counts.items() if count == len(self.members)}

    def elected(self) -> str:
        """The protocol that all members have and most prefer."""
        candidates = self._common()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    # --- what others see

    def known_members(self) -> tuple[JoinedMember, ...]:
        """For the leader, which assigns."""
        protocol = self.protocol or ""
        return tuple(JoinedMember(m.member_id, m.instance_id, m.metadata(protocol)) for m in self.members.values())

    def record(self, assignments: dict[str, bytes] | None = None) -> GroupRecord:
        """The present generation, with these assignments instead of those that members have."""
        stored = StoredGroup(
            self.protocol_type or "",
            self.generation,
            self.protocol,
            self.leader,
            self.state_ms,
            tuple(self._stored(m, assignments) for m in self.members.values()),
        )
        return GroupRecord(self.group_id, stored)

    def _stored(self, m: Member, assignments: dict[str, bytes] | None) -> StoredMember:
        assignment = m.assignment if assignments is None else assignments.get(m.member_id, b"")
        timeouts = (m.rebalance_timeout_ms, m.session_timeout_ms)
        subscription = m.metadata(self.protocol or "")
        return StoredMember(m.member_id, m.instance_id, m.client_id, m.client_host, *timeouts, subscription, assignment)

    @property
    def next_ms(self) -> int | None:
        """When something of it is due next."""
        due = [self.join_deadline_ms, self.sync_deadline_ms, *self.pending.values()]
        due += [member.deadline_ms for member in self.members.values()]
        return min((ms for ms in due if ms is not None), default=None)
