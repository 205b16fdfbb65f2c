"""Samples: which of them count, and that their rates do not depend on how they are read."""

from __future__ import annotations

import json
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

from kedge.pipeline import local
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.samples import Source, reduce
from kedge.pipeline.stages.usable import LoadSettings
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.stages.windows import STATISTICS
from kedge.pipeline.tables.arrow import Arrow, conform, from_rows
from kedge.pipeline.tables.declared import BROKER_SAMPLE, REPLICA_SAMPLE, SNAPSHOT_TIME
from kedge.pipeline.tables.rejects import rejected_counts
from kedge.pipeline.tables.schema import Table
from tests.pipeline.snapshots import broker, partition, tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CLUSTER = tables([broker(1), broker(2), broker(3)], [partition("t", p, [1 + p % 3]) for p in range(6)])
Row = tuple[Any, ...]
Rate = dict[str, list[float | None]]


def sample(at: datetime, broker_id: int | None = 1, number: int | None = 0, bps: float = 1.0, **more: Any) -> Row:
    return (at, broker_id, more.get("topic", "t"), number, bps, more.get("read"), more.get("leads"), False)


def every(seconds: int, count: int, broker_id: int | None = 1, end: datetime = NOW) -> list[Row]:
    """A sample of partition 0 at each of so many times, the last at `end`."""
    return [sample(end - timedelta(seconds=seconds * n), broker_id) for n in range(count)]


def loaded(samples: Source | list[Row], at: datetime | None = NOW, **settings: Any) -> dict[str, Arrow]:
    """`at`: in the table snapshot_time."""
    times = {} if at is None else {"snapshot_time": from_rows(SNAPSHOT_TIME, [(at,)])}
    given = from_rows(REPLICA_SAMPLE, samples) if isinstance(samples, list) else samples
    return load(validate({**CLUSTER, **times, "replica_sample": given}), LoadSettings(**settings))


def of_first(found: dict[str, Arrow]) -> tuple[float | None, float]:
    """The rate and the completeness of partition 0."""
    row = found["replica_load"].to_pylist()[0]
    return row["write_bps"], row["completeness"]


def rejected(found: dict[str, Arrow]) -> dict[str, int]:
    return dict(rejected_counts(found["rejected_rows"]))


# ---- which samples count


def test_one_sample_from_the_future_removes_no_other() -> None:
    found = loaded([*every(30, 2_880), sample(NOW + timedelta(days=2))])
    assert rejected(found) == {"the sample is more than 3600 s newer than the snapshot": 1}
    rate, completeness = of_first(found)
    assert (rate, completeness == pytest.approx(1.0, abs=0.01)) == (1.0, True)


def test_age_is_measured_against_the_time_of_the_snapshot() -> None:
    """And not against the newest sample, or the time that is given for snapshots without one."""
    found = loaded(every(3600, 48), NOW - timedelta(hours=10), taken_at=NOW)
    assert rejected(found) == {
        "the sample is more than 3600 s newer than the snapshot": 9,
        "the sample is more than 86400 s older than the snapshot": 13,
    }


def test_a_given_time_is_that_of_snapshots_without_one() -> None:
    rows = every(3600, 48)
    assert rejected(loaded(rows, None, taken_at=NOW - timedelta(hours=10))) == rejected(
        loaded(rows, NOW - timedelta(hours=10))
    )


def test_samples_of_any_age_count_if_the_time_is_not_known() -> None:
    found = loaded([*every(3600, 48), sample(NOW + timedelta(days=400))], None)
    assert rejected(found) == {}


def test_samples_of_brokers_are_checked_alike() -> None:
    times = [*(NOW - timedelta(hours=n) for n in range(48)), NOW + timedelta(days=2)]
    rows = [(at, 1, *[None] * 3, 5 + n, *[None] * 6) for n, at in enumerate(times)]
    rows += [(NOW, 2, *[None] * 3, -5, *[None] * 6), (NOW, 9, *[None] * 3, 7, *[None] * 6)]
    given = {**CLUSTER, "broker_sample": from_rows(BROKER_SAMPLE, rows)}
    found = load(validate({**given, "snapshot_time": from_rows(SNAPSHOT_TIME, [(NOW,)])}))
    assert rejected(found) == {
        "the sample is more than 3600 s newer than the snapshot": 1,
        "the sample is more than 86400 s older than the snapshot": 23,
        "disk_free_bytes is negative or not a number": 1,
        "the broker is unknown": 1,
    }
    assert found["broker_sample"].num_rows == 25
    assert found["broker"]["disk_capacity_bytes"].to_pylist() == [5, None, None], "of the last sample that counts"


@pytest.mark.parametrize("micros", [10**18, -(10**18), 2**63 - 1])
def test_a_time_beyond_all_calendars_is_rejected(micros: int) -> None:
    """Nanoseconds where microseconds are expected, for example."""
    rows = from_rows(REPLICA_SAMPLE, [*every(60, 100), sample(NOW)])
    times = pa.chunked_array([rows["ts"].combine_chunks()[:100], pa.array([micros], rows["ts"].type)])
    found = loaded(in_parts(rows.set_column(0, rows.schema.field("ts"), times), Random(0)))
    assert [*rejected(found).values()] == [1]
    assert of_first(found) == (1.0, 1.0)


