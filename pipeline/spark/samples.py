"""Samples of replicas as Spark DataFrames: sums per window, and a rate of each partition, by column functions alone, so
that no sample passes through a Python worker. The results are those of `kedge.pipeline.stages.samples`, to the bit.

`samples` has validated rows of the table `replica_sample`, and the columns `by`, by which snapshots differ. Needs
PySpark 3.5 or later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from ..stages.arrays import RATE_STEPS
from ..stages.samples import WINDOW_S
from ..stages.windows import MAX, MEAN, P95, check_statistic

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BY: Final = ("cluster", "snapshot")
_RATES: Final = ("in", "out")
_PLACE: Final = ("topic", "partition", "broker_id", "windows")


def windows(samples: DataFrame, *, window_s: int = WINDOW_S, by: Sequence[str] = BY) -> DataFrame:
    """A row per snapshot, partition and window with a sample: `window` (from 0), `windows` (of the snapshot), and of
    each rate its sum, the count of known values, and the largest. `broker_id` is null, and `partition` is null and
    `broker_id` is not where a topic was sampled at a broker."""
    micros, sampled = f.unix_micros("ts"), f.col("partition").isNotNull()
    counts = ~f.col("in_reassignment") & (~sampled | f.coalesce("is_leader", f.lit(True)))  # noqa: FBT003 - Spark's
    times = samples.groupBy(*by).agg(f.min(micros).alias("first_us"), f.max(micros).alias("last_us"))
    found = samples.join(f.broadcast(times), list(by)).where(counts)
    length = int(window_s * 1_000_000)
    window = f.expr(f"(unix_micros(ts) - first_us) div {length}").alias("window")
    count = f.expr(f"(last_us - first_us) div {length} + 1").alias("windows")
    broker = f.when(~sampled, f.col("broker_id")).alias("broker_id")
    rounded = [_rounded(f.col(f"{name}_bps")).alias(name) for name in _RATES]
    cells = found.select(*by, "topic", "partition", broker, window, count, *rounded)
    sums = [kind(name).alias(f"{name}_{kind.__name__}") for name in _RATES for kind in (f.sum, f.count, f.max)]
    return cells.groupBy(*by, *_PLACE, "window").agg(*sums)


def rates(found: DataFrame, *, statistic: str = MEAN, by: Sequence[str] = BY) -> DataFrame:
    """A row per snapshot and partition of `windows` with `in_bps`, `out_bps` (null: unknown) and `completeness`, the
    share of windows with a sample. Raises BadInput for an unknown statistic."""
    check_statistic(statistic, 1.0)
    kinds: Mapping[str, Callable[[str], Column]] = {
        MEAN: lambda name: f.avg(_mean_of(name)),
        P95: _p95,
        MAX: lambda name: f.max(f"{name}_max"),
    }
    chosen = [kinds[statistic](name).alias(f"{name}_bps") for name in _RATES]
    share = (f.count("window") / f.col("windows")).alias("completeness")
    return found.groupBy(*by, *_PLACE).agg(*chosen, share).drop("windows")


def _rounded(column: Column) -> Column:
    return f.rint(column * RATE_STEPS) / RATE_STEPS


def _mean_of(name: str) -> Column:
    """The mean of a window, null without a known value."""
    return _rounded(f.col(f"{name}_sum") / f.when(f.col(f"{name}_count") > 0, f.col(f"{name}_count")))


def _p95(name: str) -> Column:
    """The nearest rank."""
    ranked = f.sort_array(f.collect_list(_mean_of(name)))
    rank = f.ceil(f.size(ranked) * f.lit(95) / f.lit(100)).cast("int")
    return f.get(ranked, rank - 1)
