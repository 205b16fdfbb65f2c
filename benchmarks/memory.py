"""Memory per partition of the state (rows, indexes, versions, topics) at 1 M partitions, RF 3, 100 brokers. The rows
are made as the loader makes them, without a store in the same process; what is sent is built when it goes out and not
kept."""

from __future__ import annotations

import gc
import tracemalloc

from benchmarks.content import topics_of
from benchmarks.figures import figure, rss_bytes, timed
from benchmarks.place import Place
from kedge.controller.codec import keys
from kedge.controller.model.records import KeyVersion, KeyVersions
from kedge.controller.model.values import Settings
from kedge.controller.state import ClusterState
from kedge.controller.state.columns import PartitionColumns

TOPICS, PARTITIONS, BROKERS = 10_000, 100, 100


def _fill(state: ClusterState, content: str) -> None:
    """As the loader does it: one tuple for equal ones, also of R and isr."""
    tuples: dict[tuple[int, ...], tuple[int, ...]] = {}
    number = 0
    for made in topics_of(content, TOPICS, PARTITIONS, BROKERS):
        partitions = [
            p.but(replicas=tuples.setdefault(p.replicas, p.replicas), isr=tuples.setdefault(p.isr, p.isr))
            for p in made.partitions
        ]
        states = tuple(KeyVersion(1 + number + p.partition, 0) for p in partitions)
        number += len(partitions)
        state.load_topic(made.topic, PartitionColumns.of(partitions), {}, KeyVersions.of(states))
        state.versions.put_below(keys.TOPICS, made.topic.name, 1)
        state.versions.put_below(keys.CONFIG_TOPICS, made.topic.name, 1)


def run(place: Place) -> None:
    content = place.conditions.content
    gc.disable()
    n = TOPICS * PARTITIONS
    before = rss_bytes()
    state = ClusterState(1, 1, Settings())
    with timed() as filling:
        _fill(state, content)
    gc.collect()
    used = rss_bytes() - before
    figure("memory of the state", n, filling.seconds, bytes_per_partition=round(used / n, 1), replication_factor=3)
    del state
    gc.collect()
    tracemalloc.start()
    state = ClusterState(1, 1, Settings())
    _fill(state, content)
    gc.collect()
    traced, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.enable()
    figure("memory of the state, traced", n, filling.seconds, bytes_per_partition=round(traced / n, 1))
