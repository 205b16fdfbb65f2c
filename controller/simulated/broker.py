"""A simulated broker: a careful host. It keeps logs, and obeys the three callbacks as a broker has to.

* A request with an older controller epoch or broker epoch is answered with that error; a part of it with an older
  leader epoch is ignored.
* The leader epoch under which a replica was deleted is remembered until the process ends (then the broker epoch is
  another): a LeaderAndIsr that was sent earlier and arrives later must not create it again.
* `full` stops serving what is not named and deletes nothing; only StopReplica(delete) deletes.
* Metadata with the leader -2 means that the partition is deleted, with its topic or by a reduction: it is unknown from
  then on. A partition with the status 1 (offline, KIP-694) is not shown to clients.
* A replica whose status is not 0 takes no records, an offline one serves no clients, and no log is created for it. A
  client that sends a request to its leader gets an error that makes it refresh its metadata.
* With `is_new=False` and without a log for the partition it answers KAFKA_STORAGE_ERROR: an empty log must not replace
  the old one. A broker whose disks never failed knows, as Kafka's do, that there never was a log, so it creates an
  empty one (not if `is_strict`).
* For a replica whose disk failed it answers KAFKA_STORAGE_ERROR to every request, until it is restarted.
* A newer broker epoch than it knows is its own: it was registered again, and learns the epoch from the request.
* With LeaderAndIsr version 2 it knows no `target_replicas`: it ignores the field, and a new partition without itself in
  `replicas`.
* After a restart it has its logs and their high watermarks, but no epochs and no roles.
* It copies what it leads or follows within its quotas, which follow from the settings that it received.
* A replica that raises while it obeys a request stops serving and answers KAFKA_STORAGE_ERROR; the next request is
  obeyed again (`kedge.controller.simulated.isolation`).
"""

from __future__ import annotations

import enum
from collections.abc import Container, Iterator, Mapping
from functools import partial

import attrs

