"""A host that is right and late: what the waits of the suite are held against."""

from __future__ import annotations

import copy

from kedge.controller.model.host import (
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.host_suite import SimulatedBrokers


class ObeysLater(SimulatedBrokers):
    """Answers a LeaderAndIsr at once, and does what it says 30 ms later: right, as long as nothing overtakes it."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[tuple[int, LeaderAndIsrRequest]] = []

    def flush(self, until_ms: int = 2**63) -> None:
        """What is due is done."""
        due = [request for at_ms, request in self.pending if at_ms <= until_ms]
        self.pending = [one for one in self.pending if one[0] > until_ms]
        for request in due:
            self._brokers[request.broker_id].leader_and_isr(request)

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        foreseen = copy.deepcopy(self.broker_of(request.broker_id))
        for _, before in self.pending:
            if before.broker_id == request.broker_id:
                foreseen.leader_and_isr(before)
        self.pending.append((self.clock.now_ms() + 30, request))
        return foreseen.leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        self.flush()
        return super().update_metadata(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        self.flush()
        return super().stop_replica(request)

    def pass_time(self, ms: int) -> None:
        super().pass_time(ms)
        self.flush(self.clock.now_ms())

    def registered(self, broker_id: int, epoch: int) -> None:
        self.flush()
        super().registered(broker_id, epoch)

    def restart(self, broker_id: int) -> None:
        self.flush()
        super().restart(broker_id)

    def lose_disk(self, broker_id: int, tp: TopicPartition) -> None:
        self.flush()
        super().lose_disk(broker_id, tp)
