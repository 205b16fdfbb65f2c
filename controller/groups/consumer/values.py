"""The records of groups of the consumer protocol as values, and the parts that they consist of.

Each record is the newest state of one thing: of the group, or of one member.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias

import attrs

Partitions: TypeAlias = frozenset[tuple[str, int]]
"""Partitions, each as its topic id and its number."""
NONE: Partitions = frozenset()
LEFT_FOR_A_WHILE = -2
"""The epoch of a static member that will be back (KIP-848)."""


class Kind(enum.IntEnum):
    """What a record is about, by Kafka's versions of keys."""

    CLASSIC = 2
    GROUP = 3
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    REGEX = 16


class MemberState(enum.IntEnum):
    """How far a member is, by Kafka's numbers."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


@attrs.frozen
class GroupEpoch:
    """The group's epoch. `metadata_hash`: of the subscribed topics, their ids and numbers of partitions."""

    epoch: int
    metadata_hash: int = 0


@attrs.frozen
class TargetEpoch:
    """The epoch of the group for which the target assignment was computed."""

    epoch: int


@attrs.frozen
class ClassicProtocols:
    """What a member of the classic protocol brings: its session timeout, and its protocols with metadata."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@attrs.frozen
class Subscriber:
    """What a member said of itself. `regex` "": none. `classic`: it uses the classic protocol."""

    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str = ""
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicProtocols | None = None


@attrs.frozen
class Target:
    """The partitions that a member shall have."""

    partitions: Partitions = NONE


@attrs.frozen
class Current:
    """The partitions that a member may use, and those that it has to revoke first. `previous_epoch`: which it may still
    send, since the answer with the present one may be lost."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Partitions = NONE
    revoking: Partitions = NONE

    @property
    def owned(self) -> Partitions:
        """What no other member may get."""
        return self.assigned | self.revoking


@attrs.frozen
class Resolved:
    """The topics that a regular expression matched at that time."""

    topics: frozenset[str]
    ms: int


Value: TypeAlias = GroupEpoch | TargetEpoch | Subscriber | Target | Current | Resolved


@attrs.frozen
class ConsumerRecord:
    """The newest value of one kind; None: it is deleted. `name`: the member id or the regular expression, "" where it
    is about the whole group."""

    group: str
    kind: Kind
    name: str = ""
    value: Value | None = None

    @property
    def key(self) -> tuple[str, Kind, str]:
        """The newest record with this key is valid."""
        return self.group, self.kind, self.name

    @property
    def is_deleted(self) -> bool:
        return self.value is None

    @property
    def bytes_min(self) -> int:
        """It has no fewer when it is encoded."""
        topics = self.value.topics if isinstance(self.value, Subscriber | Resolved) else ()
        return len(self.group) + len(self.name) + sum(map(len, topics))


@attrs.frozen
class Topic:
    """A topic of the cluster: its id, and how many partitions it has."""

    topic_id: str
    partitions: int


@attrs.frozen(eq=False)
class Topics:
    """The topics of the cluster by name. A new one replaces it when topics or numbers of partitions change."""

    by_name: Mapping[str, Topic] = attrs.field(factory=dict)
    names: Mapping[str, str] = attrs.field(init=False)
    """The name of each topic id."""

    @names.default
    def _names(self) -> Mapping[str, str]:
        return {topic.topic_id: name for name, topic in self.by_name.items()}

    def by_names(self, named: frozenset[tuple[str, int]]) -> Partitions:
        """Partitions of topics that exist, with ids in place of names."""
        known = ((self.by_name.get(name), partition) for name, partition in named)
        return frozenset((topic.topic_id, partition) for topic, partition in known if topic is not None)

    def named(self, partitions: Partitions) -> frozenset[tuple[str, int]]:
        """The inverse of `by_names`."""
        return frozenset((self.names[i], number) for i, number in partitions if i in self.names)


class GroupState(enum.Enum):
    """Kafka's names of the states of such a group."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
