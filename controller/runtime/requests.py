"""Builds the requests to a broker from the committed state when they are sent, so that they are never stale."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from ..model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    Shared,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ..model.reductions import OFFLINE
from ..model.values import LEADER_DURING_DELETE, TARGETS_SINCE, Broker, DeleteIntent, Partition, Replicas
from ..model.view import is_up
from ..state import ClusterState

_Told: TypeAlias = tuple[Sequence[int], LeaderAndIsrPartition | None, Sequence[int], LeaderAndIsrPartition | None]
"""For a partition: the brokers that get it, and what; the brokers that may create its log, and what they get."""

_NOBODY: Final[_Told] = ((), None, (), None)


class Builder:
    """Builds the requests of one moment, and is dropped when the state changes. Parts that several brokers get are
    built once: metadata is the same for all, and LeaderAndIsr differs only in `is_new` and the targets. `unheard`:
    brokers that have not yet received a partition created in this term; `stopped`: the last metadata of partitions that
    end."""

    def __init__(
        self, state: ClusterState, unheard: Mapping[int, Container[int]], stopped: Mapping[int, PartitionMetadata]
    ) -> None:
        self._state = state
        self._unheard = unheard
        self._stopped = stopped
        self._peers = tuple(_peer(state.brokers[broker_id]) for broker_id in sorted(state.brokers))
        self._rows: dict[int, Partition | None] = {}  # everything built from a row shares its tuples
        self._metadata: dict[int, PartitionMetadata] = {}
        self._changed: dict[int, tuple[PartitionMetadata, ...]] = {}
        self._everything: tuple[PartitionMetadata, ...] | None = None
        self._offline: dict[Replicas, Replicas] = {}
        self._members: dict[bool, dict[int, _Told]] = {False: {}, True: {}}  # by whether a broker knows targets

    def leader_and_isr(self, broker: Broker, numbers: Iterable[int], *, full: bool) -> LeaderAndIsrRequest:
        """The partitions of `numbers` that have the broker as a member, and a state."""
        state, broker_id = self._state, broker.broker_id
        knows_targets = broker.registration.leader_and_isr_version >= TARGETS_SINCE
        made = self._members[knows_targets]
        partitions: list[LeaderAndIsrPartition] = []
        for number in numbers:
            members, told, outside, anew = made.get(number) or self._told_to_members(number, targets=knows_targets)
            if broker_id in members:
                assert told is not None
                partitions.append(told)
            elif broker_id in outside:
                assert anew is not None
                partitions.append(anew)
        return LeaderAndIsrRequest(
            broker_id,
            broker.epoch,
            state.controller_id,
            state.controller_epoch,
            full and not state.problems,
            tuple(partitions),
            self._peers,
        )

    def _told_to_members(self, number: int, *, targets: bool) -> _Told:
        """What the members of a partition get, built once."""
        partition = self._row(number)
        if partition is None or not partition.isr or partition.leader == LEADER_DURING_DELETE:
            told = _NOBODY
        else:
            members: Sequence[int] = partition.isr
            outside: Sequence[int] = ()
            if members != partition.replicas or partition.status_code == OFFLINE or number in self._unheard:
                members, outside = self._parted(number, partition)
            elif partition.move is not None:
                outside = _without(partition.move.target, members)
            known = self._member(number, partition, is_new=False, targets=targets) if members else None
            anew = self._member(number, partition, is_new=True, targets=targets) if outside else None
            told = (members, known, outside, anew)
        self._members[targets][number] = told
        return told

    def _row(self, number: int) -> Partition | None:
        rows = self._rows
        if number not in rows:
            rows[number] = self._state.rows.read_uncached(number)
        return rows[number]

    def _parted(self, number: int, partition: Partition) -> tuple[Sequence[int], Sequence[int]]:
        """The members in the ISR; and those that may create their log, since no one relies on their records or they
        have not received the partition yet."""
        inside: list[int] = []
        outside: list[int] = []
        isr, unheard, brokers = partition.isr, self._unheard.get(number, ()), self._state.brokers
        for broker in partition.members:
            if broker in brokers and (partition.status_code != OFFLINE or self._has_to_delete(broker, partition)):
                is_new = broker not in isr or broker in unheard
                (outside if is_new else inside).append(broker)
        return inside, outside or ()

    def _has_to_delete(self, broker_id: int, partition: Partition) -> bool:
        """Whether the broker may hold a log of an offline partition. A broker that deleted it must not create it
        again."""
        topic_id = self._state.topics[partition.topic].topic.topic_id
        return self._state.open_intent(broker_id, topic_id, partition.partition) is not None

    def _member(self, number: int, partition: Partition, *, is_new: bool, targets: bool) -> LeaderAndIsrPartition:
        topic = self._state.topics[partition.topic].topic
        move = partition.move if targets else None
        return LeaderAndIsrPartition(
            partition.topic,
            topic.topic_id,
            partition.partition,
            partition.leader,
            partition.leader_epoch,
            partition.isr,
            self._state.versions.generations[number],
            partition.replicas,
            None if move is None else move.target,
            is_new or partition.leader_epoch == topic.created_epoch(partition.partition),
            partition.status_code,
            partition.leader_recovery_state,
        )

    def update_metadata(self, broker: Broker, since: int, log: Iterable[int]) -> UpdateMetadataRequest:
        """The partitions in `log` that have a state, and those that ended. `since`: where the log begins; the part is
        shared by brokers with the same position."""
        partitions = self._changed.get(since)
        if partitions is None:
            partitions = self._changed[since] = self._told(dict.fromkeys(log))
        return self._update(broker, partitions, full=False)

    def _told(self, numbers: Iterable[int]) -> tuple[PartitionMetadata, ...]:
        made = self._metadata
        partitions: list[PartitionMetadata] = []
        for number in numbers:
            told = made.get(number)
            if told is None:
                partition = self._row(number)
                if partition is None or not partition.isr:
                    gone = self._stopped.get(number)
                    if gone is not None:
                        partitions.append(gone)
                    continue
                told = made[number] = self._metadata_of(number, partition)
            partitions.append(told)
        return Shared(partitions)

    def full_metadata(self, broker: Broker) -> UpdateMetadataRequest:
        """All partitions that have a state; those that ended are left out."""
        if self._everything is None:
            made = self._metadata
            self._everything = Shared(
                [
                    made.get(number) or self._metadata_of(number, partition)
                    for number in range(len(self._state.rows))
                    if (partition := self._row(number)) is not None and partition.isr
                ]
            )
        return self._update(broker, self._everything, full=not self._state.problems)

    def _metadata_of(self, number: int, partition: Partition) -> PartitionMetadata:
        offline = self._offline.get(partition.replicas)
        if offline is None:
            offline = self._offline_of(partition)
        return _metadata(self._state, number, partition, offline)

    def _offline_of(self, partition: Partition) -> Replicas:
        """The offline replicas; remembered if they are the same for all partitions with these replicas."""
        state, replicas = self._state, partition.replicas
        if state.has_gone_disks:
            return tuple([b for b in replicas if not is_up(state, partition, b)])
        offline = self._offline[replicas] = tuple([b for b in replicas if b not in state.brokers])
        return offline

    def _update(
        self, broker: Broker, partitions: tuple[PartitionMetadata, ...], *, full: bool
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            broker.broker_id,
            broker.epoch,
            self._state.controller_id,
            self._state.controller_epoch,
            full,
            self._peers,
            partitions,
        )

    def stop_replica(self, broker: Broker, intents: Iterable[DeleteIntent]) -> StopReplicaRequest:
        state = self._state
        partitions = tuple(  # `delete` by position: by keyword, the call would take a quarter longer
            [StopReplicaPartition(i.topic, i.topic_id, i.partition, i.leader_epoch, True) for i in intents]  # noqa: FBT003
        )
        return StopReplicaRequest(
            broker.broker_id, broker.epoch, state.controller_id, state.controller_epoch, partitions
        )


def _without(target: Replicas, members: Sequence[int]) -> list[int]:
    found: list[int] = []
    for broker in target:
        if broker not in members:
            found.append(broker)  # noqa: PERF401 - for three brokers, a comprehension is slower
    return found


def metadata_of(state: ClusterState, number: int, partition: Partition) -> PartitionMetadata:
    return _metadata(state, number, partition, tuple([b for b in partition.replicas if not is_up(state, partition, b)]))


def metadata_of_purged(state: ClusterState, number: int, partition: Partition) -> PartitionMetadata:
    """The metadata of a partition that a reduction purged: it has no leader any more."""
    return _metadata(state, number, partition.but(leader=LEADER_DURING_DELETE), ())


def _metadata(state: ClusterState, number: int, partition: Partition, offline: Replicas) -> PartitionMetadata:
    return PartitionMetadata(
        partition.topic,
        state.topics[partition.topic].topic.topic_id,
        partition.partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        state.versions.generations[number],
        partition.replicas,
        offline,
        partition.status_code,
    )


def _peer(broker: Broker) -> LivePeer:
    said = broker.registration
    return LivePeer(said.broker_id, said.host, said.port, said.rack, said.endpoints)