def test_samples_of_what_is_unknown_are_rejected() -> None:
    rows = [
        sample(NOW, 1, 9),
        sample(NOW, 1, 9),
        sample(NOW, None, 0, topic="u"),
        sample(NOW, 9, None),
        sample(NOW, None, None),
    ]
    found = loaded([*rows, sample(NOW, 9, 0)])
    assert rejected(found) == {
        "the partition is unknown": 2,
        "the topic is unknown": 1,
        "the broker is unknown": 1,
        "the row has neither a partition nor a broker": 1,
    }
    assert of_first(found)[0] == 1.0, "whatever broker it was sampled at"


def test_a_rejected_sample_gives_no_rate() -> None:
    """Also where a partition has no leader, or one that is not listed."""
    parts = [partition("a", 0, [1], leader=-1), partition("b", 0, [1], leader=7)]
    rows = [sample(NOW, broker_id, None, topic=topic) for broker_id, topic in ((None, "a"), (-1, "x"), (7, "b"))]
    given = {**tables([broker(1)], parts), "replica_sample": from_rows(REPLICA_SAMPLE, rows)}
    found = load(validate(given))
    assert sum(rejected(found).values()) == len(rows)
    assert found["replica_load"]["write_bps"].to_pylist() == [None, None]


def test_the_first_replicas_with_rejected_samples_are_shown_and_all_are_counted() -> None:
    rows = [sample(NOW - timedelta(minutes=n), 1, n % 30, -1.0) for n in range(60)]
    found = loaded([*every(60, 5), *rows])["rejected_rows"]
    assert rejected_counts(found) == {"in_bps is negative or not a number": 60}
    shown = [json.loads(raw) for raw in found["raw"].to_pylist()]
    assert shown[0] == {"partition": 0, "samples": 2, "topic": "t", "ts": "2026-11-20T23:30:00Z"}
    assert [row.get("partition") for row in shown] == [*range(10), None]
    assert shown[-1] == {"samples": 40}


def test_computing_loads_again_counts_no_sample_twice() -> None:
    """With another age others are rejected."""
    once = loaded(every(3600, 48))
    given = {**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, every(3600, 48)), **once}
    given["snapshot_time"] = from_rows(SNAPSHOT_TIME, [(NOW,)])
    assert rejected(load(given)) == rejected(once) != {}
    assert rejected(load(given, LoadSettings(age_max_s=1e9))) == {}


def test_computing_loads_again_forgets_no_rejected_sample_of_a_broker() -> None:
    rows = [(NOW - timedelta(days=days), 1, *[None] * 3, 5, *[None] * 6) for days in (0, 2)]
    given = {**CLUSTER, "broker_sample": from_rows(BROKER_SAMPLE, rows)}
    once = load(validate({**given, "snapshot_time": from_rows(SNAPSHOT_TIME, [(NOW,)])}))
    assert rejected(load({**CLUSTER, **once})) == rejected(once) != {}


# ---- rates


def a_history(seed: int) -> list[Row]:
    """Samples of partitions and of topics at brokers, some unknown, at followers, during reassignments or rejected."""
    random = Random(seed)
    rows: list[Row] = []
    for _ in range(random.randint(1, 400)):
        at = NOW - timedelta(seconds=random.randint(-5000, 7200))
        number = random.choice([None, *range(6)])
        rates = [random.choice([None, 0.0, random.random() * 1e6, -1.0, math.nan]) for _ in range(2)]
        flags = (random.choice([None, True, True, False]), random.random() < 0.1)
        rows.append(
            (
                at,
                random.choice([1, 2, 3, 1, 2, 3, 9, -1, None]),
                random.choice(["t"] * 20 + ["u"]),
                number,
                *rates,
                *flags,
            )
        )
    rows.append((NOW - timedelta(days=2), 1, "t", 0, 1.0, None, True, False))  # too old
    return sorted(rows, key=lambda row: row[0])


