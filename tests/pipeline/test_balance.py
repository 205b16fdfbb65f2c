"""Rebalances by several resources: capacities first, then each chosen resource within the tolerance, or a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor
from typing import Any

import pytest

from kedge.pipeline.errors import BadInput
from kedge.pipeline.generating import generate
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.check import check
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Rebalance
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import LOG_DIR, REPLICA_LOAD
from tests.pipeline.snapshots import broker, partition, tables
from tests.pipeline.test_disks import named
from tests.pipeline.test_plan import Tables, made, rows

MB = 1e6
SCALARS = ("bytes", "network-in", "network-out", "leaders", "replicas")
Part = tuple[Any, ...]


def cluster(brokers: list[Part], parts: Sequence[tuple[str, int, list[int], int | None, float | None]]) -> Tables:
    """Tables of partitions, each with its topic, number, replicas, bytes and rate of writing."""
    load = [(t, p, size, rate, None if rate is None else 0.0, 1.0 if rate is not None else 0.0, "measured")
            for t, p, _, size, rate in parts]  # fmt: skip
    found = tables(brokers, [partition(t, p, replicas) for t, p, replicas, _, _ in parts])
    return {**found, "replica_load": from_rows(REPLICA_LOAD, load)}


def after(given: Tables, found: Tables) -> Tables:
    return {**given, "partition": apply(given["partition"], found["plan_move"])}


def capacities(given: Tables) -> list[tuple[str, int, str]]:
    """The broken rules of capacities: kind, broker, when."""
    listed = check(given, limits=Limits(1, 1)).to_pylist()
    return [(row["kind"], row["broker_id"], row["when"]) for row in listed if row["kind"].startswith("CAP")]


def busy(replicas: list[list[int]], nw_in: float | None = None, nw_out: float | None = None) -> Tables:
    """Twelve partitions with 9 MB/s on two of six brokers; the four others hold as many bytes without writes."""
    hot = [("busy", p, row, 1000, 9 * MB) for p, row in enumerate(replicas)]
    cold = [("idle", p, [3 + p % 4], 1000, 0.0) for p in range(48)]
    return cluster([broker(b, nw_in=nw_in, nw_out=nw_out) for b in range(1, 7)], [*hot, *cold])


def test_rebalance_repairs_brokers_above_their_receiving_capacity() -> None:
    """Two of six brokers receive 108 of 100 MB/s, at level bytes."""
    given = busy([[1 + p % 2, 2 - p % 2] for p in range(12)], nw_in=100 * MB)
    found = made(given, Rebalance(0.1))
    assert capacities(given) == [("CAP_IN", 1, "now"), ("CAP_IN", 2, "now")]
    assert capacities(after(given, found)) == []
    (row,) = rows(found, "plan")
    assert (row["complete"], row["bytes_copied"], row["bytes_bound"]) == (True, 2000, 1776), "8/9 of a replica each"
    assert (row["network_in_max_mean_before"], row["network_in_max_mean_after"]) == (3.0, 2.75)
    assert [load["in_bps_after"] for load in rows(found, "plan_load")][:2] == [99 * MB] * 2


def test_leaders_repair_a_sending_capacity_without_copies() -> None:
    """Broker 1 leads all that it shares with broker 2, so it sends 108 MB/s, and broker 2 nothing."""
    hot = [("t", p, [1, 2], 1000, 9 * MB) for p in range(12)]
    given = cluster([broker(b, nw_out=120 * MB) for b in (1, 2)], hot)
    limits = Limits(1, 0.75)  # of 120 MB/s: neither could send all, but both together can
    found = plan(given, Rebalance(), name="p", limits=limits)
    (row,) = rows(found, "plan")
    assert row["replicas_copied"] == 0
    assert max(load["out_bps_after"] for load in rows(found, "plan_load")) <= 90 * MB
    assert {r["reason"] for r in rows(found, "plan_reason")} == {
        "every remaining broker in the possible racks already holds a replica of the partition"
    }, "if all replicas led, both would send too much"


def test_what_a_broker_would_send_if_it_led_is_repaired() -> None:
    given = busy([[1, 2] for p in range(12)], nw_out=100 * MB)
    found = made(given, Rebalance())
    assert set(capacities(given)) >= {("CAP_OUT", 1, "now"), ("CAP_OUT", 2, "potential")}
    assert (capacities(after(given, found)), rows(found, "plan")[0]["complete"]) == ([], True)


def test_a_capacity_that_cannot_be_kept_has_reasons() -> None:
    given = cluster([broker(1, nw_in=10.0), broker(2, nw_in=10.0)], [("t", p, [1, 2], 5, 6.0) for p in range(2)])
    found = made(given, Rebalance())
    assert rows(found, "plan")[0]["complete"] is False
    assert {(r["broker_id"], r["reason"][:22]) for r in rows(found, "plan_reason")} == {
        (b, "every remaining broker") for b in (1, 2)
    }


def loads_of(given: Tables) -> dict[str, Counter[tuple[int, str]]]:
    """What brokers use of each resource, and of each topic's counts, counted row by row."""
    found: dict[str, Counter[tuple[int, str]]] = {
        name: Counter() for name in (*SCALARS, "topic-replicas", "topic-leaders")
    }
    load = {(row["topic"], row["partition"]): row for row in rows(given, "replica_load")}
    for row in rows(given, "partition"):
        one, topic, leader = load[row["topic"], row["partition"]], row["topic"], row["replicas"][0]
        for b in row["replicas"]:
            found["bytes"][b, ""] += one["size_bytes"]
            found["network-in"][b, ""] += one["write_bps"]
            found["replicas"][b, ""] += 1
            found["topic-replicas"][b, topic] += 1
        found["network-out"][leader, ""] += one["read_bps"] + one["write_bps"] * (len(row["replicas"]) - 1)
        found["leaders"][leader, ""] += 1
        found["topic-leaders"][leader, topic] += 1
    return found


