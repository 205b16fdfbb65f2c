"""Samples that Spark reduces by column functions alone: the sums and the rates of the local engine, to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kedge.pipeline.stages.samples import Measured, Places, cells
from kedge.pipeline.stages.windows import STATISTICS
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import REPLICA_SAMPLE
from tests.pipeline.test_samples import CLUSTER, a_history, measured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.server, pytest.mark.slow]
SEEDS = range(8)
WINDOW_S = 600
PLACES = Places.of(CLUSTER["broker"], CLUSTER["partition"])
SAMPLES = {seed: [row for row in a_history(seed) if row[2] == "t"] for seed in SEEDS}


@pytest.fixture(scope="module")
def windows(spark: SparkSession) -> DataFrame:
    """Of a snapshot per seed."""
    from kedge.pipeline.spark.samples import windows  # noqa: PLC0415 - needs Spark

    columns = ", ".join(f"{name} {kind}" for name, kind, _ in REPLICA_SAMPLE.columns)
    rows = [("c", str(seed), *row) for seed in SEEDS for row in SAMPLES[seed]]
    frame = spark.createDataFrame(rows, f"cluster string, snapshot string, {columns}")
    return windows(frame, window_s=WINDOW_S).localCheckpoint()


def of_snapshot(frame: DataFrame, seed: int) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.where(frame.snapshot == str(seed)).drop("cluster", "snapshot").collect()]


def test_sums_of_windows_are_those_of_the_local_engine(windows: DataFrame) -> None:
    for seed in SEEDS:
        rows = from_rows(REPLICA_SAMPLE, SAMPLES[seed])
        begin_us = min(rows["ts"].cast(pa.int64()).to_pylist())
        local = cells(rows, PLACES, begin_us, WINDOW_S * 1_000_000)
        wanted = set(zip(local.place.tolist(), local.window.tolist(), *_flat(local), strict=True))
        listed = of_snapshot(windows, seed)
        at = PLACES.of_rows(pa.Table.from_pylist(listed, _KEYS)).tolist()
        names = [f"{name}_{kind}" for kind in ("sum", "count", "max") for name in ("in", "out")]
        assert {
            (place, row["window"], *(row[n] for n in names)) for place, row in zip(at, listed, strict=True)
        } == wanted


@pytest.mark.parametrize("statistic", STATISTICS)
def test_rates_are_those_of_the_local_engine(windows: DataFrame, statistic: str) -> None:
    from kedge.pipeline.spark.samples import rates  # noqa: PLC0415 - needs Spark

    frame = rates(windows, statistic=statistic)
    for seed in SEEDS:
        found = Measured.of_rates(pa.Table.from_pylist(of_snapshot(frame, seed), _RATES), PLACES)
        wanted = measured(SAMPLES[seed], statistic=statistic, window_s=WINDOW_S)
        assert found.rates.tobytes() == wanted.rates.tobytes()
        assert found.completeness.tobytes() == wanted.completeness.tobytes()


_KEYS = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("broker_id", pa.int32())])
_RATES = pa.schema([*_KEYS, *((name, pa.float64()) for name in ("in_bps", "out_bps", "completeness"))])


def _flat(local: Any) -> list[list[Any]]:
    """Sums, counts and peaks as in rows, null without a known rate."""
    found = []
    for values in (local.sums, local.counts, local.peaks):
        for k in (0, 1):
            is_known = local.counts[k] > 0
            listed = values[k].tolist()
            found.append([v if ok or values is local.counts else None for v, ok in zip(listed, is_known, strict=True)])
    return found
