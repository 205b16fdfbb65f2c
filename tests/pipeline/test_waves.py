"""Waves: their limits hold at every moment, they lead where the plan leads, and each can be taken back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Drain, Leaders, Rebalance, Request, SetFactor
from kedge.pipeline.stages.waves import WaveSettings, waves
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER_LOAD, PLAN_MOVE
from tests.pipeline.snapshots import broker, clusters, loads, partition, tables

Tables = dict[str, Arrow]


def rows(found: Tables, name: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found[name].to_pylist()
    return listed


@st.composite
def cut(draw: st.DrawFn) -> tuple[Tables, WaveSettings, Tables, Tables]:
    """A cluster, settings, a plan and its waves."""
    given = draw(clusters(tight=True))
    alive = sorted(row["broker_id"] for row in rows(given, "broker") if row["state"] == "alive")
    drains: list[Request] = [Drain((alive[0],)), Drain(tuple(alive[:2]))]
    asked = draw(st.sampled_from([*drains, Rebalance(), SetFactor(3), Leaders()]))
    settings = WaveSettings(
        per_broker=draw(st.integers(1, 3)),
        one_at_a_time=draw(st.booleans()),
        disk_ceiling=draw(st.sampled_from((0.6, 0.9, 1.0))),
        throttle_bps=draw(st.sampled_from((None, 2.0, 6.0, 1000.0))),
    )
    made = plan(given, asked, name="p", limits=Limits(1, 1))
    return given, settings, made, waves({**given, **made}, "p", settings)


def steps(found: Tables) -> dict[int, list[dict[str, Any]]]:
    by_wave: dict[int, list[dict[str, Any]]] = {}
    for row in rows(found, "wave_move"):
        by_wave.setdefault(row["wave"], []).append(row)
    return by_wave


def new(row: dict[str, Any]) -> set[int]:
    return set(row["target_replicas"]) - set(row["replicas"])


@pytest.mark.slow
@given(cut())
def test_no_broker_sends_or_receives_more_at_once_than_it_may(case: tuple[Any, ...]) -> None:
    _, settings, _, found = case
    for wave in steps(found).values():
        sends = Counter(row["source"] for row in wave for _ in new(row))
        receives = Counter(b for row in wave for b in new(row))
        assert max([0, *sends.values(), *receives.values()]) <= settings.per_broker
        assert not settings.one_at_a_time or all(len(new(row)) <= 1 for row in wave)


@pytest.mark.slow
@given(cut())
def test_no_disk_is_above_its_ceiling_at_any_moment(case: tuple[Any, ...]) -> None:
    """At the worst one: all that comes is there, and nothing that goes has gone. One that was above takes nothing."""
    given, settings, _, found = case
    sizes = {(r["topic"], r["partition"]): r["size_bytes"] for r in rows(given, "replica_load")}
    most = {r["broker_id"]: r["disk_capacity_bytes"] * settings.disk_ceiling for r in rows(given, "broker")}
    held: Counter[int] = Counter()
    for row in rows(given, "partition"):
        held.update(dict.fromkeys(row["replicas"], sizes[row["topic"], row["partition"]]))
    for wave in steps(found).values():
        for row in wave:
            held.update(dict.fromkeys(new(row), sizes[row["topic"], row["partition"]]))
        assert all(held[b] <= most[b] for row in wave for b in new(row))
        for row in wave:
            gone = set(row["replicas"]) - set(row["target_replicas"])
            held.subtract(dict.fromkeys(gone, sizes[row["topic"], row["partition"]]))


@pytest.mark.slow
@given(cut())
def test_the_fullest_disk_of_a_wave_is_as_full_as_it_says(case: tuple[Any, ...]) -> None:
    given, _, _, found = case
    sizes = {(r["topic"], r["partition"]): r["size_bytes"] for r in rows(given, "replica_load")}
    disks = {r["broker_id"]: r["disk_capacity_bytes"] for r in rows(given, "broker")}
    held: Counter[int] = Counter()
    for row in rows(given, "partition"):
        held.update(dict.fromkeys(row["replicas"], sizes[row["topic"], row["partition"]]))
    peaks = {row["wave"]: row["peak_disk_share"] for row in rows(found, "wave")}
    for number, wave in steps(found).items():
        for row in wave:
            held.update(dict.fromkeys(new(row), sizes[row["topic"], row["partition"]]))
        assert peaks[number] == pytest.approx(max(held[b] / disk for b, disk in disks.items()), abs=2e-6)
        for row in wave:
            gone = set(row["replicas"]) - set(row["target_replicas"])
            held.subtract(dict.fromkeys(gone, sizes[row["topic"], row["partition"]]))


@pytest.mark.full
@given(cut())
def test_every_rate_is_above_what_is_written_to_what_is_copied(case: tuple[Any, ...]) -> None:
    given, settings, _, found = case
    assume(settings.throttle_bps is not None)
    written = {(r["topic"], r["partition"]): r["write_bps"] for r in rows(given, "replica_load")}
    for wave in steps(found).values():
        sent: Counter[int] = Counter()
        received: Counter[int] = Counter()
        for row in wave:
            for b in new(row):
                sent[row["source"]] += written[row["topic"], row["partition"]]
                received[b] += written[row["topic"], row["partition"]]
        assert all(value < settings.throttle_bps for value in [*sent.values(), *received.values()])


@pytest.mark.slow
@given(cut())
def test_the_waves_in_order_reach_the_plan_but_for_what_was_refused(case: tuple[Any, ...]) -> None:
    given, _, made, found = case
    refused = {(row["topic"], row["partition"]) for row in rows(found, "wave_reason")}
    there = given["partition"]
    for number in steps(found):
        moves = found["wave_move"].filter([row["wave"] == number for row in rows(found, "wave_move")])
        there = apply(there, moves)
    end = apply(given["partition"], made["plan_move"]).to_pylist()
    wanted = {(row["topic"], row["partition"]): row["replicas"] for row in end}
    for row in there.to_pylist():
        key = (row["topic"], row["partition"])
        assert row["replicas"] == wanted[key] or key in refused


@pytest.mark.slow
@given(cut())
def test_the_rollback_of_every_wave_restores_what_was_before_it(case: tuple[Any, ...]) -> None:
    given, _, _, found = case
    there = {(row["topic"], row["partition"]): row["replicas"] for row in rows(given, "partition")}
    for wave in steps(found).values():
        for row in wave:
            assert there[row["topic"], row["partition"]] == row["replicas"], "what a rollback sets is what was there"
            there[row["topic"], row["partition"]] = row["target_replicas"]


@pytest.mark.slow
@given(cut())
def test_a_step_never_leaves_a_partition_with_less_than_it_had_or_is_to_have(case: tuple[Any, ...]) -> None:
    _, _, made, found = case
    ends = {(row["topic"], row["partition"]): row for row in rows(made, "plan_move")}
    for row in rows(found, "wave_move"):
        end = ends[row["topic"], row["partition"]]
        assert len(set(row["target_replicas"])) == len(row["target_replicas"])
        assert len(row["target_replicas"]) >= min(len(end["replicas"]), len(end["target_replicas"]))


@pytest.mark.slow
@given(cut())
def test_a_wave_says_what_it_copies_and_at_which_rates(case: tuple[Any, ...]) -> None:
    _, settings, made, found = case
    by_wave = steps(found)
    for row in rows(found, "wave"):
        assert row["bytes"] == sum(move["bytes"] for move in by_wave[row["wave"]])
        if settings.throttle_bps is not None:
            assert 0 <= row["eta_low_s"] <= row["eta_s"] <= row["eta_high_s"]
    sent = sum(row["sent_bytes"] for row in rows(found, "wave_throttle"))
    assert sent == sum(row["received_bytes"] for row in rows(found, "wave_throttle"))
    if not rows(found, "wave_reason"):
        assert sent == rows(made, "plan")[0]["bytes_copied"]


def test_bytes_are_level_over_the_waves() -> None:
    """Eight copies between two brokers, two at a time: the largest with the smallest."""
    partitions = [partition("t", p, [1]) for p in range(8)]
    given = {**tables([broker(1), broker(2)], partitions), "replica_load": loads({("t", p): p + 1 for p in range(8)})}
    found = waves({**given, **plan(given, Drain((1,)), name="p")}, "p", WaveSettings(per_broker=2))
    assert [row["bytes"] for row in rows(found, "wave")] == [9, 9, 9, 9]


def test_a_move_that_needs_the_disk_of_another_waits_for_it() -> None:
    """Two full disks exchange what they hold: each move makes the room for the next."""
    brokers = [broker(1, disk=100), broker(2, disk=100)]
    partitions = [partition("a", 0, [1]), partition("b", 0, [2]), partition("c", 0, [2])]
    given = {**tables(brokers, partitions), "replica_load": loads({("a", 0): 50, ("b", 0): 50, ("c", 0): 40})}
    moves = {"a": ([1], [2]), "b": ([2], [1]), "c": ([2], [1])}
    given |= plan(given, Leaders(), name="p")
    given["plan_move"] = from_rows(PLAN_MOVE, [("p", t, 0, a, b, a[0], 1, 0.0) for t, (a, b) in moves.items()])
    found = waves(given, "p", WaveSettings(disk_ceiling=1.0))
    assert [(row["wave"], row["topic"]) for row in rows(found, "wave_move")] == [(1, "b"), (2, "a"), (3, "c")]
    assert [row["peak_disk_share"] for row in rows(found, "wave")] == [1.0, 1.0, 0.9]


def test_a_rate_at_or_below_what_is_written_is_refused() -> None:
    given = {**tables([broker(1), broker(2)], [partition("t", 0, [1])]), "replica_load": loads({("t", 0): 90}, 10.0)}
    made = {**given, **plan(given, Drain((1,)), name="p")}
    refused = waves(made, "p", WaveSettings(throttle_bps=10.0))
    assert [row["reason"] for row in rows(refused, "wave_reason")] == [
        "the copy rate does not exceed the rate of writing: the copy would never end"
    ]
    (wave,) = rows(waves(made, "p", WaveSettings(throttle_bps=40.0)), "wave")
    assert (wave["eta_low_s"], wave["eta_s"], wave["eta_high_s"]) == (2.25, 3.0, 6.0)


def test_rates_come_from_the_head_room_of_each_broker() -> None:
    brokers = [broker(1, nw_out=100.0), broker(2, nw_in=50.0)]
    given = {**tables(brokers, [partition("t", 0, [1])]), "replica_load": loads({("t", 0): 30})}
    made = {**given, **plan(given, Drain((1,)), name="p")}
    made["broker_load"] = from_rows(BROKER_LOAD, [
        (1, 1, 1, 30, 0.0, 20.0, 20.0, 1.0, "measured"), (2, 0, 0, 0, 10.0, 0.0, 0.0, 1.0, "measured"),
    ])  # fmt: skip
    found = waves(made, "p", WaveSettings(network_share=0.8))
    throttles = rows(found, "wave_throttle")
    rates = {row["broker_id"]: (row["leader_rate_bps"], row["follower_rate_bps"]) for row in throttles}
    assert rates == {1: (60, None), 2: (None, 30)}
    assert rows(found, "wave")[0]["eta_s"] == 1.0


WRITTEN = (2, 0, 0, 0, 10.0, 0.0, 0.0, 1.0, "measured")


@pytest.mark.parametrize(
    "throttle_bps, rates, eta_s",
    [(None, {1: (None, None), 2: (None, 40)}, 3.0), (30.0, {1: (30, None), 2: (None, 30)}, 4.5)],
)
def test_a_disk_limits_what_its_broker_receives(throttle_bps: float | None, rates: Any, eta_s: float) -> None:
    """Broker 2 writes 10 of the 50 bytes per second already; 10 more are written to the partition meanwhile."""
    given = {**tables([broker(1), broker(2)], [partition("t", 0, [1])]), "replica_load": loads({("t", 0): 90}, 10.0)}
    made = {**given, **plan(given, Drain((1,)), name="p"), "broker_load": from_rows(BROKER_LOAD, [WRITTEN])}
    found = waves(made, "p", WaveSettings(throttle_bps=throttle_bps, disk_rate_bps=50.0))
    limits = {r["broker_id"]: (r["leader_rate_bps"], r["follower_rate_bps"]) for r in rows(found, "wave_throttle")}
    assert (limits, rows(found, "wave")[0]["eta_s"]) == (rates, eta_s)


def test_a_copy_that_a_disk_cannot_finish_is_refused() -> None:
    given = {**tables([broker(1), broker(2)], [partition("t", 0, [1])]), "replica_load": loads({("t", 0): 90}, 10.0)}
    made = {**given, **plan(given, Drain((1,)), name="p"), "broker_load": from_rows(BROKER_LOAD, [WRITTEN])}
    (refused,) = rows(waves(made, "p", WaveSettings(throttle_bps=1e6, disk_rate_bps=20.0)), "wave_reason")
    assert refused["reason"] == "the copy rate does not exceed the rate of writing: the copy would never end"


def test_a_partition_without_a_leader_has_no_source() -> None:
    given = {**tables([broker(1), broker(2)], [partition("t", 0, [1], leader=-1)]), "replica_load": loads({})}
    found = waves({**given, **plan(given, Drain((1,)), name="p")}, "p", WaveSettings())
    assert [row["reason"] for row in rows(found, "wave_reason")] == ["the partition has no live leader to copy from"]


@pytest.mark.parametrize(
    "settings",
    [
        {"per_broker": 0},
        {"disk_ceiling": 0},
        {"throttle_bps": 0.5},
        {"throttle_bps": float("nan")},
        {"disk_rate_bps": 0.5},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="expected"):
        WaveSettings(**settings)
