"""Records of `__consumer_offsets` to a batch and back, in Kafka's format, by kafka-python's codec.

* Written are key versions 1 and 2 and value version 3, as by Kafka 3.9. Read are all of the classic protocol.
* Keys of versions above 2 belong to the consumer protocol (`consumer_records`), or to KIP-932 and are passed over.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import attrs

from ...coordinators.records import Producer
from ...groups.consumer.values import ConsumerRecord
from ...groups.records import Committed, GroupRecord, OffsetRecord, Record, StoredGroup, StoredMember
from ...model.logs import Batch, StoredBatch
from ...model.values import TopicPartition
from ..data.batches import packed, pairs, transactional
from ..messages import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue
from ..protocol import build
from . import consumer_records
from .consumer_records import MemberBytes

OFFSET_KEY: Final = 1
GROUP_KEY: Final = 2
VALUE: Final = 3
_KEYS: Final = 10_000
_GROUP_ID_MAX: Final = 255  # characters; keys with longer ones are not kept, since a client may invent any
_VERSION: Final = struct.Struct(">h")


_Place = tuple[int, bytes | None]
"""The offset of a batch, and the value of a record in it."""


class GroupRecords(MemberBytes):
    """A `GroupCodec`."""

    def encode(self, records: Sequence[Record], now_ms: int, producer: Producer | None = None) -> Batch:
        """One batch with all of them, in this order."""
        batch = packed(map(_written, records), now_ms)
        return batch if producer is None else transactional(batch, producer.producer_id, producer.producer_epoch)

    def decode(self, batches: Iterable[StoredBatch]) -> list[Record]:
        """The last valid record of each key, without unknown keys, and offsets in open transactions. No other value is
        decoded."""
        last: dict[bytes, _Place] = {}
        open_now: dict[int, dict[bytes, _Place]] = {}
        for stored in batches:
            batch = stored.batch
            if batch.marker is not None:
                ended = open_now.pop(batch.producer_id, {})
                for key, place in ended.items() if batch.marker.is_commit else ():
                    _put(last, key, place)
                continue
            target = open_now.setdefault(batch.producer_id, {}) if batch.is_transactional else last
            for key, value in pairs(stored):
                _put(target, key, (stored.base_offset, value))
        return [*_records(last), *_still_open(last, open_now)]


def _put(target: dict[bytes, _Place], key: bytes, place: _Place) -> None:
    """At the end, unless the present value was written later."""
    if key not in target or target[key][0] <= place[0]:
        target.pop(key, None)
        target[key] = place


def _records(places: Mapping[bytes, _Place]) -> Iterator[Record]:
    found = (_read(key, value) for key, (_, value) in places.items())
    return (record for record in found if record is not None)


def _still_open(last: Mapping[bytes, _Place], open_now: Mapping[int, Mapping[bytes, _Place]]) -> Iterator[Record]:
    """Those in open transactions that were not written again since, in the order of the log."""
    found = [(place, key, producer) for producer, places in open_now.items() for key, place in places.items()]
    for place, key, producer_id in sorted(found, key=lambda each: each[0][0]):
        record = _read(key, place[1]) if key not in last or last[key][0] < place[0] else None
        if isinstance(record, OffsetRecord):
            yield attrs.evolve(record, producer_id=producer_id)


def _written(record: Record) -> tuple[bytes, bytes | None]:
    if isinstance(record, GroupRecord):
        key = build(GroupMetadataKey, GROUP_KEY, {"group": record.group})
        return _bytes(key), None if record.stored is None else _bytes(_group(record.stored))
    if isinstance(record, ConsumerRecord):
        return consumer_records.written(record)
    is_short = len(record.group) <= _GROUP_ID_MAX
    key = (_offset_key if is_short else _offset_key.__wrapped__)(record.group, record.tp)
    committed = record.committed
    if committed is None:
        return key, None
    fields = {
        "offset": committed.offset,
        "leader_epoch": committed.leader_epoch,
        "metadata": committed.metadata,
        "commit_timestamp": committed.commit_ms,
    }
    return key, _bytes(build(OffsetCommitValue, VALUE, fields))


@functools.lru_cache(_KEYS)
def _offset_key(group: str, tp: TopicPartition) -> bytes:
    """Cached, because the same keys repeat."""
    return _bytes(build(OffsetCommitKey, OFFSET_KEY, {"group": group, "topic": tp.topic, "partition": tp.partition}))


def _bytes(message: Any) -> bytes:
    return bytes(message.encode(header=True))


def _group(stored: StoredGroup) -> Any:
    fields = {
        "protocol_type": stored.protocol_type,
        "generation": stored.generation,
        "protocol": stored.protocol,
        "leader": stored.leader,
        "current_state_timestamp": stored.state_ms,
        "members": [_member(member) for member in stored.members],
    }
    return build(GroupMetadataValue, VALUE, fields)


def _member(member: StoredMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout": member.rebalance_timeout_ms,
        "session_timeout": member.session_timeout_ms,
        "subscription": member.subscription,
        "assignment": member.assignment,
    }


def _read(key: bytes, value: bytes | None) -> Record | None:
    """None for another kind of record, or for bytes that cannot be read."""
    with suppress(ValueError, IndexError, struct.error, TypeError, KeyError):
        return _decoded(key, value)
    return None


def _decoded(key: bytes, value: bytes | None) -> Record | None:
    (version,) = _VERSION.unpack_from(key)
    if version == GROUP_KEY:
        group = GroupMetadataKey.decode(bytes(key)).group
        return GroupRecord(group, None if value is None else _stored(GroupMetadataValue.decode(bytes(value))))
    if version > GROUP_KEY:
        return consumer_records.read(bytes(key), value)
    read = OffsetCommitKey.decode(bytes(key))
    return OffsetRecord(read.group, TopicPartition(read.topic, read.partition), _committed(value))


def _committed(value: bytes | None) -> Committed | None:
    if value is None:
        return None
    read = OffsetCommitValue.decode(bytes(value))
    epoch = -1 if read.leader_epoch is None else read.leader_epoch
    return Committed(read.offset, epoch, read.metadata, read.commit_timestamp)


def _stored(read: Any) -> StoredGroup:
    members = tuple(
        StoredMember(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            -1 if m.rebalance_timeout is None else m.rebalance_timeout,
            m.session_timeout,
            bytes(m.subscription),
            bytes(m.assignment),
        )
        for m in read.members
    )
    state_ms = -1 if read.current_state_timestamp is None else read.current_state_timestamp
    return StoredGroup(read.protocol_type, read.generation, read.protocol, read.leader, state_ms, members)
