"""Loads in native functions of Spark: what `pipeline.stages.load` says, to the byte.

* Sizes, windows and means are sums, counts and largest values by key, which no order changes: rates are rounded to
  steps of 1/1024 byte per second before they are summed (`arrays.stepped`), shares to 2**-32, so every sum is exact.
* Joins are on (cluster, snapshot, topic, partition); what is known of topics, leaders, brokers and clusters is small
  and goes by broadcast.
* Input is what `validate` gave: each partition once, no sample of what is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from pipeline.spark.check import potential_out, stepped, sums_per_broker
from pipeline.spark.packed import KEY, Frames
from pipeline.stages.arrays import SHARE_STEPS
from pipeline.stages.load import WINDOW_S
from pipeline.tables.declared import (
    BROKER,
    BROKER_LOAD,
    BROKER_SAMPLE,
    MEASURED,
    PARTITION,
    RACK_LOAD,
    REPLICA_LOAD,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    SIZE_ONLY,
    SPLIT,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BASES: Final = (MEASURED, SPLIT, SIZE_ONLY)  # the weakest last
_AT: Final = (*KEY, "topic", "partition")
_MAY_BE_NULL: Final = ("size_bytes", "write_bps", "read_bps")  # not known, and in no sum
_SUMS: Final = ("replicas", "leaders", "size_bytes", "in_bps", "out_bps", "potential_out_bps")


def load(frames: Frames, *, window_s: int = WINDOW_S) -> dict[str, DataFrame]:
    """`replica_load`, `broker_load`, `rack_load`, and `broker` with capacities that follow from free bytes; with
    cluster and snapshot, in no order."""
    rows = _unmeasured(frames[PARTITION.name], frames.get(REPLICA_LOG.name))
    if REPLICA_SAMPLE.name in frames:
        rows = _measured(rows, frames[REPLICA_SAMPLE.name], window_s)
    sums = _sums(rows.fillna(0, subset=list(_MAY_BE_NULL)), frames[BROKER.name])
    columns = [f.col(name) for name in REPLICA_LOAD.names[:-1]]
    return {
        BROKER.name: _with_capacity(frames[BROKER.name], frames.get(BROKER_SAMPLE.name), sums),
        REPLICA_LOAD.name: rows.select(*KEY, *columns, _basis(f.col("basis")).alias("basis")),
        BROKER_LOAD.name: _finished(sums, BROKER_LOAD.names),
        RACK_LOAD.name: _finished(_by_rack(sums), RACK_LOAD.names),
    }


def _unmeasured(partition: DataFrame, logs: DataFrame | None) -> DataFrame:
    """What is said without a sample: a rate in the table partition, or size over retention."""
    rows = partition.select(*_AT, "replicas", "leader", "retention_ms", f.col("write_bps").alias("said"))
    if logs is None:
        rows = rows.withColumns({"sized": f.lit(None).cast("long"), "mean": f.lit(None).cast("long")})
    else:
        largest = logs.where(~f.col("is_future")).groupBy(*_AT).agg(f.max("size_bytes").alias("sized"))
        rows = rows.join(largest, list(_AT), "left")
        by_topic = rows.groupBy(*KEY, "topic").agg(f.sum("sized").alias("total"), f.count("sized").alias("count"))
        mean = f.expr("total div count").alias("mean")
        rows = rows.join(f.broadcast(by_topic.where("count > 0").select(*KEY, "topic", mean)), [*KEY, "topic"], "left")
    said, sized, size = f.col("said").isNotNull(), f.col("sized").isNotNull(), f.col("size_bytes").cast("double")
    retention_s = f.col("retention_ms").cast("double") / f.lit(1000.0)
    ends = f.col("retention_ms") > 0
    by_size = f.when(ends, size / retention_s)
    rows = rows.withColumn("size_bytes", f.coalesce("sized", "mean"))
    return rows.withColumns(
        {
            "write_bps": f.when(said, f.col("said")).otherwise(by_size),
            "read_bps": f.lit(None).cast("double"),
            "basis": f.when(said, 0).otherwise(_BASES.index(SIZE_ONLY)),
            "completeness": f.when(said, 1.0).when(sized & ends, 0.5).otherwise(0.0),
        }
    )


def _measured(rows: DataFrame, samples: DataFrame, window_s: int) -> DataFrame:
    """The same with what was sampled in the place of what was said."""
    micros = f.unix_micros("ts")
    first = samples.groupBy(*KEY).agg(f.min(micros).alias("since"), f.max(micros).alias("until"))
    width = f.lit(window_s * 1_000_000).cast("long")
    windowed = samples.join(f.broadcast(first), list(KEY)).where(~f.col("in_reassignment"))
    windowed = windowed.withColumns(
        {
            "window": f.floor((micros - f.col("since")) / width),
            "windows": f.floor((f.col("until") - f.col("since")) / width) + 1,
        }
    )
    of_topic = f.coalesce("partition", f.lit(-1)) == -1
    followers = f.coalesce(~f.col("is_leader"), f.lit(False))  # noqa: FBT003 - a value
    rows = _put(rows, _means(windowed.where(~of_topic & ~followers), "partition"))
    by_leader = _means(windowed.where(of_topic & f.col("broker_id").isNotNull()), "broker_id")
    return _split(rows, by_leader.withColumnRenamed("broker_id", "leader"))


def _means(samples: DataFrame, place: str) -> DataFrame:
    """Of each topic and place the mean over windows of the means within them, and the share of windows with a
    sample."""
    finite = {name: _finite(f.col(name)) for name in ("in_bps", "out_bps")}
    by_window = samples.groupBy(*KEY, "topic", place, "window").agg(
        f.max("windows").alias("windows"),
        *(f.avg(f.when(ok, stepped(f.col(name)))).alias(name) for name, ok in finite.items()),
    )
    by_place = by_window.groupBy(*KEY, "topic", place)
    return by_place.agg(
        f.avg(stepped(f.col("in_bps"))).alias("sampled_in"),
        f.avg(stepped(f.col("out_bps"))).alias("sampled_out"),
        (f.count("window") / f.max("windows")).alias("seen"),
    )


def _finite(value: Column) -> Column:
    return value.isNotNull() & ~f.isnan(value) & (f.abs(value) != float("inf"))


def _put(rows: DataFrame, means: DataFrame) -> DataFrame:
    there = f.col("sampled_in").isNotNull()
    found = rows.join(means, list(_AT), "left").withColumns(
        {
            "write_bps": f.coalesce("sampled_in", "write_bps"),
            "read_bps": f.coalesce("sampled_out", "read_bps"),
            "basis": f.when(there, 0).otherwise(f.col("basis")),
            "completeness": f.when(there, f.col("seen")).otherwise(f.col("completeness")),
        }
    )
    return found.drop("sampled_in", "sampled_out", "seen")


def _split(rows: DataFrame, means: DataFrame) -> DataFrame:
    """A topic's rate at a broker goes to the partitions of it that the broker leads, by size, where nothing better is
    known."""
    group = [*KEY, "topic", "leader"]
    size = f.coalesce("size_bytes", f.lit(0)).cast("double")
    led = rows.groupBy(*group).agg(f.sum(size).alias("led_bytes"), f.count(f.lit(1)).cast("double").alias("led_count"))
    known = rows.join(f.broadcast(led.join(means, group)), group, "left")
    by_size = f.col("led_bytes") > 0
    weight = f.when(by_size, size).otherwise(1.0) / f.when(by_size, f.col("led_bytes")).otherwise(f.col("led_count"))
    unknown = f.col("basis") == _BASES.index(SIZE_ONLY)
    put_in, put_out = unknown & f.col("sampled_in").isNotNull(), unknown & f.col("sampled_out").isNotNull()
    return known.withColumns(
        {
            "write_bps": f.when(put_in, f.col("sampled_in") * weight).otherwise(f.col("write_bps")),
            "read_bps": f.when(put_out, f.col("sampled_out") * weight).otherwise(f.col("read_bps")),
            "basis": f.when(put_in, _BASES.index(SPLIT)).otherwise(f.col("basis")),
            "completeness": f.when(put_in, f.col("seen")).otherwise(f.col("completeness")),
        }
    )


def _sums(rows: DataFrame, broker: DataFrame) -> DataFrame:
    """What every broker holds and carries; one that holds nothing has zeros."""
    sends, holds = stepped(potential_out()), f.col("holds")
    shares = f.lit(float(SHARE_STEPS))
    sums = sums_per_broker(
        rows,
        replicas=f.sum(f.when(holds, f.lit(1).cast("long")).otherwise(0)),
        leaders=f.sum(f.when(f.col("leads"), f.lit(1).cast("long")).otherwise(0)),
        size_bytes=f.sum(f.when(holds, f.col("size_bytes")).otherwise(0)),
        in_bps=f.sum(f.when(holds, stepped(f.col("write_bps"))).otherwise(0.0)),
        out_bps=f.sum(f.when(f.col("leads"), sends).otherwise(0.0)),
        potential_out_bps=f.sum(f.when(holds, sends).otherwise(0.0)),
        complete=f.sum(f.when(holds, f.rint(f.col("completeness") * shares) / shares).otherwise(0.0)),
        weakest=f.max(f.when(holds, f.col("basis")).otherwise(0)),
    )
    all_brokers = broker.select(*KEY, "broker_id", "rack").join(sums, [*KEY, "broker_id"], "left")
    return all_brokers.fillna(0, subset=[*_SUMS, "complete", "weakest"])


def _by_rack(sums: DataFrame) -> DataFrame:
    totals = [f.sum(name).alias(name) for name in (*_SUMS, "complete")]
    return sums.groupBy(*KEY, "rack").agg(*totals, f.max("weakest").alias("weakest"))


def _finished(sums: DataFrame, names: tuple[str, ...]) -> DataFrame:
    mean = f.col("complete") / f.greatest("replicas", f.lit(1))
    return sums.withColumns({"completeness": mean, "basis": _basis(f.col("weakest"))}).select(*KEY, *names)


def _basis(weakest: Column) -> Column:
    return f.get(f.array(*(f.lit(basis) for basis in _BASES)), weakest)


def _with_capacity(broker: DataFrame, samples: DataFrame | None, sums: DataFrame) -> DataFrame:
    """A capacity that nobody said is what lies there and what was free at the last sample."""
    if samples is None:
        return broker.select(*KEY, *BROKER.names)
    last = f.max(f.when(f.col("disk_free_bytes").isNotNull(), f.struct("ts", "disk_free_bytes"))).alias("last")
    free = samples.groupBy(*KEY, "broker_id").agg(last)
    held = sums.select(*KEY, "broker_id", "size_bytes")
    known = broker.join(free, [*KEY, "broker_id"], "left").join(held, [*KEY, "broker_id"])
    capacity = f.coalesce("disk_capacity_bytes", f.col("last.disk_free_bytes") + f.col("size_bytes"))
    return known.withColumn("disk_capacity_bytes", capacity).select(*KEY, *BROKER.names)
