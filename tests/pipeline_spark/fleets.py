"""Fleets for the tests of the Spark engine: clusters that can be planned, and those that cannot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kedge.pipeline.generating import generate
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import (
    BROKER,
    BROKER_SAMPLE,
    PARTITION,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    SNAPSHOT_TIME,
    TABLES,
)
from kedge.pipeline.tables.files import Place
from kedge.pipeline.tables.schema import Table

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


def collected() -> dict[str, dict[str, Arrow]]:
    """Two clusters as sources give them, with logs and samples; of `bad`, rows of every table cannot be used."""
    found = {}
    for cluster, tables in zip(("good", "bad"), generated(2).values(), strict=True):
        partitions = [list(row.values()) for row in tables[PARTITION.name].to_pylist()]
        rows: Rows = {
            BROKER: [tuple(row.values()) for row in tables[BROKER.name].to_pylist()],
            PARTITION: [(*row[:8], 70_000, None) for row in partitions],
            REPLICA_LOG: [(b, "/d", t, p, 1000 * b, 0, False) for t, p, (b, *_), *_ in partitions if t[-1] != "3"],
            REPLICA_SAMPLE: [(NOW, None, t, p, 50.5, None, True, False) for t, p, *_ in partitions if t[-1] == "0"],
            BROKER_SAMPLE: [(NOW, 1001, None, None, None, 9000, *[None] * 6)],
            SNAPSHOT_TIME: [(NOW,)],
        }
        rows[REPLICA_SAMPLE].append((NOW, partitions[6][4], partitions[6][0], None, 7.25, 1 / 3, None, False))
        if cluster == "bad":
            _spoil(rows)
        found[cluster] = {table.name: from_rows(table, listed) for table, listed in rows.items()}
    return found


def _spoil(rows: Rows) -> None:
    """Rows of each kind that validating takes out."""
    topic, number, (broker, *_), *_ = first = rows[PARTITION][0]
    rest, nothing, rates = (-1, 0, None, 0, None, None), (None, None, None), (1.0, None, None, False)
    rows[PARTITION] += [first, (topic, 99, [broker] * 3, [], *rest), (topic, 98, [], [], *rest)]
    rows[PARTITION] += [("..", 0, [broker], [broker], *rest), (topic, 97, [broker, 1234], [], *rest)]
    rows[BROKER] += [rows[BROKER][0], (-1, None, None, "alive", *nothing), (5000, None, None, "asleep", *nothing)]
    rows[REPLICA_LOG] += [(4999, "/d", topic, 0, 1, 0, False), (broker, "/d", "nowhere", 0, 1, 0, False)]
    rows[REPLICA_SAMPLE] += [(NOW, None, topic, None, *rates), (NOW - timedelta(days=9), None, topic, number, *rates)]
    rows[BROKER_SAMPLE] += [(NOW, broker, None, None, None, -3, *nothing, *nothing)]


def silver(collected: Mapping[str, Arrow]) -> dict[str, Arrow]:
    """Validated and loaded, as `kedge plan collect` leaves it."""
    found = validate(collected)
    return {**found, **load(found)}


def planned() -> dict[str, dict[str, Arrow]]:
    """Loaded clusters to drain; of `mixed` some brokers have a rack and some none, and of `none` none is draining."""
    names = ("east", "west", "mixed", "none")
    fleet = dict(zip(names, generated(4).values(), strict=True))
    for name in names[:3]:
        change(fleet[name], 0, state="draining")
    change(fleet["mixed"], 1, rack=None)
    change(fleet["west"], 2, state="dead")
    return fleet


def generated(count: int) -> dict[str, dict[str, Arrow]]:
    """Clusters of nine brokers, without racks and with one to three."""
    return {f"g{i}": generate(brokers=9, topics=4, partitions=6, seed=i, racks=i % 4) for i in range(count)}
