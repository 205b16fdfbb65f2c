"""How many brokers a cluster needs: the counts hold its load, and what could go can be drained."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kedge.pipeline import Drain, Limits, generate, local, sizing
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER, BROKER_DEFAULT, REPLICA_LOAD, TABLES
from kedge.pipeline.tables.files import Place
from tests.kit.commands import plan as run
from tests.pipeline.snapshots import broker, loads, partition, tables

SEEDS = range(10)


def cluster(seed: int) -> dict[str, Arrow]:
    """A generated cluster with disks of two sizes."""
    chance = Random(seed)
    racks = chance.choice((0, 3, 3, 4))
    given = generate(brokers=chance.randint(8, 14), topics=8, partitions=9, racks=racks, seed=seed)
    rows = given[BROKER.name].to_pylist()
    size = rows[0]["disk_capacity_bytes"]
    for row in rows:
        row["disk_capacity_bytes"] = size * chance.choice((1, 2))
    given[BROKER.name] = from_rows(BROKER, [list(row.values()) for row in rows])
    return given


def grown(given: dict[str, Arrow], growth: float) -> dict[str, Arrow]:
    rows = given[REPLICA_LOAD.name].to_pylist()
    for row in rows:
        row |= {name: row[name] * growth for name in ("write_bps", "read_bps")}
        row["size_bytes"] = int(row["size_bytes"] * growth)
    return given | {REPLICA_LOAD.name: from_rows(REPLICA_LOAD, [list(row.values()) for row in rows])}


@pytest.mark.parametrize("growth", [1.0, 1.4])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_could_go_is_drained_completely(seed: int, growth: float) -> None:
    given, limits = cluster(seed), Limits(0.7, 0.5)
    go = sizing(given, limits=limits, growth=growth)["could_go"]
    if go:
        done = plan(grown(given, growth), Drain(tuple(go)), name="p", limits=limits)
        assert done["plan"].to_pylist()[0]["complete"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_counted_brokers_hold_the_load_of_a_rack(seed: int) -> None:
    """One broker fewer would not: for the disk, the network or the replicas of one partition."""
    given, growth = cluster(seed), 1.3
    found = sizing(given, limits=Limits(0.7, 0.5), growth=growth)
    racks = {row["broker_id"]: row["rack"] for row in given[BROKER.name].to_pylist()}
    for rack in found["racks"]:
        most = max(sum(racks[b] == rack["rack"] for b in row["replicas"]) for row in given["partition"].to_pylist())
        for kind in rack["kinds"]:
            disk = kind["disk_capacity_bytes"] * 0.7
            sends, receives = (kind[f"nw_{way}_capacity_bps"] * 0.5 for way in ("out", "in"))

            def fits(count: int) -> Any:
                bps = rack["in_bps"] <= count * receives and rack["potential_out_bps"] <= count * sends  # noqa: B023
                return bps and rack["bytes"] <= count * disk + 1 and count >= most  # noqa: B023

            assert fits(kind["needed"])
            assert not fits(kind["needed"] - 1)
            assert kind["needed"] >= max(kind["needed_disk"], kind["needed_network"])
            assert all(racks[b] == rack["rack"] for b in kind["brokers"])
    assert sum(len(kind["brokers"]) for rack in found["racks"] for kind in rack["kinds"]) == len(racks)


def two_racks(**more: Any) -> dict[str, Arrow]:
    """Rack a: 300 bytes on three disks of 200; rack b: 300 bytes on one disk of 400."""
    brokers = [broker(i, "a", disk=200, **more) for i in (1, 2, 3)] + [broker(9, "b", disk=400, **more)]
    parts = [partition("t", p, [1 + p, 9]) for p in range(3)]
    return {**tables(brokers, parts), "replica_load": loads({("t", p): 100 for p in range(3)}, 10.0)}


def counts(found: dict[str, Any], name: str) -> dict[str | None, list[Any]]:
    return {rack["rack"]: [kind[name] for kind in rack["kinds"]] for rack in found["racks"]}


def test_racks_and_kinds_are_counted() -> None:
    """Of the kinds of 400 and of 200 bytes; what a rack lacks is counted in brokers of each kind."""
    found = sizing(two_racks(), limits=Limits(1.0))
    assert counts(found, "needed") == {"a": [1, 2], "b": [1, 2]}
    assert counts(found, "brokers") == {"a": [[], [1, 2, 3]], "b": [[9], []]}
    assert (found["could_go"], found["bytes_to_move"]) == ([1], 100)
    more = sizing(two_racks(), limits=Limits(1.0), growth=2.1)
    assert counts(more, "missing") == {"a": [1, 1], "b": [1, 2]}
    assert more["could_go"] == []


def test_a_slow_network_needs_more_brokers_than_the_disk() -> None:
    """30 bytes per second come into each rack, and every broker takes 8 of its 10."""
    found = sizing(two_racks(nw_in=10.0, nw_out=1e9), limits=Limits(1.0, 0.8))
    assert counts(found, "needed_network") == {"a": [4, 4], "b": [4, 4]}
    assert counts(found, "needed_disk") == {"a": [1, 2], "b": [1, 2]}
    assert counts(found, "missing") == {"a": [1, 1], "b": [3, 3]}


def test_a_rack_keeps_a_broker_for_each_replica_of_a_partition() -> None:
    given = tables([broker(b, disk=1000) for b in (1, 2, 3)], [partition("t", 0, [1, 2])])
    found = sizing({**given, "replica_load": loads({("t", 0): 1})})
    assert (counts(found, "needed"), found["could_go"]) == ({None: [2]}, [3])


def test_brokers_that_are_drained_or_unknown_hold_nothing_more() -> None:
    """Broker 4 is being drained, and the disk of broker 5 is not known."""
    brokers = [broker(b, disk=100) for b in (1, 2)] + [broker(4, disk=100, state="draining"), broker(5)]
    parts = [partition("t", p, [b]) for p, b in enumerate((1, 4, 5))]
    found = sizing(
        {**tables(brokers, parts), "replica_load": loads({("t", p): 60 for p in range(3)})}, limits=Limits(1.0)
    )
    assert (counts(found, "brokers"), counts(found, "missing")) == ({None: [[1, 2]]}, {None: [0]})
    assert found["could_go"] == []


@pytest.mark.parametrize("none", [{"disk": 0}, {"nw_in": 0.0}, {"nw_out": 0.0}])
def test_a_broker_with_a_capacity_of_0_holds_nothing_more(none: dict[str, Any]) -> None:
    brokers = [broker(1, disk=100), broker(2, **{"disk": 100, **none})]
    given = tables(brokers, [partition("t", 0, [1])]) | {"replica_load": loads({("t", 0): 60})}
    assert counts(sizing(given, limits=Limits(1.0)), "brokers") == {None: [[1]]}


def test_what_a_dead_broker_of_no_known_rack_held_needs_room() -> None:
    """Broker 1 is not listed: its 100 bytes are divided among the racks."""
    brokers = [broker(2, "a", disk=100), broker(3, "a", disk=100), broker(4, "b", disk=100)]
    given = local.validate(tables(brokers, [partition("t", 0, [1]), partition("t", 1, [2])]))
    found = sizing({**given, "replica_load": loads({("t", 0): 99, ("t", 1): 60})}, limits=Limits(1.0))
    assert {rack["rack"]: rack["bytes"] for rack in found["racks"]} == {"a": 60 + 50, "b": 50}
    assert found["could_go"] == []


def test_the_default_of_capacities_counts() -> None:
    given = tables([broker(1), broker(2)], [partition("t", 0, [1])]) | {"replica_load": loads({("t", 0): 1})}
    with pytest.raises(BadInput, match="the disk capacity of no broker is known"):
        sizing(given)
    found = sizing(given | {"broker_default": from_rows(BROKER_DEFAULT, [(10, None, None)])})
    assert found["could_go"] == [2]


@pytest.mark.parametrize("growth", [0.0, -1.0, float("nan"), float("inf")])
def test_growth_that_cannot_be_is_refused(growth: float) -> None:
    with pytest.raises(BadInput, match="growth: expected above 0"):
        sizing(two_racks(), growth=growth)


def stored(tmp_path: Path, given: dict[str, Arrow]) -> Path:
    for name, table in given.items():
        Place(tmp_path / "t", "c", "1").write(TABLES[name], table)
    return tmp_path / "t"


def test_the_command_prints_a_table_and_writes_nothing(tmp_path: Path) -> None:
    where = stored(tmp_path, two_racks())
    before = sorted(path for path in where.rglob("*"))
    done = run("size", where, "--disk-share", "1.0")
    assert (done.exit_code, done.stderr) == (0, "")
    heading, *racks = [line.split("  ") for line in done.stdout.splitlines()]
    assert [cell for cell in heading if cell][:2] == ["rack", "kind"]
    assert [[cell.strip() for cell in row if cell.strip()] for row in racks[:2]] == [
        ["a", "400 bytes", "0", "300 bytes", "1", "0", "1", "0"],
        ["a", "200 bytes", "3", "300 bytes", "2", "0", "2", "0"],
    ]
    assert "could go  1, with 100 bytes to move" in done.stdout
    assert "the network capacity of no broker is known" in done.stdout
    assert sorted(path for path in where.rglob("*")) == before


def test_missing_brokers_end_with_exit_code_1(tmp_path: Path) -> None:
    where = stored(tmp_path, two_racks())
    done = run("size", where, "--growth", "3", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["growth"], said["could_go"]) == (1, 3.0, [])
    assert run("size", where, "--growth", "0").exit_code == 2