def above(name: str, used: Counter[tuple[int, str]], brokers: int, tolerance: float) -> set[int]:
    """The brokers above the level of a resource."""
    total: Counter[str] = Counter()
    for (_, topic), value in used.items():
        total[topic] += value
    level = {topic: value / brokers * (1 + tolerance) for topic, value in total.items()}
    if name not in {"bytes", "network-in", "network-out"}:
        level = {topic: max(ceil(total[topic] / brokers), floor(most)) for topic, most in level.items()}
    return {b for (b, topic), value in used.items() if value > level[topic] + 0.001}


MIXES = [
    ("network-in",),
    ("bytes", "network-in", "network-out", "leaders"),
    ("bytes", "topic-replicas", "topic-leaders"),
    ("replicas", "network-out"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", MIXES, ids=", ".join)
def test_each_resource_is_level_or_has_reasons(by: tuple[str, ...], seed: int) -> None:
    given = generate(brokers=9, topics=8, partitions=12, racks=3, empty_brokers=seed, seed=seed)
    found = made(given, Rebalance(0.1, by=by))
    (row,), used, before = rows(found, "plan"), loads_of(after(given, found)), loads_of(given)
    refused = {reason["broker_id"] for reason in rows(found, "plan_reason")}
    stay = {name: above(name, used[name], 9, 0.1) for name in by}
    assert set().union(*stay.values()) == refused
    assert row["complete"] is not bool(refused)
    assert row["bytes_copied"] >= row["bytes_bound"]
    for load in rows(found, "plan_load"):
        rates = load["in_bps_after"], load["out_bps_after"]
        assert rates == pytest.approx(tuple(used[f"network-{way}"][load["broker_id"], ""] for way in ("in", "out")))
    for name in by:
        assert max(used[name].values()) <= max(before[name].values()), f"{name} was not to become worse"


@pytest.mark.parametrize("seed", range(3))
def test_larger_clusters_reach_every_level_near_the_bound(seed: int) -> None:
    given = generate(brokers=12, topics=300, partitions=20, seed=seed)
    found = made(given, Rebalance(0.05, by=("bytes", "network-in", "network-out", "leaders")))
    (row,) = rows(found, "plan")
    assert row["complete"]
    assert row["bytes_copied"] <= 1.25 * row["bytes_bound"]


def test_replicas_are_exchanged_where_all_are_full() -> None:
    """Both brokers hold as many bytes; one of them all that is written to."""
    parts = [("hot", p, [1], 100, 9.0) for p in range(4)] + [("cold", p, [2], 100, 1.0) for p in range(4)]
    found = made(cluster([broker(1), broker(2)], parts), Rebalance(by=("bytes", "network-in")))
    assert [load["in_bps_after"] for load in rows(found, "plan_load")] == [20.0, 20.0]
    assert [load["size_bytes_after"] for load in rows(found, "plan_load")] == [400, 400]
    assert rows(found, "plan")[0]["complete"]


def test_leaders_are_exchanged_where_counts_are_level() -> None:
    parts = [("hot", p, [1, 2], 100, 9.0) for p in range(4)] + [("cold", p, [2, 1], 100, 1.0) for p in range(4)]
    found = made(cluster([broker(1), broker(2)], parts), Rebalance(by=("network-out", "leaders")))
    assert [(load["out_bps_after"], load["leaders_after"]) for load in rows(found, "plan_load")] == [(20.0, 4)] * 2
    assert (rows(found, "plan")[0]["complete"], rows(found, "plan")[0]["replicas_copied"]) == (True, 0)


def test_each_topic_is_spread_over_all_brokers() -> None:
    """Topic a is on brokers 1 and 2 alone, topic b on 3 and 4: bytes are level, topics are not."""
    rows_ = [[1, 2], [2, 1], [3, 4], [4, 3]]
    parts = [(t, p, rows_[p % 2 + 2 * (t == "b")], 10, 1.0) for t in "ab" for p in range(4)]
    given = cluster([broker(b) for b in range(1, 5)], parts)
    found = made(given, Rebalance(by=("bytes", "topic-replicas", "topic-leaders")))
    used = loads_of(after(given, found))
    assert set(used["topic-replicas"].values()) == {2}
    assert set(used["topic-leaders"].values()) == {1}
    (row,) = rows(found, "plan")
    assert (row["complete"], row["bytes_copied"], row["bytes_bound"]) == (True, 80, 80)


@pytest.mark.parametrize("limit", [{"replicas_max": 5}, {"leaders_max": 3}], ids=["replicas", "leaders"])
def test_counts_of_a_broker_are_capped(limit: dict[str, int]) -> None:
    given = cluster([broker(b) for b in range(1, 5)], [("t", p, [1, 2], 0, 0.0) for p in range(8)])
    found = made(given, Rebalance(**limit))  # type: ignore[arg-type]
    (column,) = [f"{name.removesuffix('_max')}_after" for name in limit]
    assert max(load[column] for load in rows(found, "plan_load")) <= max(limit.values())
    assert rows(found, "plan")[0]["complete"]


def test_a_cap_without_room_has_reasons() -> None:
    given = cluster([broker(b) for b in range(1, 4)], [("t", p, [1 + p % 3], 10, 0.0) for p in range(9)])
    found = made(given, Rebalance(replicas_max=2))
    assert {row["reason"] for row in rows(found, "plan_reason")} == {
        "every broker in the possible racks would exceed a limit: of disk, network, replicas or leaders"
    }
    assert rows(found, "plan")[0]["complete"] is False


def test_a_budget_serves_the_fullest_brokers_first() -> None:
    parts = [("t", p, [1 if p < 30 else 2 if p < 50 else 3 + p % 2], 10, 1.0) for p in range(60)]
    given = cluster([broker(b) for b in range(1, 5)], parts)
    found = made(given, Rebalance(0.01, 60, by=("bytes", "network-in")))
    (row,) = rows(found, "plan")
    assert (row["bytes_copied"], row["complete"]) == (60, False)
    assert rows(found, "plan_load")[0]["replicas_after"] == 24
    assert {r["reason"] for r in rows(found, "plan_reason")} >= {
        "the replica exceeds the bytes that may still be moved"
    }


def test_a_replica_that_comes_back_costs_nothing() -> None:
    """So a budget of what is copied without one changes nothing."""
    given = generate(brokers=10, topics=6, partitions=4, replication_factor=2, racks=0, empty_brokers=2, seed=14)
    found = plan(given, Rebalance(0.01, 10**15), name="p")
    (copied,) = found["plan"]["bytes_copied"].to_pylist()
    assert plan(given, Rebalance(0.01, copied), name="p")["plan_move"].equals(found["plan_move"])


def test_a_partition_above_the_level_stays_with_a_reason() -> None:
    parts = [("big", 0, [1], 10, 90.0), *(("t", p, [1 + p % 3], 10, 1.0) for p in range(30))]
    found = made(cluster([broker(b) for b in range(1, 4)], parts), Rebalance(by=("network-in",)))
    reasons = {(r["topic"], r["broker_id"], r["reason"]) for r in rows(found, "plan_reason")}
    assert reasons == {("big", 1, "without the replica its broker would fall too far below the mean")}


@pytest.mark.parametrize("request_", [Rebalance(), Rebalance(by=("network-in",))], ids=repr)
def test_partitions_that_differ_a_little_are_shared_out(request_: Rebalance) -> None:
    """The half that goes may be a few bytes larger than the half that stays."""
    parts = [("t", p, [1], 1000 + p * p, 1000.0 + p * p) for p in range(4)]
    found = made(cluster([broker(b) for b in (1, 2)], parts), request_)
    assert len(rows(found, "plan_move")) == 2


TWO_EACH = [
    ("hot", 0, [1], 100, 9.0),
    ("warm", 0, [1], 100, 9.0),
    ("cold", 0, [2], 100, 1.0),
    ("cold", 1, [2], 100, 1.0),
]


def test_a_disk_has_room_before_old_replicas_leave_it() -> None:
    """Broker 2 could exchange its cold partition for the hot one, but not hold both."""
    for disk, copied in ((250, 0), (300, 2)):
        given = cluster([broker(b, disk=disk) for b in (1, 2)], TWO_EACH)
        found = made(given, Rebalance(by=("bytes", "network-in")))
        assert rows(found, "plan")[0]["replicas_copied"] == copied


def directories(*volumes: int, is_cordoned: bool = False) -> Arrow:
    """Of brokers 1 and 2; each directory holds 100 bytes."""
    paths = [(f"/{i}", total) for i, total in enumerate(volumes)]
    return from_rows(LOG_DIR, [(b, path, n, n - 100, is_cordoned and b == 2, 100) for b in (1, 2) for path, n in paths])


@pytest.mark.parametrize("volumes, to", [((150, 150), {}), ((100, 200), {("cold", 0, 1): "/1", ("hot", 0, 2): "/1"})])
def test_an_exchange_needs_room_in_one_directory(volumes: tuple[int, int], to: dict[tuple[str, int, int], str]) -> None:
    given = cluster([broker(1), broker(2)], TWO_EACH) | {"log_dir": directories(*volumes)}
    found = made(given, Rebalance(by=("bytes", "network-in")))
    assert named(found) == to
    assert rows(found, "plan")[0]["complete"] is bool(to)


def test_cordoned_directories_get_not_even_empty_replicas() -> None:
    given = cluster([broker(1), broker(2)], [("t", p, [1], 0, 1.0) for p in range(4)])
    by = Rebalance(by=("replicas",))
    assert rows(made(given, by), "plan")[0]["replicas_copied"] == 2
    found = made(given | {"log_dir": directories(200, 200, is_cordoned=True)}, by)
    assert rows(found, "plan")[0]["replicas_copied"] == 0


def test_partitions_without_a_size_change_leaders_alone() -> None:
    given = cluster([broker(1), broker(2), broker(3)], [("t", p, [1, 2], None, 10.0) for p in range(4)])
    found = made(given, Rebalance(0.6, by=("network-out", "network-in")))
    assert rows(found, "plan")[0]["replicas_copied"] == 0
    assert [load["leaders_after"] for load in rows(found, "plan_load")] == [2, 2, 0]
    given["replica_load"] = cluster([], [("t", p, [1, 2], None, 10.0) for p in range(4)])["replica_load"]
    reasons = {row["reason"] for row in rows(made(given, Rebalance(by=("network-in",))), "plan_reason")}
    assert reasons == {"the size of the partition is not known, so it is not copied"}


def test_networks_without_rates_are_not_level() -> None:
    given = cluster([broker(1), broker(2)], [("t", p, [1 + p % 2], 10, None) for p in range(4)])
    (row,) = rows(made(given, Rebalance(by=("network-in",))), "plan")
    assert (row["complete"], row["network_in_max_mean_after"], row["partitions_unrated"]) == (False, None, 4)
    assert [load["in_bps_before"] for load in rows(made(given, Rebalance()), "plan_load")] == [None, None]


def test_networks_are_level_in_proportion_to_capacities() -> None:
    parts = [("t", p, [1 + p % 2], 10, 10.0) for p in range(40)]
    given = cluster([broker(1, nw_in=1000.0), broker(2, nw_in=3000.0)], parts)
    found = made(given, Rebalance(by=("network-in",)))
    assert [load["in_bps_after"] for load in rows(found, "plan_load")] == [100.0, 300.0]
    assert rows(found, "plan")[0]["network_in_max_mean_after"] == 1.0


@pytest.mark.parametrize(
    "by, message", [((), "got none"), (("disk",), "got disk"), (("bytes", "bytes"), "each once; got bytes, bytes")]
)
def test_unknown_resources_are_refused(by: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=f"by: expected some of bytes, network-in, .*{message}"):
        Rebalance(by=by)
    with pytest.raises(BadInput, match="limit of leaders of a broker: expected 0 or more, got -1"):
        Rebalance(leaders_max=-1)
