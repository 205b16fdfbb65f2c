"""Validation: each bad row is taken out with its reason, and nothing else is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.validate import DUPLICATE_REPLICAS, validate
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import REJECTED_ROWS, REPLICA_LOG
from tests.pipeline.snapshots import NO_PARTITION, broker, clusters, partition, tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BROKERS = [broker(1, "a"), broker(2, "b"), broker(3, "c")]
GOOD = partition("t", 0, [1, 2])


def reasons(found: dict[str, Arrow]) -> list[str]:
    listed: list[str] = found["rejected_rows"].column("reason").to_pylist()
    return listed


@pytest.mark.slow
@given(clusters())
def test_a_good_snapshot_stays_as_it_is(given: dict[str, Arrow]) -> None:
    found = validate(given)
    assert reasons(found) == []
    for name in ("broker", "partition", "replica_log"):
        assert found[name].equals(given[name])


@pytest.mark.slow
@given(clusters())
def test_what_was_validated_is_valid(given: dict[str, Arrow]) -> None:
    once = validate(given)
    again = validate(once)
    assert all(again[name].equals(once[name]) for name in once)


@pytest.mark.parametrize(
    "row,reason",
    [
        (partition("a b", 0, [1]), "the topic's name is invalid"),
        (partition("t", -1, [1]), "the partition id is negative"),
        (partition("t", 0, [2, 1]), "the partition occurs twice"),
        (partition("t", 1, []), "the partition has no replicas"),
        (partition("t", 1, [-1]), "replicas has a broker id that is negative or null"),
        (partition("t", 1, [1, 2, 1]), DUPLICATE_REPLICAS),
        (partition("t", 1, [1, 2], isr=[2, 2]), "a broker occurs twice among isr"),
        (partition("t", 1, [1, 2], target=[3, -3]), "target_replicas has a broker id that is negative or null"),
        (partition("t", 1, [1, 2], write_bps=-1.0), "write_bps is negative or not a number"),
        (partition("t", 1, [1, 2], write_bps=float("nan")), "write_bps is negative or not a number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_partition_is_rejected_and_the_others_stay(row: tuple[Any, ...], reason: str) -> None:
    unsorted = {**tables(BROKERS, []), "partition": tables(BROKERS, [GOOD])["partition"]}
    unsorted["partition"] = pa.concat_tables([unsorted["partition"], tables([], [row])["partition"]])
    found = validate(unsorted)
    assert found["partition"].to_pylist() == tables([], [GOOD])["partition"].to_pylist()
    (said,) = found["rejected_rows"].to_pylist()
    assert (said["source"], said["line"], said["reason"]) == ("table partition", 2, reason)
    assert json.loads(said["raw"])["partition"] == row[1]


@pytest.mark.parametrize(
    "row,reason",
    [
        (broker(-1), "the broker id is negative"),
        (broker(1), "the broker occurs twice"),
        (broker(4, state="ill"), "the state is not one of alive, draining, dead"),
        (broker(4, disk=-1), "disk_capacity_bytes is negative or not a number"),
        (broker(4, nw_in=float("inf")), "nw_in_capacity_bps is negative or not a number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_broker_is_rejected(row: tuple[Any, ...], reason: str) -> None:
    found = validate(tables([*BROKERS, row], [GOOD]))
    assert found["broker"].column("broker_id").to_pylist() == [1, 2, 3]
    assert reasons(found) == [reason]


def test_a_broker_that_is_not_listed_and_holds_replicas_is_dead_and_that_is_said() -> None:
    found = validate(tables(BROKERS, [partition("t", 0, [1, 7], target=[8])]))
    assert [(b["broker_id"], b["state"]) for b in found["broker"].to_pylist()][3:] == [(7, "dead"), (8, "dead")]
    assert reasons(found) == ["the broker holds replicas and is not listed: it counts as dead"] * 2


@pytest.mark.parametrize(
    "log,reason",
    [
        ((1, "t", 0, -5), "the size is negative"),
        ((1, "u", 0, 5), "the partition is unknown"),
        ((1, "t", 9, 5), "the partition is unknown"),
        ((9, "t", 0, 5), "the broker is unknown"),
        ((3, "t", 0, 5), "the broker holds no replica of the partition"),
    ],
)
def test_a_bad_log_is_rejected(log: tuple[Any, ...], reason: str) -> None:
    found = validate(tables(BROKERS, [GOOD], [(2, "t", 0, 7), log]))
    assert found["replica_log"].column("size_bytes").to_pylist() == [7]
    assert reasons(found) == [reason]


def test_a_log_of_a_target_is_as_good_as_one_of_a_replica() -> None:
    found = validate(tables(BROKERS, [partition("t", 0, [1, 2], target=[1, 3])], [(3, "t", 0, 7)]))
    assert reasons(found) == []


def test_a_log_that_stands_twice_counts_once() -> None:
    found = validate(tables(BROKERS, [GOOD], [(1, "t", 0, 7), (1, "t", 0, 9)]))
    assert found["replica_log"].num_rows == 1
    assert reasons(found) == ["the log occurs twice"]


def test_a_size_far_from_its_brothers_is_rejected() -> None:
    logs = [(1, "t", 0, 1 << 30), (2, "t", 0, 1 << 30), (3, "t", 0, 11 << 30)]
    found = validate(tables(BROKERS, [partition("t", 0, [1, 2, 3])], logs))
    assert found["replica_log"].column("broker_id").to_pylist() == [1, 2]
    assert reasons(found) == ["the log is more than ten times as large as others of the partition"]


def test_what_was_rejected_before_stays_there() -> None:
    given = {
        **tables(BROKERS, [GOOD]),
        "rejected_rows": from_rows(REJECTED_ROWS, [("f", 1, "x", "bad", *NO_PARTITION)]),
    }
    assert reasons(validate(given)) == ["bad"]


def test_a_missing_column_is_a_clear_error() -> None:
    given = tables(BROKERS, [GOOD])
    given["partition"] = given["partition"].drop_columns(["isr"])
    with pytest.raises(BadInput, match="partition: no column isr"):
        validate(given)


def test_an_empty_cluster_is_valid() -> None:
    found = validate(tables([], []))
    assert [found[name].num_rows for name in ("broker", "partition", REPLICA_LOG.name, "rejected_rows")] == [0] * 4
