"""Samples of replicas as a DataFrame -> the rows of RATES, by column functions alone, so that no sample passes through
a Python worker. They are those of `kedge.pipeline.stages.samples.reduce`, to the bit. Needs PySpark 3.5 or later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from ..errors import BadInput
from ..kernel.resources import RATE_STEPS
from ..stages.usable import IS_NULL, LATE_S, PLACE, SECOND_US, LoadSettings, measured, reasons
from ..stages.windows import MAX, MEAN, P95, PERCENT
from ..tables.declared import REPLICA_SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MICROS: Final = {
    "timestamp": "unix_micros({})",
    # As UTC, in any time zone of the session, even in the hour that summer time leaves out.
    "timestamp_ntz": "unix_date(CAST({0} AS DATE)) * 86400000000L + hour({0}) * 3600000000L + minute({0}) * 60000000L"
    " + CAST(extract(SECOND FROM {0}) * 1000000 AS BIGINT)",
}
_KINDS: Final = {name: kind for name, kind, _ in REPLICA_SAMPLE.columns}


def reduced(samples: DataFrame, times: DataFrame | None, settings: LoadSettings, by: Sequence[str]) -> DataFrame:
    """The rows of RATES for each snapshot, with the columns `by`, by which snapshots differ. `times`: the table
    snapshot_time. Raises BadInput if a column of the samples is missing."""
    bounded, taken_us = _with_time(samples, times, settings, by)
    us = f.expr(_micros(samples, "ts"))
    sampled = _column(samples, "partition").isNotNull()
    texts = reasons(REPLICA_SAMPLE, settings)
    checks = [
        *((_column(samples, name).isNull(), IS_NULL.format(name)) for name in ("ts", "topic")),
        (us < taken_us - f.lit(settings.age_us), texts[0]),
        (us > taken_us + f.lit(LATE_S * SECOND_US), texts[1]),
        *zip((_negative(_column(samples, name)) for name in measured(REPLICA_SAMPLE)), texts[2:], strict=True),
    ]
    reason = f.coalesce(*(f.when(check, f.lit(text)) for check, text in checks))
    leads = ~sampled | f.coalesce(_column(samples, "is_leader"), f.lit(True))  # noqa: FBT003 - Spark's
    window = f.when(f.col("reason").isNull(), f.col("us") - f.pmod("us", f.lit(settings.window_us)))
    rows = bounded.select(
        *by,
        *(_column(samples, name).alias(name) for name in ("topic", "partition")),
        f.when(~sampled, _column(samples, "broker_id")).alias("broker_id"),
        *(reason.alias("reason"), us.alias("us"), (leads & ~_column(samples, "in_reassignment")).alias("counts")),
        *(_rounded(_column(samples, name)).alias(name) for name in measured(REPLICA_SAMPLE)),
    )
    used = rows.where(f.col("reason").isNotNull() | f.col("counts")).withColumn("window", window)
    return _rates(_cells(used, settings, by), settings, by)


def _cells(rows: DataFrame, settings: LoadSettings, by: Sequence[str]) -> DataFrame:
    """A row for each place and window with its value of each rate: the mean, or the largest."""
    values = [f.max(n) if settings.statistic == MAX else _rounded(f.avg(n)) for n in measured(REPLICA_SAMPLE)]
    return rows.groupBy(*by, *PLACE, "window").agg(
        f.count("*").alias("samples"),
        *(f.min("us").alias("first_us"), f.max("us").alias("last_us")),
        *(value.alias(name) for value, name in zip(values, measured(REPLICA_SAMPLE), strict=True)),
    )


def _rates(cells: DataFrame, settings: LoadSettings, by: Sequence[str]) -> DataFrame:
    kinds: Mapping[str, Callable[[str], Column]] = {MEAN: f.avg, P95: _p95, MAX: f.max}
    return cells.groupBy(*by, *PLACE).agg(
        *(f.sum("samples").alias("samples"), f.count("window").alias("windows")),
        *(f.min("first_us").alias("first_us"), f.max("last_us").alias("last_us")),
        *(f.when(f.col("reason").isNull(), kinds[settings.statistic](n)).alias(n) for n in measured(REPLICA_SAMPLE)),
    )


def _with_time(
    samples: DataFrame, times: DataFrame | None, settings: LoadSettings, by: Sequence[str]
) -> tuple[DataFrame, Column]:
    """The samples with the time of their snapshot, and that time, null if it is not known."""
    given = f.lit(settings.taken_us).cast("bigint")
    if times is None:
        return samples, given
    taken = times.groupBy(*by).agg(f.max(f.expr(_micros(times, "taken_at"))).alias("taken_us"))
    found = samples.join(f.broadcast(taken), list(by), "left") if by else samples.crossJoin(f.broadcast(taken))
    return found, f.coalesce("taken_us", given)


def _micros(frame: DataFrame, name: str) -> str:
    """Microseconds since 1970, as SQL."""
    kind = dict(frame.dtypes).get(name)
    if kind not in _MICROS:
        raise BadInput(f"column {name}: expected a timestamp, got {kind or 'no such column'}")
    return _MICROS[kind].format(name)


def _column(samples: DataFrame, name: str) -> Column:
    """A column, or what it is where it is absent. Whole numbers keep their type, which the worker checks."""
    default: Any = REPLICA_SAMPLE.defaults.get(name)
    if name not in samples.columns:
        return f.lit(default).cast(_KINDS[name])
    column = f.col(name).cast("double") if _KINDS[name] == "double" else f.col(name)
    return column if default is None else f.coalesce(column, f.lit(default))


def _negative(column: Column) -> Column:
    """As `usable.negative`: NaN is larger than all numbers here."""
    return (column < 0) | (column >= f.lit(float("inf")))


def _rounded(column: Column) -> Column:
    return f.rint(column * RATE_STEPS) / RATE_STEPS


def _p95(name: str) -> Column:
    """The nearest rank."""
    ranked = f.sort_array(f.collect_list(name))
    rank = f.ceil(f.size(ranked) * f.lit(PERCENT) / f.lit(100)).cast("int")
    return f.get(ranked, rank - 1)
