"""Alter to LeaderAndIsr callback on an idle controller with threads of its own, memory store: from the call in one
thread to the call of the host in another."""

from __future__ import annotations

import threading
from time import perf_counter

from benchmarks.cluster import QuietHost, ids, plant, register
from benchmarks.figures import figure, percentile
from controller import AlterReassignmentsOptions, Controller, HostResponse, TopicPartition
from controller.model.host import LeaderAndIsrRequest
from stores import MemoryServer, MemoryStore

ROUNDS, BROKERS, TIMEOUT_S = 2_000, 6, 10.0


class Bell(QuietHost):
    """Notes when the leader of a moving partition is called."""

    def __init__(self) -> None:
        self.rang = threading.Event()
        self.at = 0.0

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if not request.full and any(p.leader == request.broker_id and p.target_replicas for p in request.partitions):
            self.at = perf_counter()
            self.rang.set()
        return HostResponse()


def run() -> None:
    server = MemoryServer()
    plant(MemoryStore(server), 10, 10, BROKERS)
    host = Bell()
    controller = Controller(MemoryStore(server), 1, host)
    register(controller, ids(BROKERS))
    controller.start()
    deadline = perf_counter() + TIMEOUT_S
    while len(controller.describe().live_brokers) < BROKERS and perf_counter() < deadline:
        pass
    seconds = [_round(controller, host, TopicPartition("topic-000000", i % 10)) for i in range(ROUNDS)]
    controller.close()
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        figure(f"alter to LeaderAndIsr callback, {name}", len(seconds), percentile(seconds, share))


def _round(controller: Controller, host: Bell, tp: TopicPartition) -> float:
    partition = controller.query(lambda view: view.partition(tp.topic, tp.partition)).result(TIMEOUT_S)
    assert partition is not None
    target = [b for b in ids(BROKERS) if b not in partition.replicas]
    host.rang.clear()
    began = perf_counter()
    accepted = controller.admin.alter_partition_reassignments({tp: target})
    if not host.rang.wait(TIMEOUT_S):
        raise TimeoutError("the leader was not called")
    seconds = host.at - began
    accepted.all().result(TIMEOUT_S)
    cancelled = controller.admin.alter_partition_reassignments({tp: None}, AlterReassignmentsOptions(force=True))
    cancelled.all().result(TIMEOUT_S)
    return seconds
