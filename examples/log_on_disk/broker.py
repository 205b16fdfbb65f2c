"""Brokers in one process: the three callbacks that the controller calls, and what brokers do by themselves.

`Broker.step` copies from leaders and asks for ISR changes; the program that runs the brokers calls it again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from examples.log_on_disk.log import Log
from examples.log_on_disk.replica import OFFLINE, ONLINE, Replica
from kedge import (
    AcceptedIsr,
    ErrorCode,
    FencedLeaderEpoch,
    HostResponse,
    IneligibleReplica,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    TopicPartition,
    UpdateMetadataRequest,
)

RETRY_S = 0.1
BATCH = 100  # records of one fetch
NEVER = float("inf")
DELETED = -2  # the leader in UpdateMetadata of a partition that is being deleted
AlterIsr = Callable[..., Future[AcceptedIsr]]
Place = tuple[str, int]  # topic id and partition


class Broker:
    """The broker `broker_id` with the logs in `folder`, as they were left there. `brokers`: all that run, by id, which
    stands for the network. `alter_isr`: as `Controller.alter_isr`. `now_s`: a clock for its retries."""

    def __init__(
        self, broker_id: int, folder: Path, brokers: dict[int, Broker], alter_isr: AlterIsr, now_s: Callable[[], float]
    ) -> None:
        self.broker_id, self.folder, self.brokers, self.alter_isr = broker_id, folder, brokers, alter_isr
        self.now_s = now_s
        self.epoch = self.controller_epoch = 0
        self.replicas: dict[Place, Replica] = {}
        self.failed: set[Place] = set()  # their disk is gone, until the process is restarted
        self.deleted: dict[Place, int] = {}  # the leader epoch under which a replica was deleted
        self.metadata: dict[Place, PartitionMetadata] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            name, _, topic_id = path.name.rpartition(".")
            topic, _, partition = name.rpartition("-")
            place = (topic_id, int(partition))
            try:
                self.replicas[place] = Replica(broker_id, topic, int(partition), Log(path))
            except OSError:
                self.failed.add(place)

    # --- callbacks

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if stale := self._stale(request):
            return stale
        codes = {TopicPartition(said.topic, said.partition): self._obey(said) for said in request.partitions}
        if request.full:
            named = {(said.topic_id, said.partition) for said in request.partitions}
            for place in self.replicas.keys() - named:
                self.replicas[place].serves = False
        return _answer(codes)

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        place = (said.topic_id, said.partition)
        if said.leader_epoch < self.deleted.get(place, -1):
            return ErrorCode.NONE  # it was sent before the replica was deleted
        try:
            if place not in self.replicas and place not in self.failed:
                if said.status_code == OFFLINE:
                    return ErrorCode.NONE
                if not said.is_new:
                    return ErrorCode.KAFKA_STORAGE_ERROR  # an empty log must not pass for the old one
                log = Log(self.folder / f"{said.topic}-{said.partition}.{said.topic_id}")
                self.replicas[place] = Replica(self.broker_id, said.topic, said.partition, log)
            if place in self.replicas:
                self.replicas[place].log.check()
                self.replicas[place].told(said)
        except OSError:
            self._fail(place)
        return ErrorCode.KAFKA_STORAGE_ERROR if place in self.failed else ErrorCode.NONE

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        if stale := self._stale(request):
            return stale
        known = {} if request.full else self.metadata
        for said in request.partitions:
            place = (said.topic_id, said.partition)
            known[place] = max(said, self.metadata.get(place, said), key=_age)
            if known[place].leader == DELETED:
                del known[place]
            replica = self.replicas.get(place)
            if replica is not None and replica.leads and replica.leader_epoch == said.leader_epoch:
                replica.learned(said.isr, said.partition_epoch)
        self.metadata = known
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        if stale := self._stale(request):
            return stale
        return _answer({TopicPartition(said.topic, said.partition): self._stop(said) for said in request.partitions})

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        place = (said.topic_id, said.partition)
        replica = self.replicas.get(place)
        if place in self.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR  # the log may come back with its disk
        if replica is not None and said.leader_epoch < replica.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH  # the replica came back after this was sent
        if said.delete:
            self.deleted[place] = max(said.leader_epoch, self.deleted.get(place, -1))
        if replica is not None:
            replica.serves = False
            try:
                if said.delete:
                    replica.log.delete()
                    del self.replicas[place]
            except OSError:
                self._fail(place)
                return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _stale(self, request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> HostResponse | None:
        if request.broker_epoch < self.epoch:
            return HostResponse(ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self.controller_epoch:
            return HostResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.epoch, self.controller_epoch = request.broker_epoch, request.controller_epoch
        return None

    def _fail(self, place: Place) -> None:
        self.failed.add(place)
        self.replicas.pop(place, None)

    # --- what producers, consumers and followers ask for

    def append(self, tp: TopicPartition, payloads: Sequence[bytes]) -> int | None:
        """Write records as the leader. Returns the end offset, None where this broker takes none. The records are
        acknowledged when the high watermark reaches it."""
        found = self.leading(tp)
        if found is None or found.status != ONLINE:
            return None
        try:
            found.log.append((found.leader_epoch, payload) for payload in payloads)
        except OSError:
            self._fail(next(place for place, replica in self.replicas.items() if replica is found))
            return None
        found.advance()
        return found.log.end_offset

    def leading(self, tp: TopicPartition) -> Replica | None:
        """The replica of `tp` that leads, if it is on this broker."""
        ours = (replica for replica in self.replicas.values() if replica.leads)
        return next(
            (replica for replica in ours if (replica.topic, replica.partition) == (tp.topic, tp.partition)), None
        )

    def led(self, place: Place, leader_epoch: int) -> Replica | None:
        """The replica that leads under exactly this epoch: followers copy from no other."""
        replica = self.replicas.get(place)
        return replica if replica is not None and replica.leads and replica.leader_epoch == leader_epoch else None

    # --- what it does by itself

    def step(self) -> None:
        """Copy some records from each leader, and ask for what the ISRs should be."""
        for place, replica in list(self.replicas.items()):
            try:
                if replica.leads:
                    self._ask(replica)
                elif replica.serves and replica.leader in self.brokers:
                    self._copy(replica, self.brokers[replica.leader].led(place, replica.leader_epoch))
            except OSError:
                self._fail(place)

    def _copy(self, replica: Replica, leader: Replica | None) -> None:
        if leader is None:
            return
        if not replica.is_truncated:  # once for each leader epoch
            replica.log.truncate(replica.log.common_end(leader.log.end_of_epoch))
            replica.is_truncated = True
        if records := leader.log.read(replica.log.end_offset, BATCH):
            replica.log.append(records)
        leader.fetched(self.broker_id, replica.log.end_offset)

    def _ask(self, replica: Replica) -> None:
        if replica.asked is not None:
            if replica.asked.done():
                self._answered(replica, replica.asked)
            return
        wanted = replica.wanted_isr()
        if wanted is not None and self.now_s() >= replica.ask_after_s:
            replica.isr_max = tuple(dict.fromkeys([*replica.isr_max, *wanted]))
            tp = TopicPartition(replica.topic, replica.partition)
            epochs = (replica.leader_epoch, replica.partition_epoch)
            replica.asked = self.alter_isr(tp, self.broker_id, *epochs, wanted, self.epoch)

    def _answered(self, replica: Replica, asked: Future[AcceptedIsr]) -> None:
        replica.asked, error = None, asked.exception()
        if error is None:
            replica.learned(asked.result().isr, asked.result().partition_epoch)
            replica.is_recovering = False
            return
        # A refusal may be the second answer to a request that was committed: `isr_max` stays as it is, except where
        # the controller says that the replica is not eligible. After FENCED_LEADER_EPOCH only the next epoch helps.
        if isinstance(error, IneligibleReplica):
            replica.isr_max = replica.isr
        replica.ask_after_s = NEVER if isinstance(error, FencedLeaderEpoch) else self.now_s() + RETRY_S


class Brokers:
    """The host: it hands each callback to the broker that it is for. Set `alter_isr` before the first broker starts."""

    alter_isr: AlterIsr

    def __init__(self, folder: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self.folder, self.now_s = folder, now_s
        self.running: dict[int, Broker] = {}

    def start(self, broker_id: int) -> None:
        """The broker runs, with the logs that are on its disk."""
        folder = self.folder / f"broker-{broker_id}"
        self.running[broker_id] = Broker(broker_id, folder, self.running, self.alter_isr, self.now_s)

    def kill(self, broker_id: int) -> None:
        """Its process is gone, with everything that was not on disk."""
        del self.running[broker_id]

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return self._reached(request.broker_id).leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self._reached(request.broker_id).update_metadata(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._reached(request.broker_id).stop_replica(request)

    def _reached(self, broker_id: int) -> Broker:
        if broker_id not in self.running:
            raise ConnectionError(f"broker {broker_id} is not running")  # not delivered: the controller tries again
        return self.running[broker_id]


def _answer(codes: dict[TopicPartition, ErrorCode]) -> HostResponse:
    return HostResponse(errors={tp: code for tp, code in codes.items() if code is not ErrorCode.NONE})


def _age(said: PartitionMetadata) -> tuple[int, int]:
    return (said.leader_epoch, said.partition_epoch)
