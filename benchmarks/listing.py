"""The listing of 100,000 running moves, from the cache."""

from __future__ import annotations

from time import perf_counter

from benchmarks.cluster import QuietHost, ids, plant, register, replicas_of, settle
from benchmarks.figures import figure, percentile
from controller import Controller, TopicPartition
from stores import MemoryServer, MemoryStore

MOVES, PARTITIONS, BROKERS, ROUNDS = 100_000, 10, 10, 20


def run() -> None:
    server = MemoryServer()
    plant(MemoryStore(server), MOVES // PARTITIONS, PARTITIONS, BROKERS)
    controller = Controller(MemoryStore(server), 1, QuietHost())
    register(controller, ids(BROKERS))
    settle(controller)
    moves = {
        TopicPartition(f"topic-{n // PARTITIONS:06d}", n % PARTITIONS): replicas_of(n + 3, BROKERS, 3)
        for n in range(MOVES)
    }
    controller.admin.alter_partition_reassignments(moves)
    settle(controller)
    seconds = []
    for _ in range(ROUNDS):
        began = perf_counter()
        asked = controller.admin.list_partition_reassignments()
        controller.poll_once()
        assert len(asked.result(0)) == MOVES
        seconds.append(perf_counter() - began)
    figure("listing of running moves, p50", MOVES, percentile(seconds, 0.5), longest_s=round(max(seconds), 6))
    controller.close()
