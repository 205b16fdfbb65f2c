"""Fleets on disk for the tests of the Spark engine: clusters of every kind, sound ones and those with bad rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.layouts import from_map
from kedge.pipeline.collect.store import from_tree_file
from kedge.pipeline.generating import generate
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER, BROKER_SAMPLE, PARTITION, REPLICA_LOG, REPLICA_SAMPLE, TABLES
from kedge.pipeline.tables.files import Place
from kedge.pipeline.tables.schema import Table
from tests.kit.data import DATA, LAYOUTS

SNAPSHOT = "1"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
Rows = dict[Table, list[tuple[Any, ...]]]
Fleet = Mapping[str, Mapping[str, Arrow]]


def write(root: Path | str, fleet: Fleet) -> list[Place]:
    """The fleet's tables below `root`, and where they are, by cluster."""
    places = []
    for cluster, tables in sorted(fleet.items()):
        places.append(Place(root, cluster, SNAPSHOT))
        for name, table in tables.items():
            places[-1].write(TABLES[name], table)
    return places


def change(tables: dict[str, Arrow], row: int, **values: Any) -> None:
    """Values of a broker are others."""
    rows = tables[BROKER.name].to_pylist()
    rows[row] |= values
    tables[BROKER.name] = from_rows(BROKER, [list(one.values()) for one in rows])


def strange(seed: int, *, bad: bool) -> dict[str, Arrow]:
    """Collected tables with whatever may be known of a cluster, or not: racks, capacities, the dead, moves, who is in
    sync, logs, samples of partitions and of topics. `bad`: with rows that cannot be used."""
    random = Random(seed)
    ids = random.sample(range(1, 60) if seed % 3 else range(1, 2_000_000_000), random.randint(3, 9))
    racks, tight = random.choice((0, 2, 3)), random.choice((None, 400, 4000))
    rows: Rows = {BROKER: [_broker(random, b, racks, tight) for b in ids], PARTITION: [], REPLICA_LOG: []}
    for t in range(random.randint(1, 5)):
        factor, sizes = random.randint(1, min(4, len(ids))), random.choice(((), (10, 1000, 4321), (0, 1)))
        for p in range(random.randint(1, 7)):
            row = _partition(random, ids, f"t{t}", p, factor)
            rows[PARTITION].append(row)
            logs = [(b, "/d", f"t{t}", p, random.choice(sizes), 0, random.random() < 0.1) for b in row[2] if sizes]
            rows[REPLICA_LOG].extend(logs)
    if random.random() < 0.7:
        rows[REPLICA_SAMPLE] = [_sample(random, rows[PARTITION]) for _ in range(random.randint(0, 80))]
        rows[BROKER_SAMPLE] = [_disk(random, ids) for _ in range(random.randint(0, 15))]
    if bad:
        _spoil(rows)
    for listed in rows.values():
        random.shuffle(listed)
    return {table.name: from_rows(table, listed) for table, listed in rows.items()}


def _broker(random: Random, broker: int, racks: int, tight: int | None) -> tuple[Any, ...]:
    rack = f"r{random.randint(1, racks)}" if racks else None
    capacities = [random.choice(some) for some in ((None, tight, 1 << 40), (None, 300.0), (None, 700.5))]
    return (broker, None, rack, random.choice((*["alive"] * 7, "dead", "draining")), *capacities)


def _partition(random: Random, ids: list[int], topic: str, number: int, factor: int) -> tuple[Any, ...]:
    """Often sound; some with another factor, moving, behind, with any leader, or with a stranger in sync."""
    replicas = random.sample(ids, factor if random.random() < 0.9 else 1)
    target = random.sample(ids, factor) if random.random() < 0.1 else None
    isr = [b for b in replicas if random.random() < 0.9]
    isr += target[:1] if target and random.random() < 0.3 else []
    isr = list(dict.fromkeys(isr)) + ([77] if random.random() < 0.03 else [])
    leader = random.choice((*replicas[:1] * 4, replicas[-1], -1, (target or replicas)[0]))
    rest = [random.choice(some) for some in ((0, 0, 0, 1), (None, 0, 70_000), (None, None, 1 / 3))]
    return (topic, number, replicas, isr, leader, 3, target, *rest)


