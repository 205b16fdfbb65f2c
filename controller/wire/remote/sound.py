"""Checks the ids and epochs of a controller's request when it arrives, because a broker keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.codec.text import EPOCH_MAX, INT32_MAX
from controller.model.errors import InvalidRequest
from controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from controller.model.reductions import OFFLINE, READ_ONLY
from controller.model.values import LEADER_DURING_DELETE, NO_EPOCH

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
