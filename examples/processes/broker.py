"""The broker of a process: the callbacks of its host, and what it does as a leader.

It keeps no records: a new replica counts as copied COPY_S after its leader got the order. A broker with logs is in
examples/log_on_disk.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from kedge import (
    AcceptedIsr,
    ApiError,
    ErrorCode,
    FencedLeaderEpoch,
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    TopicPartition,
    UpdateMetadataRequest,
)

COPY_S, RETRY_S = 3.0, 0.1
NO_LEADER, OFFLINE = -1, 1
Place = tuple[str, int]  # topic id and partition
Address = tuple[str, int]


class Broker:
    """`ask_active`: takes the address of the active controller, then what `Controller.alter_isr` takes; returns what it
    answers, or raises."""

    def __init__(self, broker_id: int, ask_active: Callable[..., AcceptedIsr]) -> None:
        self.broker_id, self.ask_active = broker_id, ask_active
        self.epoch = self.controller_id = self.controller_epoch = 0
        self.peers: dict[int, Address] = {}
        self.replicas: dict[Place, LeaderAndIsrPartition] = {}
        self.deleted: dict[Place, int] = {}  # the leader epoch under which a replica was deleted
        self.copied_s: dict[Place, float] = {}  # when what it leads will be copied
        self.lock = threading.Lock()  # callbacks come on threads of the network, `lead` has its own

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        with self.lock:
            if stale := self._stale(request):
                return stale
            named = {(said.topic_id, said.partition): said for said in request.partitions}
            missing = [said for place, said in named.items() if not self._obey(place, said)]
            if request.full:
                for place in self.replicas.keys() - named.keys():
                    self._rest(place)
            return _answer(missing, ErrorCode.KAFKA_STORAGE_ERROR)

    def _obey(self, place: Place, said: LeaderAndIsrPartition) -> bool:
        """Whether it has a log for it now, or needs none."""
        known = self.replicas.get(place)
        if said.leader_epoch < self.deleted.get(place, -1) or (known is None and said.status_code == OFFLINE):
            return True
        if known is None and not said.is_new:
            return False  # an empty log must not pass for the old one
        if known is None or _age(said) >= _age(known):
            self.replicas[place], self.copied_s[place] = said, time.monotonic() + COPY_S
        return True

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        with self.lock:
            if stale := self._stale(request):
                return stale
            self.peers = {peer.broker_id: (peer.host, peer.port) for peer in request.live_brokers}
            for said in request.partitions:
                self._learn((said.topic_id, said.partition), said.leader_epoch, said.isr, said.partition_epoch)
            return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        with self.lock:
            if stale := self._stale(request):
                return stale
            later = [said for said in request.partitions if not self._stop((said.topic_id, said.partition), said)]
            return _answer(later, ErrorCode.FENCED_LEADER_EPOCH)  # skipped in silence, they would count as deleted

    def _stop(self, place: Place, said: StopReplicaPartition) -> bool:
        """Whether it is stopped; it is not if the replica came back under a later leader epoch."""
        if place in self.replicas and said.leader_epoch < self.replicas[place].leader_epoch:
            return False
        self._rest(place)
        if said.delete:
            self.replicas.pop(place, None)
            self.deleted[place] = max(said.leader_epoch, self.deleted.get(place, -1))
        return True

    def _stale(self, request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> HostResponse | None:
        if request.broker_epoch < self.epoch:
            return HostResponse(ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self.controller_epoch:
            return HostResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.epoch = request.broker_epoch
        self.controller_id, self.controller_epoch = request.controller_id, request.controller_epoch
        return None

    def _rest(self, place: Place) -> None:
        """It serves the replica no more."""
        if place in self.replicas:
            self.replicas[place] = attrs.evolve(self.replicas[place], leader=NO_LEADER)

    def _learn(self, place: Place, leader_epoch: int, isr: Sequence[int], partition_epoch: int) -> None:
        known = self.replicas.get(place)
        if known and known.leader_epoch == leader_epoch and known.partition_epoch < partition_epoch:
            self.replicas[place] = attrs.evolve(known, isr=tuple(isr), partition_epoch=partition_epoch)

    # --- as a leader

    def lead(self) -> None:
        """For ever: tell the active controller which replicas are copied. This runs on a thread of its own."""
        while True:
            time.sleep(RETRY_S)
            self.report()

    def report(self) -> None:
        """Ask once for each partition that has copied replicas outside of its ISR."""
        with self.lock:
            led = [(at, said) for at, said in self.replicas.items() if said.leader == self.broker_id]
            copied = [(at, said) for at, said in led if time.monotonic() >= self.copied_s[at]]
            peers, active, epoch = self.peers, self.peers.get(self.controller_id), self.epoch
        for place, said in copied:
            members = dict.fromkeys([*said.replicas, *(said.target_replicas or ())])
            joined = [broker for broker in members if broker in peers and broker not in said.isr]
            if joined and active is not None:
                self._report(place, said, active, [*said.isr, *joined], epoch)

    def _report(
        self, place: Place, said: LeaderAndIsrPartition, active: Address, isr: Sequence[int], epoch: int
    ) -> None:
        tp, epochs = TopicPartition(said.topic, said.partition), (said.leader_epoch, said.partition_epoch)
        try:
            accepted = self.ask_active(active, tp, self.broker_id, *epochs, isr, epoch)
        except FencedLeaderEpoch:
            self.copied_s[place] = math.inf  # another one leads, as the next order says
        except (ApiError, OSError, EOFError):
            pass  # it is tried again, with what is known by then
        else:
            with self.lock:
                self._learn(place, said.leader_epoch, accepted.isr, accepted.partition_epoch)


def _age(said: LeaderAndIsrPartition) -> tuple[int, int]:
    return (said.leader_epoch, said.partition_epoch)


def _answer(failed: Iterable[Any], code: ErrorCode) -> HostResponse:
    return HostResponse(errors={TopicPartition(said.topic, said.partition): code for said in failed})