def expected(rows: Iterable[Row], statistic: str, window_s: int) -> Rate:
    """The rates of each partition, computed in the plainest way. A topic's rate at a broker is divided among two."""
    windows: dict[Any, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for at, broker_id, topic, number, *rates, leads, moving in rows:
        bad = any(rate is not None and not rate >= 0 for rate in rates)
        late = not NOW - timedelta(days=1) <= at <= NOW + timedelta(hours=1)
        if topic != "t" or bad or late or moving or (number is not None and leads is False):
            continue
        for k, rate in enumerate(rates):
            if rate is not None:
                key = (k, number, broker_id if number is None else None)
                windows[key][int(at.timestamp()) // window_s].append(round(rate * 1024) / 1024)
    found = {}
    for key, some in windows.items():
        means = sorted(round(sum(one) / len(one) * 1024) / 1024 for one in some.values())
        of = {"mean": sum(means) / len(means), "p95": means[math.ceil(len(means) * 0.95) - 1]}
        found[key] = {**of, "max": max(max(one) for one in some.values())}[statistic]
    writes = [found.get((0, p, None)) for p in range(6)]
    reads = [found.get((1, p, None)) for p in range(6)]
    for p, rate in enumerate(writes):
        if rate is None:
            halves = [found.get((k, None, 1 + p % 3)) for k in (0, 1)]
            writes[p], reads[p] = [
                own if half is None else half / 2 for own, half in zip((None, reads[p]), halves, strict=True)
            ]
    return {"write_bps": writes, "read_bps": reads}


def rates(found: dict[str, Arrow]) -> Rate:
    return {name: found["replica_load"][name].to_pylist() for name in ("write_bps", "read_bps")}


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
    """In one batch, in many, and in any order: the same tables."""
    for seed in range(30):
        random = Random(seed)
        rows, window_s = a_history(seed), random.choice([60, 300, 3600])
        whole = from_rows(REPLICA_SAMPLE, rows)
        shuffled = whole.take(pa.array(random.sample(range(len(rows)), len(rows))))
        first = loaded(rows, statistic=statistic, window_s=window_s)
        assert rates(first) == expected(rows, statistic, window_s), seed
        for table in (whole, shuffled):
            found = loaded(in_parts(table, random), statistic=statistic, window_s=window_s)
            assert {name: found[name].equals(first[name]) for name in first} == dict.fromkeys(first, True)


def test_windows_begin_at_multiples_of_their_length() -> None:
    """A second more is in the next window; what does not count begins none."""
    rows = [sample(NOW - timedelta(seconds=n), bps=bps) for n, bps in ((300, 10.0), (1, 30.0), (0, 1.0))]
    moving = (*sample(NOW - timedelta(hours=5))[:-1], True)
    assert of_first(loaded([moving, sample(NOW - timedelta(days=3)), *rows])) == ((20.0 + 1.0) / 2, 1.0)


def test_a_sample_of_what_is_unknown_lowers_no_completeness() -> None:
    old = sample(NOW - timedelta(hours=20), topic="gone")
    assert of_first(loaded([*every(300, 10), old])) == (1.0, 1.0)


def test_rows_of_partitions_may_come_in_any_order() -> None:
    """As another program may return validated tables."""
    given = {**validate(CLUSTER), "replica_sample": from_rows(REPLICA_SAMPLE, every(300, 10))}
    turned = {name: given[name].take([*range(given[name].num_rows)][::-1]) for name in ("broker", "partition")}
    assert load({**given, **turned})["replica_load"].equals(load(given)["replica_load"])


def test_samples_of_a_broker_that_leads_nothing_of_the_topic_change_nothing() -> None:
    given = {**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, [sample(NOW, 2, None, 5.0, topic="u")])}
    given["partition"] = tables([], [partition("t", 0, [1]), partition("u", 0, [3, 2])])["partition"]
    found = load(validate(given))
    assert (found["replica_load"]["write_bps"].to_pylist(), rejected(found)) == ([None, None], {})


@pytest.mark.slow
def test_memory_does_not_grow_with_the_days_that_were_sampled() -> None:
    """Samples in the order of time, as they are written: a window that has passed is no longer kept."""
    count, batch = 4_000, 400
    rows = from_rows(REPLICA_SAMPLE, [sample(NOW, 1, p) for p in range(count)])
    micros = int(NOW.timestamp() * 1e6)

    def read(table: Table) -> Iterable[Arrow]:
        for n in range(batch):
            ts = pa.array(np.full(count, micros + n * 300_000_000), rows["ts"].type)
            yield conform(table, rows.set_column(0, rows.schema.field("ts"), ts), table.name)

    settings = LoadSettings()
    tracemalloc.start()
    try:
        found = reduce(read, settings, settings.bounds(None))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found["windows"].to_pylist() == [batch] * count
    assert peak < batch * 25 * count / 10, f"{peak} bytes; an open window has 25 a partition"


@pytest.mark.parametrize(
    "options",
    [{"statistic": "median"}, {"growth": 0.0}, {"growth": math.nan}, {"growth": math.inf}],
)
def test_an_unknown_statistic_or_growth_is_a_clear_error(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(options))):
        local.compute_load(local.validate(CLUSTER), **options)


def test_growth_is_a_factor_of_every_rate() -> None:
    """Whether measured, split or estimated."""
    rows = [sample(NOW, 1, 0, 8.0, read=2.0), sample(NOW, 2, None, 4.0)]
    given = {**CLUSTER, "replica_sample": from_rows(REPLICA_SAMPLE, rows)}
    parts = [partition("t", p, [1 + p], retention_ms=1000) for p in range(3)]
    given |= {name: table for name, table in tables([], parts, [(3, "t", 2, 6)]).items() if table.num_rows}
    found = local.compute_load(local.validate(given), growth=1.5)
    assert found["replica_load"]["write_bps"].to_pylist() == [12.0, 6.0, 9.0]
    assert found["replica_load"]["read_bps"].to_pylist() == [3.0, None, None]
    assert found["broker_load"]["in_bps"].to_pylist() == [12.0, 6.0, 9.0]
