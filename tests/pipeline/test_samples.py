"""Samples: which of them count, and that their rates do not depend on how they are read."""

from __future__ import annotations

import math
import tracemalloc
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.samples import Measured, Places, Source, in_batches, reduce
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.stages.windows import STATISTICS
from kedge.pipeline.tables.arrow import Arrow, conform, from_rows
from kedge.pipeline.tables.declared import BROKER_SAMPLE, REPLICA_SAMPLE
from kedge.pipeline.tables.rejects import rejected_counts
from kedge.pipeline.tables.schema import Table
from tests.pipeline.snapshots import broker, partition, tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CLUSTER = tables([broker(1), broker(2), broker(3)], [partition("t", p, [1 + p % 3]) for p in range(6)])
DAY_S = 86_400.0
Row = tuple[Any, ...]


def sample(
    at: datetime, broker_id: int | None = 1, number: int | None = 0, bps: float = 1.0, read_bps: float | None = None
) -> Row:
    return (at, broker_id, "t", number, bps, read_bps, None, False)


def every(seconds: int, count: int, broker_id: int | None = 1, end: datetime = NOW) -> list[Row]:
    """A sample of partition 0 at each of so many times, the last at `end`."""
    return [sample(end - timedelta(seconds=seconds * n), broker_id) for n in range(count)]


def measured(source: Source | list[Row], **options: Any) -> Measured:
    source = in_batches(from_rows(REPLICA_SAMPLE, source)) if isinstance(source, list) else source
    return reduce(source, Places.of(CLUSTER["broker"], CLUSTER["partition"]), **options)


def rejected(rows: list[Row], age_max_s: float = DAY_S, **options: Any) -> dict[str, int]:
    found = measured(rows, age_max_s=age_max_s, **options).rejects.table()
    return dict(rejected_counts(found))


def future(taken_at: datetime) -> str:
    return f"the sample is from the future: the snapshot was taken at {taken_at:%Y-%m-%dT%H:%M:%SZ}"


def test_one_sample_from_the_future_removes_no_other() -> None:
    rows = [*every(30, 2_880), sample(NOW + timedelta(days=2))]
    found = validate({**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, rows)})
    assert found["replica_sample"].num_rows == 2_880
    assert dict(rejected_counts(found["rejected_rows"])) == {future(NOW): 1}
    assert rejected(rows) == {future(NOW): 1}


def test_one_broker_sample_from_the_future_removes_no_other() -> None:
    times = [*(NOW - timedelta(minutes=n) for n in range(100)), NOW + timedelta(days=2)]
    rows = [(at, 1, 0.5, *[None] * 9) for at in times]
    found = validate({**CLUSTER, "broker_sample": from_rows(BROKER_SAMPLE, rows)})
    assert found["broker_sample"].num_rows == 100


@pytest.mark.parametrize("hours,count", [(-30, 300), (2, 0), (48, 300)])
def test_a_broker_with_a_wrong_clock_is_rejected_alone(hours: int, count: int) -> None:
    """Of three; the clock is ahead or behind by so much that not all samples can count."""
    wrong = every(60, 300, 3, NOW + timedelta(hours=hours))
    assert sum(rejected([*every(60, 300, 1), *every(60, 300, 2), *wrong]).values()) == count


def test_removed_brokers_make_no_later_sample_future() -> None:
    removed = [row for broker_id in (2, 3) for row in every(600, 10, broker_id, NOW - timedelta(days=3))]
    assert rejected([*every(600, 10, 1), *every(600, 10, None), *removed], 7 * DAY_S) == {}


def test_rare_samples_are_not_from_the_future() -> None:
    assert rejected(every(86_400, 21), 30 * DAY_S) == {}


def test_sampling_that_resumes_after_a_day_is_not_from_the_future() -> None:
    """Three hours of samples after a pause of two days: what came before is too old."""
    counts = rejected([*every(60, 180), *every(60, 1440, end=NOW - timedelta(days=2))])
    assert counts == {"the sample is more than 86400 s older than the newest": 1440}


def test_a_clock_that_is_ahead_by_an_hour_removes_little() -> None:
    assert sum(rejected([*every(60, 1440), sample(NOW + timedelta(minutes=50))]).values()) == 49


