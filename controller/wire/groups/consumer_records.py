"""Records of groups of the consumer protocol (KIP-848) as bytes in Kafka's format, and what their members send."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from ...groups.consumer.values import (
    ClassicProtocols,
    ConsumerRecord,
    Current,
    GroupEpoch,
    Kind,
    MemberState,
    Partitions,
    Resolved,
    Subscriber,
    Target,
    TargetEpoch,
    Value,
)
from ...groups.records import Subscription
from .. import patterns
from ..messages import MESSAGES
from ..protocol import build
from ..reading import as_text, as_uuid

_NAMED: Final = frozenset({Kind.MEMBER, Kind.TARGET, Kind.CURRENT, Kind.REGEX})
_SHORT: Final = struct.Struct(">h")
_NO_ID: Final = UUID(int=0)


class MemberBytes:
    """A `MemberCodec`."""

    def subscription(self, metadata: bytes) -> Subscription | None:
        """None for what is no subscription."""
        try:
            read = ConsumerProtocolSubscription.decode(metadata, header=True)
            owned = _flat((each.topic, each.partitions) for each in read.owned_partitions or ())
            return Subscription(frozenset(read.topics), owned, read.rack_id)
        except Exception:  # noqa: BLE001 - whatever the codec makes of a stranger's bytes
            return None

    def assigned(self, assignment: bytes) -> Partitions | None:
        """The partitions by topic name, none if nothing was assigned; None for what is no assignment."""
        try:
            read = ConsumerProtocolAssignment.decode(assignment, header=True) if assignment else None
            return _flat((each.topic, each.partitions) for each in (read.assigned_partitions if read else ()))
        except Exception:  # noqa: BLE001 - as above
            return None

    def assignment(self, partitions: Partitions) -> bytes:
        """In version 0, which every client reads."""
        topics = [{"topic": topic, "partitions": numbers} for topic, numbers in _grouped(partitions).items()]
        return bytes(build(ConsumerProtocolAssignment, 0, {"assigned_partitions": topics}).encode(header=True))

    def matching(self, regex: str) -> Callable[[str], bool]:
        """ValueError for what is no regular expression."""
        return patterns.compiled(regex)


def written(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    """Key and value."""
    names = (record.group, record.name) if record.kind in _NAMED else (record.group,)
    texts = [name.encode() for name in names]
    key = b"".join([_SHORT.pack(record.kind), *(_SHORT.pack(len(text)) + text for text in texts)])
    if record.value is None:
        return key, None
    name, fields_of, _ = _VALUES[record.kind]
    return key, bytes(build(MESSAGES[name], 0, fields_of(record.value)).encode(header=True))


def read(key: bytes, value: bytes | None) -> ConsumerRecord:
    """Raises ValueError, struct.error or the like for bytes that cannot be read, and for other kinds."""
    kind = Kind(*_SHORT.unpack_from(key))
    name, _, value_of = _VALUES[kind]
    texts, place = [], _SHORT.size
    while place < len(key):
        (size,) = _SHORT.unpack_from(key, place)
        place += _SHORT.size + size
        texts.append(key[place - size : place].decode())
    group, member = (*texts, "") if kind not in _NAMED else texts
    return ConsumerRecord(group, kind, member, None if value is None else value_of(MESSAGES[name].decode(bytes(value))))


def rows_of(partitions: Partitions) -> list[dict[str, Any]]:
    """Partitions as Kafka's TopicPartitions."""
    return [{"topic_id": as_uuid(i) or _NO_ID, "partitions": parts} for i, parts in _grouped(partitions).items()]


def partitions_of(rows: Iterable[Any]) -> Partitions:
    """The inverse of `rows_of`."""
    return _flat((as_text(each.topic_id), each.partitions) for each in rows)


def _grouped(partitions: Partitions) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return found


def _flat(topics: Iterable[tuple[str, Iterable[int]]]) -> Partitions:
    return frozenset((topic, number) for topic, numbers in topics for number in numbers)


def _subscriber_fields(said: Subscriber) -> dict[str, Any]:
    classic = said.classic
    protocols = () if classic is None else classic.protocols
    return {
        "instance_id": said.instance_id,
        "rack_id": said.rack,
        "client_id": said.client_id,
        "client_host": said.client_host,
        "subscribed_topic_names": sorted(said.topics),
        "subscribed_topic_regex": said.regex or None,
        "rebalance_timeout_ms": said.rebalance_timeout_ms,
        "server_assignor": said.assignor,
        "classic_member_metadata": classic
        and {
            "session_timeout_ms": classic.session_timeout_ms,
            "supported_protocols": [{"name": name, "metadata": metadata} for name, metadata in protocols],
        },
    }


def _subscriber(read: Any) -> Subscriber:
    classic = read.classic_member_metadata
    return Subscriber(
        read.client_id,
        read.client_host,
        frozenset(read.subscribed_topic_names),
        read.subscribed_topic_regex or "",
        read.instance_id,
        read.rack_id,
        read.rebalance_timeout_ms,
        read.server_assignor,
        None if classic is None else _protocols(classic),
    )


def _protocols(read: Any) -> ClassicProtocols:
    protocols = tuple((each.name, bytes(each.metadata)) for each in read.supported_protocols)
    return ClassicProtocols(read.session_timeout_ms, protocols)


def _current_fields(current: Current) -> dict[str, Any]:
    return {
        "member_epoch": current.epoch,
        "previous_member_epoch": current.previous_epoch,
        "state": int(current.state),
        "assigned_partitions": rows_of(current.assigned),
        "partitions_pending_revocation": rows_of(current.revoking),
    }


def _current(read: Any) -> Current:
    owned = (partitions_of(read.assigned_partitions), partitions_of(read.partitions_pending_revocation))
    return Current(read.member_epoch, read.previous_member_epoch, MemberState(read.state), *owned)


_VALUES: Final[Mapping[Kind, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Value]]]] = {
    Kind.GROUP: (
        "ConsumerGroupMetadataValue",
        lambda value: {"epoch": value.epoch, "metadata_hash": value.metadata_hash},
        lambda read: GroupEpoch(read.epoch, read.metadata_hash),
    ),
    Kind.MEMBER: ("ConsumerGroupMemberMetadataValue", _subscriber_fields, _subscriber),
    Kind.TARGET_EPOCH: (
        "ConsumerGroupTargetAssignmentMetadataValue",
        lambda value: {"assignment_epoch": value.epoch},
        lambda read: TargetEpoch(read.assignment_epoch),
    ),
    Kind.TARGET: (
        "ConsumerGroupTargetAssignmentMemberValue",
        lambda value: {"topic_partitions": rows_of(value.partitions)},
        lambda read: Target(partitions_of(read.topic_partitions)),
    ),
    Kind.CURRENT: ("ConsumerGroupCurrentMemberAssignmentValue", _current_fields, _current),
    Kind.REGEX: (
        "ConsumerGroupRegularExpressionValue",
        lambda value: {"topics": sorted(value.topics), "metadata_version": 0, "timestamp": value.ms},
        lambda read: Resolved(frozenset(read.topics), read.timestamp),
    ),
}
"""The value of each kind: its schema, its fields, and the way back."""