from ..model.errors import ErrorCode
from ..model.host import (
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ..model.reductions import OFFLINE, ONLINE
from ..model.values import LEADER_DURING_DELETE, TARGETS_SINCE, BrokerRegistration, TopicPartition
from ..quota import ReplicationQuotas
from .clock import NodeClock
from .isolation import Isolation, raising
from .log import Log
from .replica import Replica, Role

ReplicaId = tuple[str, int]
"""Topic id and partition."""


def _elapsed_ms(clock: NodeClock) -> int:
    return round(clock.monotonic_s() * 1000)


def _new_quotas(broker: Broker) -> ReplicationQuotas:
    return ReplicationQuotas(broker.broker_id, partial(_elapsed_ms, broker.clock))


class Life(enum.Enum):
    """PAUSED: the process is stopped, and registered for as long as its session lives."""

    UP = "up"
    PAUSED = "paused"
    DOWN = "down"


@attrs.define(eq=False)
class Broker:
    """One broker. `metadata` and `peers`: the cluster according to the controller; `topics_version` grows when topics,
    their ids or numbers of partitions change. `epoch`: of its registration. `isolated` is held during the work for one
    of its replicas."""

    registration: BrokerRegistration
    clock: NodeClock
    epoch: int = 0
    life: Life = Life.UP
    replicas: dict[ReplicaId, Replica] = attrs.field(factory=dict)
    metadata: dict[TopicPartition, PartitionMetadata] = attrs.field(factory=dict)
    topics_version: int = 0
    peers: tuple[int, ...] = ()
    controller_id: int | None = None
    controller_epoch: int = 0
    disks_gone: set[ReplicaId] = attrs.field(factory=set)
    disks_whole: bool = True
    is_strict: bool = False
    deleted: list[TopicPartition] = attrs.field(factory=list)
    deleted_at: dict[ReplicaId, int] = attrs.field(factory=dict)
    isolated: Isolation = raising
    quotas: ReplicationQuotas = attrs.field(init=False, default=attrs.Factory(_new_quotas, takes_self=True))

    @property
    def broker_id(self) -> int:
        return self.registration.broker_id

    @property
    def is_up(self) -> bool:
        return self.life is Life.UP

    @property
    def knows_targets(self) -> bool:
        """Whether its LeaderAndIsr has `target_replicas`."""
        return self.registration.leader_and_isr_version >= TARGETS_SINCE

    # --- its state

    def replica(self, tp: TopicPartition) -> Replica | None:
        """Its replica of `tp`, serving or not."""
        found = [r for r in self.replicas.values() if r.topic == tp.topic and r.partition == tp.partition]
        return max(found, key=lambda r: r.leader_epoch, default=None)

    def log(self, tp: TopicPartition) -> Log | None:
        found = self.replica(tp)
        return None if found is None else found.log

    def leader_epoch(self, tp: TopicPartition) -> int:
        """The leader epoch of `tp` that it knows, -1 for none."""
        found = self.replica(tp)
        return -1 if found is None else found.leader_epoch

    def leads(self, tp: TopicPartition) -> bool:
        found = self.replica(tp)
        return found is not None and found.role is Role.LEADER

    def serving(self, role: Role) -> Iterator[Replica]:
        """Its replicas in `role`, in the order in which it got them."""
        return (replica for replica in self.replicas.values() if replica.role is role)

    def isr_of(self, replica: Replica) -> tuple[int, ...]:
        """The newest isr that it knows: a follower gets the isr changes of a leader epoch by metadata."""
        known = self.metadata.get(TopicPartition(replica.topic, replica.partition))
        if known is None or known.topic_id != replica.topic_id:
            return replica.isr
        is_newer = _age(known) > (replica.leader_epoch, replica.partition_epoch)
        return known.isr if is_newer else replica.isr

    # --- its answers to clients

    def shown(self) -> dict[str, dict[int, PartitionMetadata]]:
        """The partitions that clients see, by topic and id: all but offline ones."""
        found: dict[str, dict[int, PartitionMetadata]] = {}
        for tp, said in self.metadata.items():
            if said.status_code != OFFLINE:
                found.setdefault(tp.topic, {})[tp.partition] = said
        return {topic: dict(sorted(partitions.items())) for topic, partitions in found.items()}

    def refuses_produce(self, tp: TopicPartition) -> ErrorCode:
        """The error for a producer that sends to `tp`; NONE: its records are taken."""
        found = self.replica(tp)
        if found is None or found.role is not Role.LEADER:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if found.status == ONLINE else ErrorCode.POLICY_VIOLATION

    def refuses_fetch(self, tp: TopicPartition) -> ErrorCode:
        """The error for a consumer that reads `tp`; NONE: it gets the records."""
        said = self.metadata.get(tp)
        if said is None or said.status_code == OFFLINE:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE if self.leads(tp) else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # --- callbacks

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> Mapping[str, str]:
        """All settings of an entity, from now on; returns those of its quotas that are invalid."""
        return self.quotas.config_changed(kind, name, configs)

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if stale := self._stale(request):
            return stale
        errors = {}
        for said in request.partitions:
            if self._obey(said) is not ErrorCode.NONE:
                errors[TopicPartition(said.topic, said.partition)] = ErrorCode.KAFKA_STORAGE_ERROR
        if request.full:
            named = {(said.topic_id, said.partition) for said in request.partitions}
            for place, replica in self.replicas.items():
                if place not in named:
                    replica.stop()
        return HostResponse(errors=errors)

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        place = (said.topic_id, said.partition)
        if place in self.disks_gone:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if said.leader_epoch < self.deleted_at.get(place, -1):
            return ErrorCode.NONE
        replica = self.replicas.get(place)
        if replica is None and said.status_code == OFFLINE:
            return ErrorCode.NONE
        if not self.knows_targets:
            said = attrs.evolve(said, target_replicas=None)
            if replica is None and self.broker_id not in said.replicas:
                return ErrorCode.NONE
        if replica is None:
            if not said.is_new and (self.is_strict or not self.disks_whole):
                return ErrorCode.KAFKA_STORAGE_ERROR
            replica = Replica(self.broker_id, said.topic, said.topic_id, said.partition)
            self.replicas[place] = replica
        if said.leader_epoch >= replica.leader_epoch:
            with self.isolated(replica):
                replica.told(said, self.clock.now_ms())
                return ErrorCode.NONE
            replica.stop()  # the request may have ended its present role
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host`. A leader learns a newer isr under its epoch here."""
        if stale := self._stale(request):
            return stale
        self.peers = tuple(peer.broker_id for peer in request.live_brokers)
        known = {} if request.full else self.metadata
        for said in request.partitions:
            tp = TopicPartition(said.topic, said.partition)
            before = self.metadata.get(tp)
            if said.leader == LEADER_DURING_DELETE:
                is_older = before is not None and said.leader_epoch < before.leader_epoch
                if before is None or (before.topic_id == said.topic_id and not is_older):
                    known.pop(tp, None)
                    self.topics_version += 1
                continue
            is_older = before is not None and before.topic_id == said.topic_id and _age(said) < _age(before)
            known[tp] = before if before is not None and is_older else said
            self.topics_version += before is None or before.topic_id != said.topic_id
            replica = self.replicas.get((said.topic_id, said.partition))
            if replica is not None and replica.leader_epoch == said.leader_epoch and replica.role is Role.LEADER:
                with self.isolated(replica):
                    replica.learned(said.isr, said.partition_epoch)
        self.topics_version += len(known) < len(self.metadata)
        self.metadata = known
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        if stale := self._stale(request):
            return stale
        codes = {TopicPartition(said.topic, said.partition): self._stop(said) for said in request.partitions}
        return HostResponse(errors={tp: code for tp, code in codes.items() if code is not ErrorCode.NONE})

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        place = (said.topic_id, said.partition)
        if place in self.disks_gone:
            return ErrorCode.KAFKA_STORAGE_ERROR
        replica = self.replicas.get(place)
        if said.delete:
            self.deleted_at[place] = max(said.leader_epoch, self.deleted_at.get(place, -1))
        if replica is None:
            return ErrorCode.NONE
        if said.leader_epoch < replica.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        replica.stop()
        if said.delete:
            del self.replicas[place]
            self.deleted.append(TopicPartition(said.topic, said.partition))
        return ErrorCode.NONE

    def _stale(self, request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> HostResponse | None:
        if request.broker_epoch < self.epoch:
            return HostResponse(ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self.controller_epoch:
            return HostResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.epoch = request.broker_epoch
        self.controller_id, self.controller_epoch = request.controller_id, request.controller_epoch
        return None

    # --- failures

    def stopped(self) -> None:
        """The process ended: logs stay, its knowledge is gone, and a failed disk is replaced before the next start."""
        self.life = Life.DOWN
        self.metadata, self.peers = {}, ()
        self.controller_id, self.controller_epoch = None, 0
        self.disks_gone = set()
        self.deleted_at = {}
        self.quotas = _new_quotas(self)
        for place, old in list(self.replicas.items()):
            old.stop()
            self.replicas[place] = Replica(old.broker, old.topic, old.topic_id, old.partition, old.log)

    def replaced(self, kept: Container[ReplicaId]) -> None:
        """Another machine under its id, while it is down, with only the logs of `kept`."""
        self.replicas = {place: replica for place, replica in self.replicas.items() if place in kept}

    def disk_failed(self, tp: TopicPartition | None) -> None:
        """The logs of `tp`, or all of them, are gone, and cannot be written again."""
        self.disks_whole = False
        for place, replica in list(self.replicas.items()):
            if tp is None or (replica.topic, replica.partition) == (tp.topic, tp.partition):
                replica.stop()
                del self.replicas[place]
                self.disks_gone.add(place)


def _age(said: PartitionMetadata) -> tuple[int, int]:
    return (said.leader_epoch, said.partition_epoch)