def test_a_given_time_decides_what_is_old_and_future() -> None:
    rows = every(3600, 48)
    counts = rejected(rows, DAY_S, taken_at=NOW - timedelta(hours=10))
    assert counts == {
        future(NOW - timedelta(hours=10)): 9,
        "the sample is more than 86400 s older than the snapshot": 13,
    }


@pytest.mark.parametrize("micros", [10**18, -(10**18), 2**63 - 1])
def test_a_time_beyond_all_calendars_is_rejected(micros: int) -> None:
    """Nanoseconds where microseconds are expected, for example."""
    rows = from_rows(REPLICA_SAMPLE, [*every(60, 100), sample(NOW)])
    times = pa.chunked_array([rows["ts"].combine_chunks()[:100], pa.array([micros], rows["ts"].type)])
    found = validate({**CLUSTER, "replica_sample": rows.set_column(0, rows.schema.field("ts"), times)})
    assert found["replica_sample"].num_rows == 100
    (row,) = found["rejected_rows"].to_pylist()
    assert str(micros) in row["raw"]


def test_the_first_rejected_samples_are_shown_and_all_counted() -> None:
    bad = [(NOW, 1, "t", 0, -float(n), None, None, False) for n in range(1, 31)]
    found = measured([*every(60, 5), *bad, sample(NOW, 9)]).rejects.table()
    assert found.num_rows == 10 + 1 + 1
    assert rejected_counts(found) == {"in_bps is negative or not a number": 30, "the broker is unknown": 1}
    assert found["raw"].to_pylist()[-1] == '{"more_rows": 20}'


# ---- rates


def a_history(seed: int) -> list[Row]:
    """Samples of partitions and of topics at brokers, some unknown, at followers, during reassignments or rejected."""
    random = Random(seed)
    rows: list[Row] = []
    for _ in range(random.randint(1, 400)):
        at = NOW - timedelta(seconds=random.randint(0, 7200))
        number = random.choice([None, *range(6)])
        rates = [random.choice([None, 0.0, random.random() * 1e6]) for _ in range(2)]
        flags = (random.choice([None, True, True, False]), random.random() < 0.1)
        rows.append((at, random.choice([1, 2, 3]), random.choice(["t"] * 20 + ["u"]), number, *rates, *flags))
    rows.append((NOW - timedelta(seconds=7500), 1, "u", 0, 1.0, None, True, False))  # rejected: no window begins here
    return sorted(rows, key=lambda row: row[0])


