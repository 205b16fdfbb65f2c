"""Reading and writing a store without a controller: keys in bulk, one by one as a simple client does, with 10 requests
in flight as Kafka's controller does, all in one snapshot; commits of one key, and the filling of the tree.

20,000 topics of 10 partitions in Kafka's layout; what is read one by one is the first tenth of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, Final

from benchmarks.figures import figure, percentile, rate, timed
from benchmarks.place import Place
from kedge.controller.codec import keys, topic
from kedge.stores import ABSENT, Delete, MetadataStore, Put

TOPICS, PARTITIONS, BROKERS, COMMITS, FEW = 20_000, 10, 10, 500, 20_000
IN_FLIGHT: Final = 10
_TIMEOUT_S: Final = 60.0
_LATENCY: Final = "/kedge/latency"


def run(place: Place) -> None:
    with timed() as filled:
        place.fill(TOPICS, PARTITIONS, BROKERS)
    store = place.open()
    if not place.filled:
        n = TOPICS * (PARTITIONS + 2)
        rate("filling by commits of many keys, 4 in flight", n, filled.seconds, **place.figure)
    states = _bulk(place, store)
    _few(place, store, states[:FEW])
    _commits(place, store)
    store.close()


def _bulk(place: Place, store: MetadataStore) -> list[str]:
    with timed() as listed:
        names = store.children(keys.TOPICS, timeout_s=_TIMEOUT_S)
    rate("names of topics", len(names), listed.seconds, **place.figure)
    paths = [keys.topic(name) for name in names]
    with timed() as read:
        columns = store.get_columns(paths, timeout_s=_TIMEOUT_S)
    rate("topic keys in bulk", len(paths), read.seconds, **place.figure)
    found = zip(names, columns.values, strict=True)
    counts = [(name, len(topic.decode(value, name).assignments)) for name, value in found if value is not None]
    states = [keys.state(name, partition) for name, count in counts for partition in range(count)]
    with timed() as read:
        columns = store.get_columns(states, timeout_s=_TIMEOUT_S)
    rate("state keys in bulk", len(states), read.seconds, **place.figure)
    with timed() as shot:
        entries = store.snapshot(keys.TOPICS, timeout_s=_TIMEOUT_S).entries
    rate("all topics in one snapshot", len(entries), shot.seconds, **place.figure)
    return states


def _few(place: Place, store: MetadataStore, paths: Sequence[str]) -> None:
    def get(path: str) -> None:
        store.get(path, timeout_s=_TIMEOUT_S)

    with timed() as one:
        for path in paths:
            get(path)
    rate("state keys one by one", len(paths), one.seconds, **place.figure)
    with ThreadPoolExecutor(IN_FLIGHT) as pool, timed() as ten:
        for _ in pool.map(get, paths):
            pass
    rate(f"state keys with {IN_FLIGHT} in flight", len(paths), ten.seconds, **place.figure)


def _commits(place: Place, store: MetadataStore) -> None:
    version: Any = store.commit([Put(_LATENCY, b"", ABSENT)], timeout_s=_TIMEOUT_S).versions[0]
    seconds = []
    for _ in range(COMMITS):
        began = perf_counter()
        version = store.commit([Put(_LATENCY, b"v" * 150, version)], timeout_s=_TIMEOUT_S).versions[0]
        seconds.append(perf_counter() - began)
    store.commit([Delete(_LATENCY, version)], timeout_s=_TIMEOUT_S)
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        figure(f"commit of one key, {name}", COMMITS, percentile(seconds, share), **place.figure)
