"""`kedge plan compute-load` over weeks of samples: how far back they count, and in which windows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import (
    BROKER,
    PARTITION,
    REJECTED_ROWS,
    REPLICA_LOAD,
    REPLICA_SAMPLE,
    SNAPSHOT_TIME,
    TABLES,
)
from kedge.pipeline.tables.files import Place
from tests.pipeline.snapshots import broker, partition, tables

DAYS = 21
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=DAYS - 1)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A sample a day for three weeks, of 1 to 21 bytes/s; on the second day two, the other of 20 bytes/s. The snapshot
    is as old as the last."""
    made = Place(tmp_path, "east", "s1")
    given = tables([broker(1), broker(2)], [partition("t", 0, [1, 2])])
    for name in (BROKER.name, PARTITION.name):
        made.write(TABLES[name], given[name])
    made.write(SNAPSHOT_TIME, from_rows(SNAPSHOT_TIME, [(END,)]))
    rows = [(BEGIN + timedelta(days=day), day + 1.0) for day in range(DAYS)]
    rows.append((BEGIN + timedelta(days=1, hours=1), 20.0))
    made.write(REPLICA_SAMPLE, from_rows(REPLICA_SAMPLE, [(ts, 1, "t", 0, bps, None, True, False) for ts, bps in rows]))
    return made


def run(place: Place, *options: str) -> Result:
    return CliRunner().invoke(kedge, ["plan", "compute-load", str(place.root), "--json", "--no-progress", *options])


def load_of(place: Place) -> dict[str, Any]:
    (found,) = place.read(REPLICA_LOAD).to_pylist()
    return {name: found[name] for name in ("write_bps", "completeness", "basis")}


def test_samples_older_than_a_day_are_rejected_by_default(place: Place) -> None:
    done = run(place, "--dry-run")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["rejected_rows"] == {
        "the sample is more than 86400 s older than the snapshot": DAYS - 1
    }


def test_weeks_of_samples_count_with_a_larger_age(place: Place) -> None:
    """Of the second day the mean counts, and each day as much as any other."""
    done = run(place, "--samples-age", "2000000", "--window", "86400")
    assert done.exit_code == 0, done.output
    rate = (sum(range(1, DAYS + 1)) - 2 + 11) / DAYS
    found = load_of(place)
    assert found == {"write_bps": pytest.approx(rate, abs=0.001), "completeness": 1.0, "basis": "measured"}


def test_shorter_windows_weigh_samples_alone_and_lower_completeness(place: Place) -> None:
    assert run(place, "--samples-age", "2000000", "--window", "3600").exit_code == 0
    found = load_of(place)
    assert found["write_bps"] == pytest.approx((sum(range(1, DAYS + 1)) + 20) / (DAYS + 1), abs=0.001)
    assert found["completeness"] == pytest.approx((DAYS + 1) / ((DAYS - 1) * 24 + 1))


@pytest.mark.parametrize(
    "options,rate", [(("--statistic", "p95"), 20.0), (("--statistic", "max", "--growth", "2"), 42.0)]
)
def test_a_rate_may_be_a_high_one_and_grow(place: Place, options: tuple[str, ...], rate: float) -> None:
    """The 20th of 21 windows is not exceeded by 95 %; the largest sample is of 21 bytes/s."""
    assert run(place, "--samples-age", "2000000", "--window", "86400", *options).exit_code == 0
    assert load_of(place)["write_bps"] == rate


def test_samples_in_several_files_count_as_in_one(place: Place) -> None:
    assert run(place, "--samples-age", "2000000").exit_code == 0
    whole = place.read(REPLICA_LOAD)
    rows, file = place.read(REPLICA_SAMPLE), place.path(REPLICA_SAMPLE)
    place.remove(REPLICA_SAMPLE)
    for n, name in enumerate(("part-00000-c000.snappy.parquet", "a.parquet", "z.parquet")):
        pq.write_table(rows.take([i for i in range(rows.num_rows) if i % 3 == n]), file.with_name(name))
    assert run(place, "--samples-age", "2000000").exit_code == 0
    assert place.read(REPLICA_LOAD).equals(whole)


def test_a_second_run_changes_nothing_and_keeps_the_samples(place: Place) -> None:
    """Samples that the first run rejected count later if they may be older."""
    given = place.path(REPLICA_SAMPLE).read_bytes()
    first, tables = run(place), place.path(REJECTED_ROWS).read_bytes()
    assert run(place).stdout == first.stdout
    assert (place.path(REPLICA_SAMPLE).read_bytes(), place.path(REJECTED_ROWS).read_bytes()) == (given, tables)
    assert run(place, "--samples-age", "2000000").exit_code == 0
    assert place.read(REJECTED_ROWS).num_rows == 0


def test_the_time_of_a_snapshot_without_one_can_be_given(place: Place) -> None:
    place.remove(SNAPSHOT_TIME)
    done = run(place, "--taken-at", "2026-11-10T00:00:00Z", "--samples-age", "86400")
    assert json.loads(done.stdout)["rejected_rows"] == {
        "the sample is more than 3600 s newer than the snapshot": 11,
        "the sample is more than 86400 s older than the snapshot": 9,
    }
    assert load_of(place)["write_bps"] == (9.0 + 10.0) / 2


def test_a_snapshot_without_a_time_is_noted(place: Place) -> None:
    place.remove(SNAPSHOT_TIME)
    done = run(place)
    assert (done.exit_code, json.loads(done.stdout)["rejected_rows"]) == (0, {})
    assert "when the snapshot was taken is not known" in " ".join(json.loads(done.stdout)["notes"])
    assert "is not known" not in run(place, "--taken-at", "2026-11-10T00:00:00Z").stdout


def test_samples_that_are_no_parquet_are_named(place: Place) -> None:
    place.path(REPLICA_SAMPLE).write_bytes(b"PAR1 no")
    done = run(place)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{place.path(REPLICA_SAMPLE)}: cannot be read as Parquet" in done.stderr


@pytest.mark.parametrize("options", [("--growth", "0"), ("--growth", "inf"), ("--statistic", "median")])
def test_a_wrong_option_writes_nothing(place: Place, options: tuple[str, ...]) -> None:
    done = run(place, *options)
    assert (done.exit_code, place.has(REPLICA_LOAD)) == (2, False)
    assert options[0] in done.stderr
