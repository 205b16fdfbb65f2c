"""Small snapshots of clusters for the tests of the stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from hypothesis import strategies as st

from kedge.pipeline.stages.log_dirs import with_sizes
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER, LOG_DIR, PARTITION, REPLICA_LOAD, REPLICA_LOG

NO_PARTITION = (None, None, None)
"""The columns of a rejected row that is about no partition."""


def broker(broker_id: int, rack: str | None = None, state: str = "alive", **more: Any) -> tuple[Any, ...]:
    capacity = (more.get("disk"), more.get("nw_in"), more.get("nw_out"))
    return (broker_id, f"h{broker_id}", rack, state, *capacity)


def partition(topic: str, number: int, replicas: Iterable[int], **more: Any) -> tuple[Any, ...]:
    listed = list(replicas)
    leader = more.get("leader", listed[0] if listed else -1)
    isr, target, status = more.get("isr", listed), more.get("target"), more.get("status", 0)
    return (topic, number, listed, isr, leader, 0, target, status, more.get("retention_ms"), more.get("write_bps"))


def tables(
    brokers: Iterable[tuple[Any, ...]],
    partitions: Iterable[tuple[Any, ...]],
    logs: Iterable[tuple[Any, ...]] = (),
) -> dict[str, Arrow]:
    """Brokers, partitions and logs as tables; a log is (broker, topic, partition, bytes)."""
    rows = [(b, "/d", topic, number, size, 0, False) for b, topic, number, size in logs]
    found = {BROKER: list(brokers), PARTITION: list(partitions), REPLICA_LOG: rows}
    return {table.name: from_rows(table, given) for table, given in found.items()}


def loads(sizes: Mapping[tuple[str, int], int | None], write_bps: float = 0.0) -> Arrow:
    return from_rows(REPLICA_LOAD, [(t, p, size, write_bps, 0.0, 1.0, "measured") for (t, p), size in sizes.items()])


@st.composite
def clusters(draw: st.DrawFn, *, tight: bool = False, sound: bool = False, networks: bool = False) -> dict[str, Arrow]:
    """Validated tables of a cluster: 1-4 racks or none, some brokers dead, factors 1-4, equal sizes among them.
    `tight`: with disks that are nearly full. `networks`: with networks that have little left. `sound`: no replica is
    dead, nothing moves, and a broker is to spare."""
    racks = draw(st.integers(0, 4))
    ids = sorted(draw(st.sets(st.integers(0, 99), min_size=5 if sound else 3, max_size=9)))
    names = [f"r{draw(st.integers(1, racks))}" if racks else None for _ in ids]
    dead = draw(st.sets(st.sampled_from(ids), max_size=0 if sound else 1))
    counts = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rows, sizes = [], {}
    for t, count in enumerate(counts):
        factor = draw(st.integers(1, min(4, len(ids))))
        for p in range(count):
            replicas = draw(st.permutations(ids))[:factor]
            moving = not sound and draw(st.integers(0, 9)) == 0
            rows.append(partition(f"t{t}", p, replicas, target=replicas[::-1] if moving else None))
            sizes[f"t{t}", p] = draw(st.sampled_from((0, 1, 10, 10, 100, 1000, 4321)))
    total = sum(sizes[row[0], row[1]] * len(row[2]) for row in rows)
    disk = max(1, 2 * total // len(ids)) if tight else None
    write_bps = 2.5 if networks else draw(st.sampled_from((0.0, 2.5)))
    sent = write_bps * sum(max(1, len(row[2]) - 1) * len(row[2]) for row in rows) / len(ids)
    brokers = [
        broker(b, r, "dead" if b in dead else "alive", disk=disk, **(draw(_network(sent)) if networks else {}))
        for b, r in zip(ids, names, strict=True)
    ]
    return {**tables(brokers, rows), "replica_load": loads(sizes, write_bps)}


def with_log_dirs(found: dict[str, Arrow], seed: int, *, fill: float = 0.5) -> dict[str, Arrow]:
    """The tables of a cluster, whose brokers have one to four directories. Each replica is in one of them, by chance;
    `fill`: how full a directory may be by that. One directory in eight is cordoned."""
    chance, logs, dirs = Random(seed), [], []
    sizes = {(row["topic"], row["partition"]): row["size_bytes"] for row in found["replica_load"].to_pylist()}
    held: dict[tuple[int, str], int] = {}
    paths = {
        b: [f"/d{i}" for i in range(chance.randint(1, 4))] for b in found["broker"].column("broker_id").to_pylist()
    }
    for row in found["partition"].to_pylist():
        for b in row["replicas"]:
            path, size = chance.choice(paths[b]), sizes[row["topic"], row["partition"]]
            logs.append((b, path, row["topic"], row["partition"], size, 0, False))
            held[b, path] = held.get((b, path), 0) + size
    for b, path in ((b, path) for b, some in paths.items() for path in some):
        total = int(held.get((b, path), 0) / chance.uniform(fill / 2, fill)) + 1
        dirs.append((b, path, total, total - held.get((b, path), 0), chance.random() < 1 / 8, None))
    log_dir = with_sizes(from_rows(LOG_DIR, dirs), from_rows(REPLICA_LOG, logs))
    return {**found, "replica_log": from_rows(REPLICA_LOG, logs), "log_dir": log_dir}


def _network(sent_bps: float) -> st.SearchStrategy[dict[str, float]]:
    """Of a broker, about what the mean of them sends."""
    shares = st.sampled_from((0.7, 1.0, 1.4))
    return st.fixed_dictionaries(
        {"nw_in": shares.map(lambda s: s * sent_bps), "nw_out": shares.map(lambda s: s * sent_bps)}
    )
