"""The messages of `orders`, each in its newest version, back as the requests that they were made from. Values only.

Ids and epochs are checked when a request arrives, because a broker keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from ...codec.text import EPOCH_MAX, INT32_MAX
from ...model.errors import InvalidRequest
from ...model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.reductions import OFFLINE, READ_ONLY
from ...model.values import LEADER_DURING_DELETE, NO_EPOCH, Endpoint
from ..protocol import Request
from ..reading import as_text
from .orders import FULL, PROTOCOLS

_NAMES = {number: name for name, number in PROTOCOLS.items()}


def leader_and_isr(request: Request, broker_id: int) -> LeaderAndIsrRequest:
    """Version 7. R is `replicas` without `adding_replicas`; T is the tag, or follows from these two and
    `removing_replicas` where a controller does not send the tag."""
    partitions = tuple(
        LeaderAndIsrPartition(
            topic=topic,
            topic_id=topic_id,
            partition=state.partition_index,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(state.isr),
            partition_epoch=state.partition_epoch,
            replicas=tuple(b for b in state.replicas if b not in state.adding_replicas),
            target_replicas=_target(state),
            is_new=state.is_new,
            status_code=state.status_code,
            leader_recovery_state=state.leader_recovery_state,
        )
        for topic, topic_id, state in _states(request.topic_states)
    )
    leaders = tuple(LivePeer(each.broker_id, each.host_name, each.port, None) for each in request.live_leaders)
    is_full = request.request_type == FULL
    return LeaderAndIsrRequest(broker_id, *_controller(request), is_full, partitions, leaders)


def _target(state: Any) -> tuple[int, ...] | None:
    if state.target_replicas is not None:
        return tuple(state.target_replicas)
    if not state.adding_replicas and not state.removing_replicas:
        return None
    return tuple(b for b in state.replicas if b not in state.removing_replicas)


def update_metadata(request: Request, broker_id: int) -> UpdateMetadataRequest:
    """Version 8."""
    partitions = tuple(
        PartitionMetadata(
            topic=topic,
            topic_id=topic_id,
            partition=state.partition_index,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(state.isr),
            partition_epoch=state.zk_version,
            replicas=tuple(state.replicas),
            offline_replicas=tuple(state.offline_replicas),
            status_code=state.status_code,
        )
        for topic, topic_id, state in _states(request.topic_states)
    )
    peers = tuple(_peer(each) for each in request.live_brokers)
    is_full = request.request_type == FULL
    return UpdateMetadataRequest(broker_id, *_controller(request), is_full, peers, partitions)


def _peer(broker: Any) -> LivePeer:
    endpoints = tuple(
        Endpoint(each.listener, each.host, each.port, _NAMES.get(each.security_protocol, "PLAINTEXT"))
        for each in broker.endpoints
    )
    host, port = (endpoints[0].host, endpoints[0].port) if endpoints else ("", -1)
    return LivePeer(broker.id, host, port, broker.rack, endpoints)


def stop_replica(request: Request, broker_id: int) -> StopReplicaRequest:
    """Version 4."""
    partitions = tuple(
        StopReplicaPartition(topic, topic_id, state.partition_index, state.leader_epoch, state.delete_partition)
        for topic, topic_id, state in _states(request.topic_states)
    )
    return StopReplicaRequest(broker_id, *_controller(request), partitions)


def _controller(request: Request) -> tuple[int, int, int]:
    return request.broker_epoch, request.controller_id, request.controller_epoch


def _states(topics: Iterable[Any]) -> Iterator[tuple[str, str, Any]]:
    for topic in topics:
        topic_id = _text(topic.topic_id)
        for state in topic.partition_states:
            yield topic.topic_name, topic_id, state


def _text(topic_id: UUID | None) -> str:
    return "" if topic_id is None else as_text(topic_id)


_INT64_MAX: Final = 2**63 - 1


def require_sound(order: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> None:
    """Raises InvalidRequest if an id or an epoch is out of range, with its name."""
    _within("controller_id", order.controller_id, 0)
    _within("controller_epoch", order.controller_epoch, 0, EPOCH_MAX)
    _within("broker_epoch", order.broker_epoch, 0, _INT64_MAX)
    if isinstance(order, UpdateMetadataRequest):
        _ids("live_brokers", (peer.broker_id for peer in order.live_brokers))
    for p in order.partitions:
        if not p.topic or not p.topic_id:
            raise InvalidRequest(f"a topic without a name or an id: {p.topic!r:.80}")
        _within("partition", p.partition, 0)
        _within("leader_epoch", p.leader_epoch, NO_EPOCH, EPOCH_MAX)
        if isinstance(p, LeaderAndIsrPartition):
            _require_known(p)
            _ids("target_replicas", p.target_replicas or ())
            _within("leader_recovery_state", p.leader_recovery_state, 0, 1)
        elif isinstance(p, PartitionMetadata):
            _require_known(p)
            _ids("offline_replicas", p.offline_replicas)


def _require_known(p: LeaderAndIsrPartition | PartitionMetadata) -> None:
    _within("leader", p.leader, LEADER_DURING_DELETE)
    _within("partition_epoch", p.partition_epoch, NO_EPOCH)
    _ids("isr", p.isr)
    _ids("replicas", p.replicas)
    _within("status_code", p.status_code, READ_ONLY, OFFLINE)


def _ids(name: str, ids: Iterable[int]) -> None:
    for each in ids:
        _within(name, each, 0)


def _within(name: str, number: int, low: int, high: int = INT32_MAX) -> None:
    if not low <= number <= high:
        raise InvalidRequest(f"{name} {number} is not within {low}..{high}")