def expected(rows: Iterable[Row], statistic: str, window_s: int) -> dict[tuple[Any, ...], list[float]]:
    """The rate of each partition, and of the topic at each leader, computed in the plainest way."""
    valid = [row for row in rows if row[2] == "t"]
    begin = min(row[0] for row in valid) if valid else NOW
    windows: dict[Any, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for at, broker_id, _, number, *rates, leads, moving in valid:
        if moving or (number is not None and leads is False):
            continue
        for k, rate in enumerate(rates):
            key = (k, number, broker_id if number is None else None)
            if rate is not None:
                windows[key][(at - begin) // timedelta(seconds=window_s)].append(round(rate * 1024) / 1024)
    found = {}
    for key, some in windows.items():
        means = sorted(round(sum(one) / len(one) * 1024) / 1024 for one in some.values())
        of = {"mean": sum(means) / len(means), "p95": means[math.ceil(len(means) * 0.95) - 1]}
        found[key] = [{**of, "max": max(max(one) for one in some.values())}[statistic]]
    return found


def placed(found: Measured) -> dict[tuple[Any, ...], list[float]]:
    listed: dict[tuple[Any, ...], list[float]] = {}
    for k, row in enumerate(found.rates):
        for at, rate in enumerate(row.tolist()):
            key = (k, at, None) if at < 6 else (k, None, at - 5)
            listed |= {} if math.isnan(rate) else {key: [rate]}
    return listed


def in_parts(rows: Arrow, sizes: Random) -> Source:
    """The rows in batches of random sizes, which differ each time they are read."""

    def read(table: Table) -> Iterable[Arrow]:
        start = 0
        while start < rows.num_rows:
            size = sizes.randint(1, 50)
            yield conform(table, rows.slice(start, size), table.name)
            start += size

    return read


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
def test_rates_are_those_of_the_plain_definition_however_they_are_read(statistic: str) -> None:
    """In one batch, in many, and in any order: the same bits."""
    for seed in range(30):
        random = Random(seed)
        rows, window_s = a_history(seed), random.choice([60, 300, 3600])
        whole = from_rows(REPLICA_SAMPLE, rows)
        shuffled = whole.take(pa.array(random.sample(range(len(rows)), len(rows))))
        first = measured(rows, statistic=statistic, window_s=window_s)
        assert placed(first) == expected(rows, statistic, window_s)
        for table in (whole, shuffled):
            found = measured(in_parts(table, random), statistic=statistic, window_s=window_s)
            assert found.rates.tobytes() == first.rates.tobytes()
            assert found.completeness.tobytes() == first.completeness.tobytes()


def test_windows_begin_with_the_first_sample_that_counts() -> None:
    """Two samples 5 minutes apart are in two windows of 5 minutes, and would be in one that began a second earlier."""
    late = [sample(NOW, bps=10.0), sample(NOW + timedelta(seconds=299), bps=30.0), sample(NOW + timedelta(seconds=300))]
    unusable = (NOW - timedelta(seconds=1), 1, "t", 99, 1.0, None, None, False)
    found = measured([unusable, *late])
    assert (found.rates[0, 0], found.completeness[0]) == ((20.0 + 1.0) / 2, 1.0)


def test_samples_that_are_too_old_begin_no_window() -> None:
    old = [sample(NOW - timedelta(days=3) + timedelta(seconds=n), bps=99.0) for n in range(100)]
    found = measured([*old, *every(60, 30)], age_max_s=DAY_S)
    assert (found.rates[0, 0], found.completeness[0]) == (1.0, 1.0)


def test_samples_of_a_broker_that_leads_nothing_of_the_topic_change_nothing() -> None:
    given = {**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, [(NOW, 2, "u", None, 5.0, None, None, False)])}
    given["partition"] = tables([], [partition("t", 0, [1]), partition("u", 0, [3, 2])])["partition"]
    assert load(validate(given))["replica_load"]["write_bps"].to_pylist() == [None, None]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_days_that_were_sampled() -> None:
    """Samples in the order of time, as they are written: a window that has passed is no longer kept."""
    count, batch = 4_000, 400
    cluster = tables([broker(1)], [partition("t", p, [1]) for p in range(count)])
    rows = from_rows(REPLICA_SAMPLE, [sample(NOW, 1, p) for p in range(count)])
    micros = int(NOW.timestamp() * 1e6)

    def read(table: Table) -> Iterable[Arrow]:
        for n in range(batch):
            ts = pa.array(np.full(count, micros + n * 300_000_000), rows["ts"].type)
            yield conform(table, rows.set_column(0, rows.schema.field("ts"), ts), table.name)

    tracemalloc.start()
    try:
        found = reduce(read, Places.of(cluster["broker"], cluster["partition"]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.completeness[:count].tolist() == [1.0] * count
    assert peak < batch * 25 * count / 10, f"{peak} bytes; an open window has 25 a partition"


@pytest.mark.parametrize(
    "options", [{"statistic": "median"}, {"growth": 0.0}, {"growth": math.nan}, {"growth": math.inf}]
)
def test_an_unknown_statistic_or_growth_is_a_clear_error(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(options))):
        load(validate(CLUSTER), **options)


def test_growth_is_a_factor_of_every_rate() -> None:
    """Whether measured, split or estimated."""
    rows = [sample(NOW, 1, 0, 8.0, 2.0), sample(NOW, 2, None, 4.0)]
    given = {**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, rows)}
    parts = [partition("t", p, [1 + p], retention_ms=1000) for p in range(3)]
    given |= {name: table for name, table in tables([], parts, [(3, "t", 2, 6)]).items() if table.num_rows}
    found = load(validate(given), growth=1.5)
    assert found["replica_load"]["write_bps"].to_pylist() == [12.0, 6.0, 9.0]
    assert found["replica_load"]["read_bps"].to_pylist() == [3.0, None, None]
    assert found["broker_load"]["in_bps"].to_pylist() == [12.0, 6.0, 9.0]
