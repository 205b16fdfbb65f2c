"""What is sent to a broker, built from the committed state at the moment it goes out: never stale, however long it was
dirty."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from controller.model.values import LEADER_DURING_DELETE, TARGETS_SINCE, Broker, DeleteIntent, Partition
from controller.model.view import is_up
from controller.state import ClusterState


class Builder:
    """Builds the requests of one moment. What several brokers are told alike is made once: metadata is the same for
    all, and of LeaderAndIsr only `is_new` and the targets differ. Thrown away when the state moves on. `unheard`: who
    has heard nothing yet of a partition that was created in this term; `stopped`: how it is said that one goes."""

    def __init__(
        self, state: ClusterState, unheard: Mapping[int, Container[int]], stopped: Mapping[int, PartitionMetadata]
    ) -> None:
        self._state = state
        self._unheard = unheard
        self._stopped = stopped
        self._peers = tuple(_peer(state.brokers[broker_id]) for broker_id in sorted(state.brokers))
        self._metadata: dict[int, PartitionMetadata] = {}
        self._members: dict[tuple[int, bool, bool], LeaderAndIsrPartition] = {}

    def leader_and_isr(self, broker: Broker, numbers: Iterable[int], *, full: bool) -> LeaderAndIsrRequest:
        """The partitions of `numbers` that the broker is a member of and that have a state."""
        state, broker_id = self._state, broker.broker_id
        knows_targets = broker.registration.leader_and_isr_version >= TARGETS_SINCE
        partitions = []
        for number in numbers:
            partition = state.rows[number]
            if partition is None or not partition.isr or partition.leader == LEADER_DURING_DELETE:
                continue
            move = partition.move
            if broker_id not in partition.replicas and (move is None or broker_id not in move.target):
                continue
            is_new = broker_id not in partition.isr or broker_id in self._unheard.get(number, ())
            key = (number, is_new, knows_targets)
            told = self._members.get(key)
            if told is None:
                told = self._members[key] = self._member(number, partition, is_new=is_new, targets=knows_targets)
            partitions.append(told)
        return LeaderAndIsrRequest(
            broker_id,
            broker.epoch,
            state.controller_id,
            state.controller_epoch,
            full and not state.problems,
            tuple(partitions),
            self._peers,
        )

    def _member(self, number: int, partition: Partition, *, is_new: bool, targets: bool) -> LeaderAndIsrPartition:
        topic = self._state.topics[partition.topic].topic
        return LeaderAndIsrPartition(
            partition.topic,
            topic.topic_id,
            partition.partition,
            partition.leader,
            partition.leader_epoch,
            partition.isr,
            self._state.generations[number],
            partition.replicas,
            partition.target_replicas if targets else None,
            is_new or partition.leader_epoch == topic.created_epoch(partition.partition),
            partition.status_code,
            partition.leader_recovery_state,
        )

    def update_metadata(self, broker: Broker, numbers: Iterable[int], *, full: bool) -> UpdateMetadataRequest:
        """The partitions of `numbers` that have a state; and those that are gone, unless `full`, which says so by not
        naming them."""
        state, made = self._state, self._metadata
        partitions: list[PartitionMetadata] = []
        for number in numbers:
            told = made.get(number)
            if told is None:
                partition = state.rows[number]
                if partition is None or not partition.isr:
                    gone = None if full else self._stopped.get(number)
                    partitions += () if gone is None else (gone,)
                    continue
                told = made[number] = metadata_of(state, number, partition)
            partitions.append(told)
        return UpdateMetadataRequest(
            broker.broker_id,
            broker.epoch,
            state.controller_id,
            state.controller_epoch,
            full and not state.problems,
            self._peers,
            tuple(partitions),
        )

    def stop_replica(self, broker: Broker, intents: Iterable[DeleteIntent]) -> StopReplicaRequest:
        """Deletions that are open."""
        state = self._state
        partitions = tuple(
            [StopReplicaPartition(i.topic, i.topic_id, i.partition, i.leader_epoch, delete=True) for i in intents]
        )
        return StopReplicaRequest(
            broker.broker_id, broker.epoch, state.controller_id, state.controller_epoch, partitions
        )


def metadata_of(state: ClusterState, number: int, partition: Partition) -> PartitionMetadata:
    """What brokers are told of a partition that has a state."""
    return PartitionMetadata(
        partition.topic,
        state.topics[partition.topic].topic.topic_id,
        partition.partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        state.generations[number],
        partition.replicas,
        tuple([b for b in partition.replicas if not is_up(state, partition, b)]),
        partition.status_code,
    )


def _peer(broker: Broker) -> LivePeer:
    said = broker.registration
    return LivePeer(said.broker_id, said.host, said.port, said.rack, said.endpoints)
