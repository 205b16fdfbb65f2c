"""The messages of `orders`, each in its newest version, back as the requests that they were made from. Values only.

Only a controller of Kedge sends them here, so they have its tagged fields, and what it may send is not checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from ...model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import Endpoint
from ..protocol import Request
from ..reading import as_text
from .orders import FULL, PROTOCOLS

_NAMES = {number: name for name, number in PROTOCOLS.items()}


def leader_and_isr(request: Request, broker_id: int) -> LeaderAndIsrRequest:
    """Version 7. R is `replicas` without `adding_replicas`; T is the tag."""
    partitions = tuple(
        LeaderAndIsrPartition(
            **_common(topic, topic_id, state),
            partition_epoch=state.partition_epoch,
            replicas=tuple(b for b in state.replicas if b not in state.adding_replicas),
            target_replicas=None if state.target_replicas is None else tuple(state.target_replicas),
            is_new=state.is_new,
            leader_recovery_state=state.leader_recovery_state,
        )
        for topic, topic_id, state in _states(request.topic_states)
    )
    leaders = tuple(LivePeer(each.broker_id, each.host_name, each.port, None) for each in request.live_leaders)
    is_full = request.request_type == FULL
    return LeaderAndIsrRequest(broker_id, *_controller(request), is_full, partitions, leaders)


def update_metadata(request: Request, broker_id: int) -> UpdateMetadataRequest:
    """Version 8."""
    partitions = tuple(
        PartitionMetadata(
            **_common(topic, topic_id, state),
            partition_epoch=state.zk_version,
            replicas=tuple(state.replicas),
            offline_replicas=tuple(state.offline_replicas),
        )
        for topic, topic_id, state in _states(request.topic_states)
    )
    peers = tuple(_peer(each) for each in request.live_brokers)
    is_full = request.request_type == FULL
    return UpdateMetadataRequest(broker_id, *_controller(request), is_full, peers, partitions)


def _common(topic: str, topic_id: str, state: Any) -> dict[str, Any]:
    """The fields of a partition that both messages have."""
    return {
        "topic": topic,
        "topic_id": topic_id,
        "partition": state.partition_index,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": tuple(state.isr),
        "status_code": state.status_code,
    }


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
