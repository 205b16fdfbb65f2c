"""The requests of members and tools to a coordinator, as values. `group` is the group id in all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from ..coordinators.records import Producer
from ..coordinators.settings import not_negative, positive
from ..model.values import TopicPartition
from .consumer.values import Partitions
from .records import Committed


@attrs.frozen
class Join:
    """A member joins, or joins again. `member_id` empty: it has none yet, and gets one that ends in `fresh_id`.
    `requires_member_id`: it then has to ask again with that id (JoinGroup 4 and later). `skips_assignment`: it knows
    that a leader may be asked not to assign (9 and later). `protocols`: names with the member's metadata, preferred
    first. `principal`: the client's identity, empty if it has none."""

    group: str
    member_id: str
    fresh_id: str
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    requires_member_id: bool = False
    skips_assignment: bool = False
    principal: str = ""


@attrs.frozen
class Sync:
    """A member requests its assignment; the leader passes those of all members. `protocol_type`, `protocol`: None if
    the version of the request has no such field."""

    group: str
    generation: int
    member_id: str
    assignments: Mapping[str, bytes]
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None


@attrs.frozen
class Heartbeat:
    group: str
    generation: int
    member_id: str
    instance_id: str | None = None


def _everything(_: str) -> bool:
    return True


@attrs.frozen
class ConsumerHeartbeat:
    """ConsumerGroupHeartbeat (KIP-848). None, and -1 as a timeout: as before. `member_id` empty: it gets `fresh_id`.
    `owned`: the partitions that it has, by topic id. `sees`: whether the client may see a topic that its regular
    expression matches. `principal`: as in Join."""

    group: str
    member_id: str
    epoch: int
    fresh_id: str = ""
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Partitions | None = None
    client_id: str = ""
    client_host: str = ""
    principal: str = ""
    sees: Callable[[str], bool] = _everything


@attrs.frozen
class DescribeConsumers:
    """ConsumerGroupDescribe (KIP-848): read a group of the consumer protocol."""

    group: str


@attrs.frozen
class Leaving:
    """A member by its id, or by its instance id alone if `member_id` is empty."""

    member_id: str
    instance_id: str | None = None


@attrs.frozen
class Leave:
    """These members leave."""

    group: str
    members: tuple[Leaving, ...]


@attrs.frozen
class Commit:
    """Commit offsets. `generation` -1 and no member id: a client without a group protocol. `unknown`: the partitions
    that do not exist, and are refused. `principal`: as in Join. `producer`: the offsets are part of its transaction
    (KIP-98, KIP-447), and valid when that is committed."""

    group: str
    offsets: Mapping[TopicPartition, Committed]
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
    unknown: frozenset[TopicPartition] = frozenset()
    principal: str = ""
    producer: Producer | None = None


@attrs.frozen
class FetchOffsets:
    """Read committed offsets. `wanted` None: all of them. `requires_stable`: but not where an open transaction is about
    to replace them (KIP-447). `member_id` None: not as a member, with its epoch."""

    group: str
    wanted: tuple[TopicPartition, ...] | None
    requires_stable: bool = False
    member_id: str | None = None
    epoch: int = -1


@attrs.frozen
class DeleteOffsets:
    """Delete the committed offsets of these partitions. `unknown`: as in Commit."""

    group: str
    partitions: tuple[TopicPartition, ...]
    unknown: frozenset[TopicPartition] = frozenset()


@attrs.frozen
class Describe:
    """Read the state and the members of the group."""

    group: str


@attrs.frozen
class DeleteGroup:
    """Delete the group and its offsets."""

    group: str


GroupRequest: TypeAlias = (
    Join
    | Sync
    | Heartbeat
    | Leave
    | ConsumerHeartbeat
    | Commit
    | FetchOffsets
    | DeleteOffsets
    | Describe
    | DescribeConsumers
    | DeleteGroup
)


@attrs.frozen(kw_only=True)
class GroupSettings:
    """As Kafka's settings of brokers: `group.min.session.timeout.ms`, `group.max.session.timeout.ms`,
    `group.initial.rebalance.delay.ms`, `offset.metadata.max.bytes`, `group.max.size`, `offsets.retention.minutes` (here
    in ms) and `offsets.retention.check.interval.ms`. The delay is 3000 ms in Kafka's brokers and 0 in the file that it
    ships. Here it is short, so that tests do not wait, and not 0: kafka-python that leads a group before it has the
    metadata of its topics assigns nothing, and does not notice.

    Of the consumer protocol: `group.consumer.session.timeout.ms`, `group.consumer.heartbeat.interval.ms` (5000 ms in
    Kafka, shorter here, since a rebalance takes some intervals) and `group.consumer.max.size`.

    Bounds that Kafka does not have: `protocols_max` of a member, `member_bytes_max` of the protocols of a member and of
    its assignment, `held_bytes_max` of all groups of a process (`kedge.controller.groups.held`)."""

    session_timeout_min_ms: int = attrs.field(default=6000, validator=not_negative)
    session_timeout_max_ms: int = attrs.field(default=1_800_000, validator=not_negative)
    initial_rebalance_delay_ms: int = attrs.field(default=200, validator=not_negative)
    metadata_bytes_max: int = attrs.field(default=4096, validator=not_negative)
    members_max: int = attrs.field(default=1000, validator=positive)
    protocols_max: int = attrs.field(default=20, validator=positive)
    member_bytes_max: int = attrs.field(default=1024 * 1024, validator=positive)
    held_bytes_max: int = attrs.field(default=128 * 1024 * 1024, validator=positive)
    offsets_retention_ms: int = attrs.field(default=7 * 24 * 3_600_000, validator=positive)
    offsets_check_ms: int = attrs.field(default=600_000, validator=positive)
    consumer_session_timeout_ms: int = attrs.field(default=45_000, validator=positive)
    consumer_heartbeat_interval_ms: int = attrs.field(default=1_000, validator=positive)
    consumer_members_max: int = attrs.field(default=1000, validator=positive)
