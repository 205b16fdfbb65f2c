"""What is sent to a broker, built from the committed state at the moment it goes out: never stale, however long it was
dirty."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from controller.model.values import Broker, DeleteIntent, Partition
from controller.model.view import is_alive
from controller.state import ClusterState

_TARGETS_SINCE = 3  # LeaderAndIsr version that carries target_replicas


def peers(state: ClusterState) -> tuple[LivePeer, ...]:
    """The live brokers, by id."""
    return tuple(_peer(state.brokers[broker_id]) for broker_id in sorted(state.brokers))


def _peer(broker: Broker) -> LivePeer:
    said = broker.registration
    return LivePeer(said.broker_id, said.host, said.port, said.rack, said.endpoints)


def leader_and_isr(
    state: ClusterState, broker: Broker, numbers: Iterable[int], live: tuple[LivePeer, ...], *, full: bool
) -> LeaderAndIsrRequest:
    """The partitions of `numbers` that the broker is a member of and that have a state."""
    knows_targets = broker.registration.leader_and_isr_version >= _TARGETS_SINCE
    partitions = []
    for number in numbers:
        partition = state.rows[number]
        if partition is not None and partition.has_state and broker.broker_id in partition.members:
            epoch = state.generations[number]
            partitions.append(_member(state, partition, epoch, broker.broker_id, knows_targets=knows_targets))
    return LeaderAndIsrRequest(
        broker.broker_id,
        broker.epoch,
        state.controller_id,
        state.controller_epoch,
        full and not state.problems,
        tuple(partitions),
        live,
    )


def _member(
    state: ClusterState, partition: Partition, epoch: int, broker: int, *, knows_targets: bool
) -> LeaderAndIsrPartition:
    topic = state.topics[partition.topic].topic
    joining = partition.move is not None and broker in partition.move.target and broker not in partition.isr
    return LeaderAndIsrPartition(
        partition.topic,
        topic.topic_id,
        partition.partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        epoch,
        partition.replicas,
        partition.target_replicas if knows_targets else None,
        joining or partition.leader_epoch == topic.created_epoch(partition.partition),
        partition.status_code,
        partition.leader_recovery_state,
    )


def update_metadata(
    state: ClusterState, broker: Broker, numbers: Iterable[int], live: tuple[LivePeer, ...], *, full: bool
) -> UpdateMetadataRequest:
    """The partitions of `numbers` that have a state."""
    found = ((number, state.rows[number]) for number in numbers)
    partitions = tuple(
        _metadata(state, partition, state.generations[number])
        for number, partition in found
        if partition is not None and partition.has_state
    )
    return UpdateMetadataRequest(
        broker.broker_id,
        broker.epoch,
        state.controller_id,
        state.controller_epoch,
        full and not state.problems,
        live,
        partitions,
    )


def _metadata(state: ClusterState, partition: Partition, epoch: int) -> PartitionMetadata:
    return PartitionMetadata(
        partition.topic,
        state.topics[partition.topic].topic.topic_id,
        partition.partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        epoch,
        partition.replicas,
        tuple(b for b in partition.replicas if not is_alive(state, partition, b)),
        partition.status_code,
    )


def stop_replica(state: ClusterState, broker: Broker, intents: Iterable[DeleteIntent]) -> StopReplicaRequest:
    """Deletions that are open."""
    partitions = tuple(
        StopReplicaPartition(i.topic, i.topic_id, i.partition, i.leader_epoch, delete=True) for i in intents
    )
    return StopReplicaRequest(
        broker.broker_id, broker.epoch, state.controller_id, state.controller_epoch, partitions
    )
