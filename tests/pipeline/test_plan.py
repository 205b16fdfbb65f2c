"""Plans: what is asked for is done within the hard constraints, as cheaply as can be, and what is not has a reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kedge.pipeline.generating import generate
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Add, Drain, FixRacks, Leaders, Rebalance, Request, SetFactor
from kedge.pipeline.tables.arrow import Arrow
from tests.pipeline.snapshots import broker, clusters, loads, partition, tables

WHOLE = Limits(1, 1)
Tables = dict[str, Arrow]


def rows(found: Tables, name: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found[name].to_pylist()
    return listed


def made(given: Tables, request: Request, **more: Any) -> Tables:
    """A plan; where the cluster mixes racks, without racks."""
    return plan(given, request, name="p", limits=WHOLE, **more)


def living(given: Tables) -> dict[int, str | None]:
    return {row["broker_id"]: row["rack"] for row in rows(given, "broker") if row["state"] == "alive"}


def size_of(given: Tables) -> dict[tuple[str, int], int]:
    return {(row["topic"], row["partition"]): row["size_bytes"] for row in rows(given, "replica_load")}


def requests(given: Tables) -> list[Request]:
    alive = sorted(living(given))
    return [
        Drain((alive[0],)),
        Drain(tuple(alive[:2])),
        Add(((alive[-1], None),)),
        Rebalance(),
        Rebalance(bytes_max=500),
        Rebalance(by=("bytes", "network-in", "network-out", "leaders")),
        Rebalance(0.1, 500, ("network-in", "topic-replicas", "topic-leaders"), replicas_max=5),
        FixRacks(),
        SetFactor(1),
        SetFactor(3),
        Leaders(),
    ]


@st.composite
def planned(draw: st.DrawFn, *, tight: bool = False, networks: bool = False) -> tuple[Tables, Request, Tables]:
    """A cluster, something asked for, and the plan."""
    given = draw(clusters(tight=tight, networks=networks))
    asked = draw(st.sampled_from(requests(given)))
    return given, asked, made(given, asked)


def usable_of(given: Tables, asked: Request) -> set[int]:
    gone = set(asked.brokers) if isinstance(asked, Drain) else set()
    return set(living(given)) - gone


@pytest.mark.slow
@given(planned(tight=True))
def test_no_plan_adds_a_replica_to_a_broker_that_may_not_have_it(case: tuple[Tables, Request, Tables]) -> None:
    given, asked, found = case
    usable = usable_of(given, asked)
    for move in rows(found, "plan_move"):
        target = move["target_replicas"]
        assert len(set(target)) == len(target) > 0
        assert set(target) - set(move["replicas"]) <= usable
        assert set(target) <= set(living(given)), "a move that keeps a dead broker never ends"


@pytest.mark.slow
@given(planned(tight=True))
def test_no_plan_worsens_the_spread_over_racks(case: tuple[Tables, Request, Tables]) -> None:
    """A partition that is touched stands in as many racks as its living replicas did, or in as many as it can."""
    given, asked, found = case
    racks = {row["broker_id"]: row["rack"] for row in rows(given, "broker")}
    assume(None not in racks.values())
    possible = len({racks[b] for b in usable_of(given, asked)})
    for move in rows(found, "plan_move"):
        before = len({racks[b] for b in move["replicas"] if b in set(living(given))})
        after = len({racks[b] for b in move["target_replicas"]})
        assert after >= min(before, len(move["target_replicas"]), possible)


@pytest.mark.slow
@given(planned(tight=True))
def test_no_plan_fills_a_disk_above_its_limit(case: tuple[Tables, Request, Tables]) -> None:
    """Nor above what was on it, where it was above before."""
    given, _, found = case
    limits = {row["broker_id"]: row["disk_capacity_bytes"] for row in rows(given, "broker")}
    for row in rows(found, "plan_load"):
        assert row["size_bytes_after"] <= max(limits[row["broker_id"]], row["size_bytes_before"])


@pytest.mark.full
@given(planned(networks=True))
def test_no_plan_asks_more_of_a_network_than_it_bears_or_bore_before(case: tuple[Tables, Request, Tables]) -> None:
    given, _, found = case
    before, after = (
        networks_of(given),
        networks_of({**given, "partition": apply(given["partition"], found["plan_move"])}),
    )
    for row in rows(given, "broker"):
        for way, column in (("in", "nw_in_capacity_bps"), ("out", "nw_out_capacity_bps")):
            key = row["broker_id"], way
            assert after[key] <= max(before[key], row[column])


def networks_of(given: Tables) -> Counter[tuple[int, str]]:
    """What is written to each broker, and what it would send if it led all that it holds."""
    found: Counter[tuple[int, str]] = Counter()
    load = {(row["topic"], row["partition"]): row for row in rows(given, "replica_load")}
    for row in rows(given, "partition"):
        rates = load[row["topic"], row["partition"]]
        for broker_id in row["replicas"]:
            found[broker_id, "in"] += rates["write_bps"]
            found[broker_id, "out"] += rates["read_bps"] + rates["write_bps"] * (len(row["replicas"]) - 1)
    return found


@pytest.mark.slow
@given(planned(tight=True))
def test_what_is_moving_already_is_not_touched(case: tuple[Tables, Request, Tables]) -> None:
    given, _, found = case
    moving = {(r["topic"], r["partition"]) for r in rows(given, "partition") if r["target_replicas"] is not None}
    assert not moving & {(move["topic"], move["partition"]) for move in rows(found, "plan_move")}


@pytest.mark.slow
@given(planned(tight=True))
def test_bytes_are_at_least_the_bound_and_are_counted_from_the_rows(case: tuple[Tables, Request, Tables]) -> None:
    given, asked, found = case
    (said,), sizes = rows(found, "plan"), size_of(given)
    copied = sum(
        sizes[move["topic"], move["partition"]] * len(set(move["target_replicas"]) - set(move["replicas"]))
        for move in rows(found, "plan_move")
    )
    assert said["bytes_copied"] == copied >= said["bytes_bound"]
    if not isinstance(asked, Add | Rebalance):
        assert copied == said["bytes_bound"], "nothing is copied that need not be"


@pytest.mark.slow
@given(planned())
def test_a_plan_that_is_applied_gives_the_load_that_was_promised(case: tuple[Tables, Request, Tables]) -> None:
    given, _, found = case
    after = {**given, "partition": apply(given["partition"], found["plan_move"])}
    logs = [(b, r["topic"], r["partition"], size) for r in rows(after, "partition")
            for size in [size_of(given)[r["topic"], r["partition"]]] for b in r["replicas"]]  # fmt: skip
    after["replica_log"] = tables([], [], logs)["replica_log"]
    held = {row["broker_id"]: row for row in rows(load(after), "broker_load")}
    first = Counter(row["replicas"][0] for row in rows(after, "partition"))
    for row in rows(found, "plan_load"):
        real = held[row["broker_id"]]
        assert (row["size_bytes_after"], row["replicas_after"]) == (real["size_bytes"], real["replicas"])
        assert row["leaders_after"] == first[row["broker_id"]]
        assert row["in_bps_after"] == networks_of(after)[row["broker_id"], "in"]


@pytest.mark.slow
@given(planned(tight=True))
def test_the_same_input_gives_the_same_plan_whatever_the_order_of_its_rows(
    case: tuple[Tables, Request, Tables],
) -> None:
    given, asked, found = case
    turned = {
        name: table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64())) for name, table in given.items()
    }
    assert made(turned, asked) == found


@pytest.mark.slow
@given(clusters(tight=True), st.data())
def test_a_drain_leaves_nothing_but_what_it_gives_a_reason_for(given: Tables, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(living(given))))
    found = made(given, Drain((gone,)))
    refused = {(row["topic"], row["partition"]) for row in rows(found, "plan_reason")}
    after = rows({"after": apply(given["partition"], found["plan_move"])}, "after")
    assert {(row["topic"], row["partition"]) for row in after if gone in row["replicas"]} == refused
    touched = {(row["topic"], row["partition"]) for row in rows(found, "plan_move")}
    assert (
        touched == {(r["topic"], r["partition"]) for r in rows(given, "partition") if gone in r["replicas"]} - refused
    )
    assert rows(found, "plan")[0]["complete"] is not refused or not refused


@pytest.mark.full
@given(clusters(sound=True))
def test_a_drain_where_capacity_allows_moves_what_lies_there_and_no_more(given: Tables) -> None:
    gone = min(living(given))
    found = made(given, Drain((gone,)), ignore_racks=True)
    (said,) = rows(found, "plan")
    (there,) = [row for row in rows(found, "plan_load") if row["broker_id"] == gone]
    assert (said["rejected"], there["size_bytes_after"], there["replicas_after"]) == (0, 0, 0)
    assert said["bytes_copied"] == said["bytes_bound"] == there["size_bytes_before"]


@pytest.mark.slow
@given(clusters())
def test_levelling_never_raises_the_fullest_and_no_broker_gives_and_takes(given: Tables) -> None:
    found = made(given, Rebalance())
    after = {row["broker_id"]: row for row in rows(found, "plan_load")}
    assert max(r["size_bytes_after"] for r in after.values()) <= max(r["size_bytes_before"] for r in after.values())
    gives = {b for move in rows(found, "plan_move") for b in set(move["replicas"]) - set(move["target_replicas"])}
    takes = {b for move in rows(found, "plan_move") for b in set(move["target_replicas"]) - set(move["replicas"])}
    assert not gives & takes


@pytest.mark.full
@given(clusters(sound=True), st.sampled_from((0.0, 0.01, 0.1)))
def test_no_broker_stays_above_the_level_without_a_reason(given: Tables, tolerance: float) -> None:
    found = made(given, Rebalance(tolerance))
    held = {row["broker_id"]: row["size_bytes_after"] for row in rows(found, "plan_load")}
    level = sum(held.values()) / len(held) * (1 + tolerance)
    above = {broker for broker, size in held.items() if size > level}
    assert above <= {row["broker_id"] for row in rows(found, "plan_reason")}
    assert rows(found, "plan")[0]["complete"] is not bool(above)


@pytest.mark.parametrize(
    "request_, empty",
    [
        pytest.param(Rebalance(), 3, id="rebalance"),
        pytest.param(Add(tuple((1028 + i, None) for i in range(3))), 3, id="add"),
        pytest.param(Drain((1001, 1002, 1003)), 0, id="drain"),
    ],
)
def test_a_larger_cluster_is_level_at_hardly_more_than_the_least_bytes(request_: Request, empty: int) -> None:
    given = generate(brokers=30, topics=200, partitions=30, empty_brokers=empty, seed=3)
    (said,) = rows(made(given, request_), "plan")
    assert said["complete"] is True
    assert said["bytes_copied"] <= (1 if empty == 0 else 1.001) * said["bytes_bound"]
    assert said["leaders_max_mean_after" if empty == 0 else "size_max_mean_after"] <= 1.01
    assert said["size_max_mean_after"] <= said["size_max_mean_before"]


@pytest.mark.slow
@given(clusters(), st.integers(0, 5000))
def test_levelling_keeps_to_its_budget(given: Tables, bytes_max: int) -> None:
    assert rows(made(given, Rebalance(bytes_max=bytes_max)), "plan")[0]["bytes_copied"] <= bytes_max


@pytest.mark.slow
@given(clusters())
def test_adding_moves_to_the_added_broker_alone(given: Tables) -> None:
    new = max(living(given))
    for move in rows(made(given, Add(((new, None),))), "plan_move"):
        assert set(move["target_replicas"]) - set(move["replicas"]) == {new}


@pytest.mark.slow
@given(clusters())
def test_racks_are_fixed_or_there_is_a_reason(given: Tables) -> None:
    racks = {row["broker_id"]: row["rack"] for row in rows(given, "broker")}
    found = made(given, FixRacks())
    refused = {(row["topic"], row["partition"]) for row in rows(found, "plan_reason")}
    touched = {(row["topic"], row["partition"]) for row in rows(found, "plan_move")}
    possible = len(set(living(given).values()))
    for row in apply(given["partition"], found["plan_move"]).to_pylist():
        short = len({racks[b] for b in row["replicas"]}) < min(len(row["replicas"]), possible)
        key = (row["topic"], row["partition"])
        assert key not in refused or key not in touched
        if short:
            assert key in refused


@pytest.mark.slow
@given(clusters(), st.integers(1, 5))
def test_every_partition_gets_the_factor_or_a_reason(given: Tables, factor: int) -> None:
    found = made(given, SetFactor(factor))
    refused = {(row["topic"], row["partition"]) for row in rows(found, "plan_reason")}
    for row in apply(given["partition"], found["plan_move"]).to_pylist():
        assert (len(row["replicas"]) == factor) is ((row["topic"], row["partition"]) not in refused)


def test_a_lower_factor_levels_what_stays_and_copies_nothing() -> None:
    given = generate(brokers=12, topics=40, partitions=12, racks=3, seed=1)
    (row,) = rows(made(given, SetFactor(2)), "plan")
    assert not row["replicas_copied"]
    assert row["size_max_mean_after"] < 1.02 < row["size_max_mean_before"]
    found = made({**given, "replica_load": without_sizes(given["replica_load"])}, SetFactor(2))
    assert {load["replicas_after"] for load in rows(found, "plan_load")} <= {79, 80, 81}


def without_sizes(load: Arrow) -> Arrow:
    at = load.column_names.index("size_bytes")
    return load.set_column(at, load.schema.field(at), pa.nulls(load.num_rows, pa.int64()))


def test_a_higher_factor_is_refused_where_a_broker_that_stays_could_not_send_to_all() -> None:
    brokers = [broker(1, nw_out=100.0), broker(2, nw_out=1000.0), broker(3, nw_out=1000.0)]
    given = {**tables(brokers, [partition("t", 0, [1, 2])]), "replica_load": loads({("t", 0): 10}, 60.0)}
    found = made(given, SetFactor(3))  # 1 leads: a copy of 60 bytes/s to each of two is more than its 100
    assert rows(found, "plan_move") == []
    (reason,) = rows(found, "plan_reason")
    assert (
        reason["reason"] == "a broker that keeps its replica could not send to the added ones, if it led the partition"
    )
    given["broker"] = tables([broker(1, nw_out=120.0), *brokers[1:]], [])["broker"]
    assert rows(made(given, SetFactor(3)), "plan_move")[0]["target_replicas"] == [1, 2, 3]


@pytest.mark.slow
@given(clusters())
def test_leaders_are_evened_by_order_alone(given: Tables) -> None:
    found = made(given, Leaders())
    for move in rows(found, "plan_move"):
        assert sorted(move["replicas"]) == sorted(move["target_replicas"])
        assert move["bytes"] == 0
    most = [max(row[f"leaders_{when}"] for row in rows(found, "plan_load") if row["broker_id"] in living(given))
            for when in ("before", "after")]  # fmt: skip
    assert most[1] <= most[0]


def test_leaders_are_as_even_as_can_be_where_every_broker_holds_everything() -> None:
    partitions = [partition("t", p, [1, 2, 3]) for p in range(10)]
    given = {**tables([broker(b) for b in (1, 2, 3)], partitions), "replica_load": loads({})}
    found = made(given, Leaders())
    assert [row["leaders_after"] for row in rows(found, "plan_load")] == [4, 3, 3]
    assert found["plan_move"].num_rows == 6


def test_a_chain_of_leaders_is_shifted_where_no_direct_way_leads_down() -> None:
    """Broker 1 leads too many and shares no partition with 3, which leads too few; 2 shares with both."""
    rows_ = [[1, 2], [1, 2], [1, 2], [2, 3], [2, 1], [3, 2]]
    given = {**tables([broker(b) for b in (1, 2, 3)], [partition("t", p, r) for p, r in enumerate(rows_)]),
             "replica_load": loads({})}  # fmt: skip
    found = made(given, Leaders())
    assert [row["leaders_after"] for row in rows(found, "plan_load")] == [2, 2, 2]
