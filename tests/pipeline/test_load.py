"""Loads: what is known of sizes and rates, how it is known, and that sums are sums."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER_SAMPLE, REPLICA_LOG, REPLICA_SAMPLE
from tests.pipeline.snapshots import broker, clusters, partition, tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BROKERS = [broker(1, "a"), broker(2, "b"), broker(3)]
PARTITIONS = [partition("t", 0, [1, 2], retention_ms=10_000), partition("t", 1, [2, 1]), partition("u", 0, [3])]
LOGS = [(1, "t", 0, 90), (2, "t", 0, 100), (2, "t", 1, 300)]


def loaded(samples: list[tuple[Any, ...]] = [], logs: list[tuple[Any, ...]] = LOGS) -> dict[str, Arrow]:  # noqa: B006
    given = {**tables(BROKERS, PARTITIONS, logs), "replica_sample": from_rows(REPLICA_SAMPLE, samples)}
    return load(validate(given))


def column(found: dict[str, Arrow], name: str) -> list[Any]:
    listed: list[Any] = found["replica_load"].column(name).to_pylist()
    return listed


def sample(minutes: float, number: int | None, write: float, **more: Any) -> tuple[Any, ...]:
    when = NOW + timedelta(minutes=minutes)
    flags = (more.get("leader"), more.get("moving", False))
    return (when, more.get("broker", 1), more.get("topic", "t"), number, write, more.get("read"), *flags)


def test_the_size_of_a_partition_is_its_largest_log_and_the_mean_of_its_topic_where_it_has_none() -> None:
    assert column(loaded(logs=LOGS[:2]), "size_bytes") == [100, 100, None]
    assert column(loaded(), "size_bytes") == [100, 300, None]


def test_without_samples_the_rate_is_size_over_retention_and_says_so() -> None:
    found = loaded()
    assert column(found, "write_bps")[0] == 10.0
    assert column(found, "basis") == ["size_only"] * 3


def test_a_rate_that_nothing_says_is_null_and_never_0() -> None:
    """Without a retention, or with one without end, a size says nothing of a rate; what is read, it never does."""
    found = loaded()
    assert column(found, "write_bps") == [10.0, None, None]
    assert column(found, "read_bps") == [None] * 3
    assert column(found, "completeness") == [0.5, 0.0, 0.0]
    empty_log = load(validate(tables(BROKERS, PARTITIONS, [(1, "t", 0, 0)])))
    assert column(empty_log, "write_bps") == [0.0, None, None]


def test_samples_are_averaged_by_window_and_windows_without_one_lower_the_completeness() -> None:
    """Two samples in one window count as much as one in another."""
    found = loaded([sample(0, 0, 10.0), sample(1, 0, 30.0), sample(12, 0, 60.0, read=5.0)])
    assert column(found, "write_bps")[0] == pytest.approx(40.0)
    assert column(found, "read_bps")[0] == 5.0
    assert column(found, "basis")[0] == "measured"
    assert column(found, "completeness")[0] == pytest.approx(2 / 3)


def test_what_was_sampled_during_a_reassignment_or_at_a_follower_is_left_out() -> None:
    found = loaded([sample(0, 0, 10.0), sample(1, 0, 1e9, moving=True), sample(1, 0, 1e9, leader=False)])
    assert column(found, "write_bps")[0] == 10.0


def test_a_rate_of_a_topic_is_split_over_what_the_broker_leads_by_size() -> None:
    found = loaded([sample(0, None, 10.0, broker=1), sample(0, None, 40.0, broker=2), sample(0, 1, 7.0, broker=2)])
    assert column(found, "write_bps") == [10.0, 7.0, None]
    assert column(found, "basis") == ["split", "measured", "size_only"]


def test_a_broker_carries_what_its_replicas_do() -> None:
    found = loaded([sample(0, 0, 10.0, read=4.0)])
    one, two, _ = found["broker_load"].to_pylist()
    assert (one["replicas"], one["leaders"], one["size_bytes"]) == (2, 1, 400)
    assert (one["in_bps"], one["out_bps"], one["potential_out_bps"]) == (10.0, 14.0, 14.0)
    assert (two["out_bps"], two["potential_out_bps"]) == (0.0, 14.0)
    assert [row["rack"] for row in found["rack_load"].to_pylist()] == ["a", "b", None]


def test_the_basis_of_a_broker_is_the_weakest_among_its_replicas() -> None:
    found = loaded([sample(0, 0, 10.0)])
    assert [row["basis"] for row in found["broker_load"].to_pylist()] == ["size_only"] * 3


def test_free_bytes_become_a_capacity_where_none_is_known() -> None:
    samples = [(NOW, broker_id, None, None, None, free, *[None] * 6) for broker_id, free in ((1, 50), (2, 60))]
    given = tables([broker(1, disk=7), broker(2), broker(3)], PARTITIONS, LOGS)
    given["broker_sample"] = from_rows(BROKER_SAMPLE, samples)
    found = load(validate(given))
    assert found["broker"].column("disk_capacity_bytes").to_pylist() == [7, 460, None]


@pytest.mark.slow
@given(clusters())
def test_brokers_and_racks_sum_up_to_the_partitions(given: dict[str, Arrow]) -> None:
    logs = [
        (b, "/d", row["topic"], row["partition"], 10 * row["partition"], 0, False)
        for row in given["partition"].to_pylist()
        for b in row["replicas"]
    ]
    given["replica_log"] = from_rows(REPLICA_LOG, logs)
    found = load(validate(given))
    total = sum(10 * row["partition"] * len(row["replicas"]) for row in given["partition"].to_pylist())
    assert sum(found["broker_load"].column("size_bytes").to_pylist()) == total
    assert sum(found["rack_load"].column("size_bytes").to_pylist()) == total