def _sample(random: Random, partitions: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Of a partition, at a broker or anywhere, or of all that a broker leads of a topic."""
    topic, number, replicas = random.choice(partitions)[:3]
    whole = random.random() < 0.4
    broker = random.choice(replicas) if whole or random.random() < 0.5 else None
    rates = (random.choice((None, random.random() * 1000)), random.choice((None, random.random() * 10)))
    when = NOW + timedelta(seconds=random.randint(0, 2000))
    flags = (random.choice((None, True, True, False)), random.random() < 0.1)
    return (when, broker, topic, None if whole else number, *rates, *flags)


def _disk(random: Random, ids: list[int]) -> tuple[Any, ...]:
    when, free = NOW + timedelta(seconds=random.randint(0, 20)), random.choice((None, 500, 9000))
    return (when, random.choice(ids), None, None, None, free, *[None] * 6)


def _spoil(rows: Rows) -> None:
    """Rows of each kind that validating takes out."""
    first = rows[PARTITION][0]
    broker, rest = first[2][0], (-1, 0, None, 0, None)
    rows[PARTITION] += [
        first,
        ("t0", 99, [broker] * 3, [], *rest, None),
        ("t0", 98, [], [], *rest, None),
        ("..", 0, [broker], [broker], *rest, None),
        ("t0", -5, [broker], [broker], *rest, None),
        ("t1", 97, [broker, 1234], [], *rest, None),
        ("t1", 96, [broker], [], *rest, float("nan")),
    ]
    nothing = (None, None, None)
    rows[BROKER] += [rows[BROKER][0], (-1, None, None, "alive", *nothing), (5000, None, None, "asleep", *nothing)]
    rows[REPLICA_LOG] += [
        (4999, "/d", "t0", 0, 1, 0, False),
        (broker, "/d", "nowhere", 0, 1, 0, False),
        (broker, "/d", "t0", 0, -7, 0, False),
    ]
    if REPLICA_SAMPLE in rows:
        rates = (1.0, None, None, False)
        old = (NOW - timedelta(days=9), None, "t0", 0, *rates)
        rows[REPLICA_SAMPLE] += [(NOW, None, "t0", None, *rates), (NOW, broker, "nowhere", 0, *rates), old]
        rows[BROKER_SAMPLE] += [(NOW, broker, None, None, None, -3, *nothing, *nothing)]


def silver(collected: Mapping[str, Arrow]) -> dict[str, Arrow]:
    """Validated and loaded, as `kedge plan collect` leaves it."""
    found = validate(collected)
    return {**found, **load(found)}


def from_data() -> dict[str, dict[str, Arrow]]:
    """Those of tests/data: partitions on layouts, maps, trees of Kafka 3.9."""
    fleet = {}
    for seed, (name, layout) in enumerate(sorted(LAYOUTS.items())):
        fleet[f"layout-{name}"] = _on_layout(layout, Random(seed))
    for name in ("map_three_brokers", "map_nine_brokers", "map_many_brokers"):
        gathered = Gathered()
        from_map((DATA / f"{name}.json").read_bytes(), name, gathered)
        fleet[name] = silver(gathered.tables())
    for name in ("kafka_3_9_tree_idle", "kafka_3_9_tree_moving"):
        gathered = Gathered()
        from_tree_file((DATA / f"{name}.json").read_bytes(), name, gathered)
        fleet[name] = silver(gathered.tables())
    return fleet


def _on_layout(layout: Mapping[int, str | None], random: Random) -> dict[str, Arrow]:
    """Forty partitions with sizes on brokers and racks."""
    ids = sorted(layout)
    sizes = [random.randint(1, 10**9) for _ in range(40)]
    placed = [(f"t{p % 4}", p // 4, random.sample(ids, 3)) for p in range(40)]
    rows: Rows = {
        BROKER: [(b, None, layout[b], "alive", None, None, None) for b in ids],
        PARTITION: [(t, p, replicas, replicas, replicas[0], 0, None, 0, None, None) for t, p, replicas in placed],
        REPLICA_LOG: [(r[0], "/d", t, p, size, 0, False) for (t, p, r), size in zip(placed, sizes, strict=True)],
    }
    return silver({table.name: from_rows(table, listed) for table, listed in rows.items()})


def generated(count: int) -> dict[str, dict[str, Arrow]]:
    """Clusters of nine brokers, without racks and with one to three."""
    return {f"g{i}": generate(brokers=9, topics=4, partitions=6, seed=i, racks=i % 4) for i in range(count)}
