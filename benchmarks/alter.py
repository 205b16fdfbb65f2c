"""Alter to LeaderAndIsr callback on an idle controller, memory store: from the call in one thread to the call of the
host, which with threads is in another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter

from benchmarks.cluster import QuietHost, named, register
from benchmarks.driven import Driven
from benchmarks.figures import figure, percentile
from benchmarks.place import Place
from kedge import AlterReassignmentsOptions, HostResponse, TopicPartition
from kedge.controller.model.host import LeaderAndIsrRequest

ROUNDS, BROKERS = 2_000, 6


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


def run(place: Place) -> None:
    place.fill(10, 10, BROKERS)
    store, host = place.open(), Bell()
    driven, brokers = place.driven(store, host), named(store)
    register(driven.controller, brokers)
    driven.settle()
    seconds = [_round(driven, host, brokers, TopicPartition(f"topic-{i % 10:06d}", 0)) for i in range(ROUNDS)]
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        figure(f"alter to LeaderAndIsr callback, {name}", len(seconds), percentile(seconds, share))


def _round(driven: Driven, host: Bell, brokers: Sequence[int], tp: TopicPartition) -> float:
    admin = driven.controller.admin
    partition = driven.answer(driven.controller.query(lambda view: view.partition(tp.topic, tp.partition)))
    assert partition is not None
    target = [b for b in brokers if b not in partition.replicas][:3]
    host.rang.clear()
    began = perf_counter()
    accepted = admin.alter_partition_reassignments({tp: target})
    driven.until(host.rang.is_set)
    seconds = host.at - began
    driven.answer(accepted.all())
    driven.answer(admin.alter_partition_reassignments({tp: None}, AlterReassignmentsOptions(force=True)).all())
    return seconds
