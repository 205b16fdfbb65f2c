"""The records of `__consumer_offsets` as values. The newest record of each key is valid.

A `GroupCodec` turns them into bytes in Kafka's format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import attrs

from ..coordinators.records import RecordCodec
from ..model.logs import NO_PRODUCER
from ..model.values import TopicPartition
from .consumer.values import ConsumerRecord


@attrs.frozen
class Committed:
    """A committed offset. `leader_epoch` -1: unknown to the client. `commit_ms` 0: the
    coordinator sets it."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0


@attrs.frozen
class StoredMember:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@attrs.frozen
class StoredGroup:
    """A generation of a group with its assignment. `protocol`, `leader`: None if it has no members; the leader also in
    a rebalance."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int
    members: tuple[StoredMember, ...] = ()


@attrs.frozen
class OffsetRecord:
    """The offset that a group has committed for a partition; None: it is deleted. `producer_id`: whose open transaction
    it is part of, -1 where it is valid."""

    group: str
    tp: TopicPartition
    committed: Committed | None
    producer_id: int = NO_PRODUCER

    @property
    def key(self) -> tuple[str, TopicPartition, int]:
        """The newest record with this key is valid."""
        return self.group, self.tp, self.producer_id

    @property
    def is_deleted(self) -> bool:
        return self.committed is None

    @property
    def bytes_min(self) -> int:
        """It has no fewer when it is encoded."""
        metadata = "" if self.committed is None else self.committed.metadata
        return len(self.group) + len(self.tp.topic) + len(metadata)


@attrs.frozen
class GroupRecord:
    """The current generation of a group; None: the group is deleted."""

    group: str
    stored: StoredGroup | None

    @property
    def key(self) -> str:
        """The newest record with this key is valid."""
        return self.group

    @property
    def is_deleted(self) -> bool:
        return self.stored is None

    @property
    def bytes_min(self) -> int:
        """It has no fewer when it is encoded."""
        members = () if self.stored is None else self.stored.members
        brought = sum(len(m.member_id) + len(m.client_id) + len(m.subscription) + len(m.assignment) for m in members)
        return len(self.group) + brought


Record: TypeAlias = OffsetRecord | GroupRecord | ConsumerRecord


@attrs.frozen
class Subscription:
    """What a member of the protocol type `consumer` brings as metadata. `owned`: the partitions that it keeps while the
    group rebalances (KIP-429)."""

    topics: frozenset[str]
    owned: frozenset[tuple[str, int]] = frozenset()
    rack: str | None = None


class MemberCodec(Protocol):
    """What members of the protocol type `consumer` send and get as bytes, and their regular expressions."""

    def subscription(self, metadata: bytes) -> Subscription | None:
        """None if it cannot be read."""

    def assigned(self, assignment: bytes) -> frozenset[tuple[str, int]] | None:
        """The partitions, by topic name, that a leader assigned to a member; None if it cannot be read."""

    def assignment(self, partitions: frozenset[tuple[str, int]]) -> bytes:
        """The inverse of `assigned`."""

    def matching(self, regex: str) -> Callable[[str], bool]:
        """Whether the expression matches the whole of a name. ValueError: it is none."""


class GroupCodec(RecordCodec[Record], MemberCodec, Protocol):
    """Encodes records as a batch, and decodes batches."""
