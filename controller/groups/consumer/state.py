"""The state of a group of the consumer protocol, in memory. The other modules of this package change it."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import attrs

from ...coordinators.held import by_ids
from .. import held
from .values import (
    NONE,
    ConsumerRecord,
    Current,
    GroupEpoch,
    GroupState,
    Kind,
    MemberState,
    Partitions,
    Resolved,
    Subscriber,
    Target,
    TargetEpoch,
    Topics,
    Value,
)

_PARTITION_BYTES: Final = 250  # in a target, as owned, and in the table of owners
_HASH_BYTES: Final = 7  # of the 8 that the field has, so that it is not negative


@attrs.define(eq=False)
class ConsumerMember:
    """`since`: the epoch in which it got each partition that it owns, as far as this coordinator knows. `session_ms`:
    when its session ends. `revoke_ms`, `join_ms`, `sync_ms`: until when it must revoke partitions, or
    join and synchronize as a member of the classic protocol; None: it need not."""

    member_id: str
    said: Subscriber = attrs.field(factory=Subscriber)
    target: Partitions = NONE
    current: Current = attrs.field(factory=Current)
    session_ms: int | None = None
    revoke_ms: int | None = None
    join_ms: int | None = None
    sync_ms: int | None = None
    since: Mapping[tuple[str, int], int] = attrs.field(factory=dict, init=False)

    @property
    def held_bytes(self) -> int:
        partitions = _PARTITION_BYTES * (len(self.target) + len(self.current.owned))
        return max(held.MEMBER, by_subscriber(self.member_id, self.said)) + partitions

    @property
    def place(self) -> tuple[bool, str]:
        """Its place among the members of the group: static ones come first."""
        return self.said.instance_id is None, self.said.instance_id or self.member_id

    @property
    def due_ms(self) -> Iterator[int]:
        """Its deadlines."""
        deadlines = (self.session_ms, self.revoke_ms, self.join_ms, self.sync_ms)
        return (ms for ms in deadlines if ms is not None)


def by_subscriber(member_id: str, said: Subscriber) -> int:
    """The memory of a member, and of what it said of itself."""
    classic = () if said.classic is None else said.classic.protocols
    ids = by_ids(member_id, said.client_id, said.instance_id or "", said.rack or "", *said.topics)
    return ids + 2 * sys.getsizeof(said.regex) + held.by_protocols(classic)


@attrs.define(eq=False)
class ConsumerGroup:
    """`owners`: the member that owns each partition. `seen`: the topics of the cluster for which `subscribed` was
    computed; `matched`: those that the regular expressions were matched with."""

    epoch: int = 0
    metadata_hash: int = 0
    target_epoch: int = 0
    members: dict[str, ConsumerMember] = attrs.field(factory=dict)
    static: dict[str, str] = attrs.field(factory=dict)
    regexes: dict[str, Resolved] = attrs.field(factory=dict)
    owners: dict[tuple[str, int], str] = attrs.field(factory=dict)
    subscribed: frozenset[str] = frozenset()
    seen: Topics | None = None
    matched: Topics | None = None

    # --- members

    def member(self, member_id: str) -> ConsumerMember:
        """The member, a new one if there is none."""
        return self.members.setdefault(member_id, ConsumerMember(member_id))

    def put(self, member: ConsumerMember, said: Subscriber) -> None:
        """Set what a member said of itself."""
        self._release(member)
        member.said = said
        if said.instance_id is not None:
            self.static[said.instance_id] = member.member_id

    def own(self, member: ConsumerMember, current: Current) -> None:
        """Set what a member owns. A partition that another member got meanwhile remains with that one."""
        for gone in member.current.owned - current.owned:
            if self.owners.get(gone) == member.member_id:
                del self.owners[gone]
        self.owners.update(dict.fromkeys(current.owned, member.member_id))
        member.since = {tp: member.since.get(tp, current.epoch) for tp in current.owned}
        member.current = current

    def remove(self, member: ConsumerMember) -> None:
        """Remove the member with what it owns."""
        self.own(member, Current())
        self._release(member)
        del self.members[member.member_id]

    def _release(self, member: ConsumerMember) -> None:
        instance_id = member.said.instance_id
        if instance_id is not None and self.static.get(instance_id) == member.member_id:
            del self.static[instance_id]

    def free(self, member: ConsumerMember, partitions: Partitions) -> Partitions:
        """Of these partitions those that no other member owns."""
        return frozenset(tp for tp in partitions if self.owners.get(tp, member.member_id) == member.member_id)

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer; the first of Kafka's default if none does."""
        preferred = Counter(m.said.assignor for m in self.members.values() if m.said.assignor is not None)
        return min(preferred, key=lambda name: (-preferred[name], name)) if preferred else "uniform"

    def supports(self, names: set[str]) -> bool:
        """Whether a member of the classic protocol with these protocols can join: all of them must share one."""
        shared = [{name for name, _ in m.said.classic.protocols} for m in self.members.values() if m.said.classic]
        return bool(names.intersection(*shared))

    # --- topics

    def topics_of(self, said: Subscriber) -> frozenset[str]:
        """The topics to which a member subscribes."""
        resolved = self.regexes.get(said.regex)
        return said.topics if resolved is None else said.topics | resolved.topics

    def subscribe(self, topics: Topics) -> bool:
        """Set the subscribed topics; returns whether they, or their partitions, are others than before."""
        self.seen = topics
        self.subscribed = self._wanted
        known = sorted((name, topics.by_name[name]) for name in self.subscribed if name in topics.by_name)
        rows = "".join(f"{name}\0{topic.topic_id}\0{topic.partitions}\n" for name, topic in known)
        digest = int.from_bytes(hashlib.blake2b(rows.encode(), digest_size=_HASH_BYTES).digest()) if rows else 0
        is_other, self.metadata_hash = digest != self.metadata_hash, digest
        return is_other

    @property
    def _wanted(self) -> frozenset[str]:
        return frozenset().union(*(self.topics_of(member.said) for member in self.members.values()))

    def unused_regexes(self) -> list[str]:
        """The regular expressions that no member uses."""
        used = {member.said.regex for member in self.members.values()}
        return [regex for regex in self.regexes if regex not in used]

    # --- what others see

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        is_done = all(
            m.current.state is MemberState.STABLE and m.current.epoch == self.target_epoch
            for m in self.members.values()
        )
        return GroupState.STABLE if is_done else GroupState.RECONCILING

    @property
    def held_bytes(self) -> int:
        resolved = by_ids(*(topic for regex in self.regexes.values() for topic in regex.topics))
        return resolved + sum(member.held_bytes for member in self.members.values())

    @property
    def next_ms(self) -> int | None:
        return min((ms for member in self.members.values() for ms in member.due_ms), default=None)

    # --- records

    def value(self, kind: Kind, name: str) -> Value | None:
        """What a record of this kind says, None if there is nothing to say."""
        if kind is Kind.GROUP:
            return GroupEpoch(self.epoch, self.metadata_hash)
        if kind is Kind.TARGET_EPOCH:
            return TargetEpoch(self.target_epoch)
        if kind is Kind.REGEX:
            return self.regexes.get(name)
        member = self.members.get(name)
        return None if member is None else _OF_MEMBER[kind](member)

    def take(self, records: Iterable[ConsumerRecord]) -> None:
        """Restore the state from its records, one of each key."""
        for record in records:
            value = record.value
            if isinstance(value, GroupEpoch):
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            elif isinstance(value, TargetEpoch):
                self.target_epoch = value.epoch
            elif isinstance(value, Resolved):
                self.regexes[record.name] = value
            elif isinstance(value, Subscriber):
                self.put(self.member(record.name), value)
            elif isinstance(value, Target):
                self.member(record.name).target = value.partitions
            elif isinstance(value, Current):
                self.own(self.member(record.name), value)
        self.subscribed = self._wanted


_OF_MEMBER: Final[dict[Kind, Callable[[ConsumerMember], Value]]] = {
    Kind.MEMBER: lambda member: member.said,
    Kind.TARGET: lambda member: Target(member.target),
    Kind.CURRENT: lambda member: member.current,
}
