"""The partitions of LeaderAndIsr and UpdateMetadata as bytes, in the versions of brokers since Kafka 2.4.

In: a request of the controller. Out: its field TopicStates. A failover with 200,000 partitions sends 600,000 states of
replicas, and the codec takes 15 us or more for each. Here a state of the usual shape (no move, no status, few replicas)
is packed at once. The bytes are those that the codec makes of `orders`, which is for older versions.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar
from uuid import UUID

from ...model.host import LeaderAndIsrPartition, LeaderAndIsrRequest, PartitionMetadata, UpdateMetadataRequest
from ..codec import UnsignedVarInt32
from ..reading import as_uuid
from .orders import lists_of

LEADER_AND_ISR_SINCE: Final = 4
UPDATE_METADATA_SINCE: Final = 6

State = TypeVar("State", bound=LeaderAndIsrPartition | PartitionMetadata)

_FEW: Final = 126  # ids in a list of which the count is a byte
_NONE: Final = 1  # the count of a list without elements: counts are one too large
_NO_TAGS: Final = 0
_STATUS, _TARGET = 20_000, 20_001  # tags
_FIRST: Final = struct.Struct(">iiii").pack  # partition, controller epoch, leader, leader epoch
_INT: Final = struct.Struct(">i").pack
_INT8: Final = struct.Struct(">b").pack
_FLAG: Final = struct.Struct(">?").pack
_NO_ID: Final = UUID(int=0)


def leader_and_isr(request: LeaderAndIsrRequest, version: int) -> bytes:
    """TopicStates of LeaderAndIsr, from version 4 up."""
    epoch, recovers = request.controller_epoch, version >= 6

    def state(p: LeaderAndIsrPartition) -> bytes:
        isr, replicas = p.isr, p.replicas
        if p.target_replicas is not None or p.status_code or len(isr) > _FEW or len(replicas) > _FEW:
            return _of_replica(p, epoch, recovers=recovers)
        first = (p.partition, epoch, p.leader, p.leader_epoch, len(isr) + 1, *isr, p.partition_epoch)
        lists = (len(replicas) + 1, *replicas, _NONE, _NONE)
        if recovers:
            pack = _packer("iiiiB", len(isr), "iB", len(replicas), "BB?bB")
            return pack(*first, *lists, p.is_new, p.leader_recovery_state, _NO_TAGS)
        return _packer("iiiiB", len(isr), "iB", len(replicas), "BB?B")(*first, *lists, p.is_new, _NO_TAGS)

    return _topics(request.partitions, state, has_id=version >= 5)


def update_metadata(request: UpdateMetadataRequest, version: int) -> bytes:
    """TopicStates of UpdateMetadata, from version 6 up."""
    epoch = request.controller_epoch

    def state(p: PartitionMetadata) -> bytes:
        isr, replicas = p.isr, p.replicas
        if p.offline_replicas or p.status_code or len(isr) > _FEW or len(replicas) > _FEW:
            return _of_metadata(p, epoch)
        pack = _packer("iiiiB", len(isr), "iB", len(replicas), "BB")
        first = (p.partition, epoch, p.leader, p.leader_epoch, len(isr) + 1, *isr, p.partition_epoch)
        return pack(*first, len(replicas) + 1, *replicas, _NONE, _NO_TAGS)

    return _topics(request.partitions, state, has_id=version >= 7)


@functools.cache
def _packer(first: str, isr: int, between: str, replicas: int, rest: str) -> Callable[..., bytes]:
    return struct.Struct(f">{first}{isr}i{between}{replicas}i{rest}").pack


def _topics(partitions: Iterable[State], state: Callable[[State], bytes], *, has_id: bool) -> bytes:
    topics: dict[tuple[str, str], list[bytes]] = {}
    for p in partitions:
        topics.setdefault((p.topic, p.topic_id), []).append(state(p))
    pieces = [_count(len(topics))]
    for (topic, topic_id), made in topics.items():
        name = topic.encode()
        pieces += (_count(len(name)), name, (as_uuid(topic_id) or _NO_ID).bytes if has_id else b"")
        pieces += (_count(len(made)), *made, _tags({}))
    return b"".join(pieces)


# --- a state of any shape


def _of_replica(p: LeaderAndIsrPartition, epoch: int, *, recovers: bool) -> bytes:
    replicas, adding, removing = lists_of(p, p.target_replicas)
    tags = {} if p.target_replicas is None else {_TARGET: _ids(p.target_replicas)}
    return b"".join((
        _first(p, epoch),
        *map(_ids, (replicas, adding, removing)),
        _FLAG(p.is_new),
        _INT8(p.leader_recovery_state) if recovers else b"",
        _tags(_status(p) | tags),
    ))  # fmt: skip


def _of_metadata(p: PartitionMetadata, epoch: int) -> bytes:
    return b"".join((_first(p, epoch), _ids(p.replicas), _ids(p.offline_replicas), _tags(_status(p))))


def _first(p: LeaderAndIsrPartition | PartitionMetadata, epoch: int) -> bytes:
    return _FIRST(p.partition, epoch, p.leader, p.leader_epoch) + _ids(p.isr) + _INT(p.partition_epoch)


def _status(p: LeaderAndIsrPartition | PartitionMetadata) -> dict[int, bytes]:
    return {_STATUS: _INT8(p.status_code)} if p.status_code else {}


def _ids(ids: Sequence[int]) -> bytes:
    return _count(len(ids)) + struct.pack(f">{len(ids)}i", *ids)


def _count(elements: int) -> bytes:
    return bytes(UnsignedVarInt32.encode(elements + 1))


def _tags(tags: Mapping[int, bytes]) -> bytes:
    """Tagged fields, by rising number."""
    number = UnsignedVarInt32.encode
    pieces = [number(len(tags))]
    for tag, value in tags.items():
        pieces += (number(tag), number(len(value)), value)
    return b"".join(pieces)
