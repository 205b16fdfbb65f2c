"""Memory per partition of the state (rows, indexes, versions, topics) at 1 M partitions, RF 3, 100 brokers. The rows
are made as the loader makes them, without a store in the same process; what is sent is built when it goes out and not
kept."""

from __future__ import annotations

import gc
import tracemalloc

from benchmarks.cluster import replicas_of
from benchmarks.figures import figure, rss_bytes, timed
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import Partition, Settings, Topic
from controller.state import ClusterState

TOPICS, PARTITIONS, BROKERS = 10_000, 100, 100


def _fill(state: ClusterState) -> None:
    """As the loader does it: interned tuples, isr the same object as replicas, small numbers shared."""
    tuples: dict[tuple[int, ...], tuple[int, ...]] = {}
    number = 0
    for index in range(TOPICS):
        name = f"topic-{index:06d}"
        partitions = []
        for p in range(PARTITIONS):
            replicas = replicas_of(number, BROKERS, 3)
            replicas = tuples.setdefault(replicas, replicas)
            partitions.append(Partition(name, p, replicas, replicas, replicas[0], 0))
            number += 1
        states = tuple(KeyVersion(1 + index * PARTITIONS + p, 0) for p in range(PARTITIONS))
        versions = KeyVersions.of(KeyVersion(1, 0), states, 1)
        state.load_topic(Topic(name, f"{index:022d}"), partitions, {}, versions)


def run() -> None:
    gc.disable()
    n = TOPICS * PARTITIONS
    before = rss_bytes()
    state = ClusterState(1, 1, Settings())
    with timed() as filling:
        _fill(state)
    gc.collect()
    used = rss_bytes() - before
    figure("memory of the state", n, filling.seconds, bytes_per_partition=round(used / n, 1), replication_factor=3)
    del state
    gc.collect()
    tracemalloc.start()
    state = ClusterState(1, 1, Settings())
    _fill(state)
    gc.collect()
    traced, _ = tracemalloc.get_traced_memory()
    figure("memory of the state, traced", n, filling.seconds, bytes_per_partition=round(traced / n, 1))
