"""Validated tables -> the load of each partition, broker and rack.

* Size of a partition: its largest log. Unknown: the mean of its topic, null if there is none.
* Rates: samples are averaged per window, and a statistic of the windows is the rate (`samples`). Every rate is
  multiplied by the growth.
* Basis: measured (of the partition, at its leader), split (a topic's rate at a broker, over the partitions that it
  leads, by size), size_only (no rate: the size over the retention; null if either is unknown or unlimited).
* Completeness: the share of windows with a sample, 0.5 for size_only; 0 if no value of the partition itself gives the
  rate. That of a broker or rack is the mean of its replicas, and its basis the weakest among them.
* Unknown values are null in `replica_load` and in no sum: the load of a broker is the sum of what is known.
* Summands are rounded to 1/1024 byte per second, so that sums are exact and the same in both engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import NOBODY, Bools, Cluster, Floats, Ints, per_broker, potential_out
from ..kernel.resources import stepped
from ..tables.arrow import Arrow, conform, empty, from_columns, in_order
from ..tables.declared import (
    BROKER,
    BROKER_LOAD,
    BROKER_SAMPLE,
    MEASURED,
    PARTITION,
    RACK_LOAD,
    REJECTED_ROWS,
    REPLICA_LOAD,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    SIZE_ONLY,
    SPLIT,
)
from ..tables.rejects import Rejects, without_samples
from .arrays import (
    SHARE_STEPS,
    Limits,
    amounts,
    defaulted,
    indexed,
    keys_of,
    known,
    numbers,
    sorted_topics,
    to_cluster,
    topic_codes,
)
from .log_dirs import with_reported, with_sizes
from .samples import Measured, Places, in_batches, of_brokers, reduce
from .usable import RATES, LoadSettings

_BASES: Final = (MEASURED, SPLIT, SIZE_ONLY)  # the weakest last


@attrs.define
class _Rates:
    """For every partition: bytes per second written and read (NaN: unknown), basis and completeness."""

    write: Floats
    read: Floats
    basis: Ints
    completeness: Floats


def load(tables: Mapping[str, Any], settings: LoadSettings = LoadSettings()) -> dict[str, Arrow]:  # noqa: B008 - it is frozen
    """`replica_load`, `broker_load`, `rack_load`; `broker` with capacities derived from free bytes, or by default;
    `broker_sample` without the rows that do not count; and `rejected_rows` with those and the samples of replicas that
    do not. In the place of the table `replica_sample` may be a function that reads it (`samples.Source`)."""
    partition, broker, rejects = tables["partition"], in_order(BROKER, tables["broker"]), Rejects()
    topics = sorted_topics(partition)
    topic = topic_codes(partition.column("topic"), topics)
    keys = keys_of(topic, numbers(partition.column("partition")))
    if (keys[1:] < keys[:-1]).any():  # as another program may return them
        return load({**tables, "partition": in_order(PARTITION, partition)}, settings)
    size, sized, meant = _sizes(tables.get("replica_log"), topics, topic, keys)
    rates = _unmeasured(partition, size, sized, meant)
    bounds = settings.bounds(tables.get("snapshot_time"))
    reduced = tables.get(RATES.name)
    if reduced is None and REPLICA_SAMPLE.name in tables:
        given = tables[REPLICA_SAMPLE.name]
        reduced = reduce(given if callable(given) else in_batches(given), settings, bounds)
    if reduced is not None:
        places = Places.of(broker, partition)
        _measure(rates, places.measured(reduced, settings.window_us, rejects), places.group, size)
    rates.write *= settings.growth
    rates.read *= settings.growth
    found = from_columns(
        REPLICA_LOAD,
        {
            "topic": partition.column("topic"),
            "partition": partition.column("partition"),
            "size_bytes": pa.array(size, pa.int64(), mask=~meant),
            "write_bps": pa.array(rates.write, pa.float64(), mask=np.isnan(rates.write)),
            "read_bps": pa.array(rates.read, pa.float64(), mask=np.isnan(rates.read)),
            "completeness": rates.completeness,
            "basis": pa.array(_BASES).take(pa.array(rates.basis)),
        },
    )
    cluster = to_cluster(broker, partition, found, limits=Limits(), ignore_racks=True)
    sampled = tables.get(BROKER_SAMPLE.name)
    if sampled is not None:
        sampled = of_brokers(sampled, cluster.brokers, settings, bounds, rejects)
    measured = _with_capacity(broker, sampled, cluster)
    capable = conform(BROKER, defaulted(measured, tables.get("broker_default")), "broker")
    dirs = {}
    if "log_dir" in tables:
        dirs["log_dir"] = with_sizes(tables["log_dir"], tables.get("replica_log", empty(REPLICA_LOG)))
        capable = with_reported(capable, dirs["log_dir"])
    return {
        "broker": capable,
        **dirs,
        **({} if sampled is None else {BROKER_SAMPLE.name: sampled}),
        "replica_load": found,
        **_sums(cluster, broker, rates),
        REJECTED_ROWS.name: pa.concat_tables([*_rejected_before(tables), rejects.table()]),
    }


def _rejected_before(tables: Mapping[str, Any]) -> list[Arrow]:
    """The rejected rows that are no samples of replicas, which are judged here. Of brokers only good samples remain."""
    before = tables.get(REJECTED_ROWS.name)
    return [] if before is None else [conform(REJECTED_ROWS, without_samples(before), REJECTED_ROWS.name)]


def _sizes(logs: Arrow | None, topics: Any, topic: Ints, keys: Ints) -> tuple[Ints, Bools, Bools]:
    """The size of each partition, whether it is known, and whether that or the mean of its topic is known."""
    size = np.full(len(keys), -1, np.int64)
    if logs is not None and logs.num_rows:
        logs = logs.filter(pc.invert(logs.column("is_future")))
        at = indexed(keys_of(topic_codes(logs.column("topic"), topics), numbers(logs.column("partition"))), keys)
        np.maximum.at(size, at[at != NOBODY], numbers(logs.column("size_bytes"))[at != NOBODY])
    sized = size >= 0
    count = np.bincount(topic[sized], minlength=len(topics))
    total = np.zeros(len(topics), np.int64)
    np.add.at(total, topic[sized], size[sized])
    meant = count[topic] > 0 if len(topics) else sized
    return np.where(sized, size, (total // np.maximum(count, 1))[topic] if len(topics) else 0), sized, meant


def averaged(tables: Mapping[str, Arrow]) -> int:
    """The number of partitions in `replica_load` whose size is the mean of their topic, as `replica_log` has no log of
    them."""
    found = tables["replica_load"].filter(known(tables["replica_load"].column("size_bytes")))
    topics = sorted_topics(found)
    topic = topic_codes(found.column("topic"), topics)
    keys = keys_of(topic, numbers(found.column("partition")))
    _, sized, _ = _sizes(tables.get("replica_log"), topics, topic, keys)
    return int((~sized).sum())


def _unmeasured(partition: Arrow, size: Ints, sized: Bools, meant: Bools) -> _Rates:
    """Rates without samples: from the table partition, or size over retention."""
    retention_s = amounts(partition.column("retention_ms")) / 1000
    ends = retention_s > 0
    by_size = np.divide(size, retention_s, out=np.full(len(size), np.nan), where=ends & meant)
    said = known(partition.column("write_bps"))
    write = np.where(said, amounts(partition.column("write_bps")), by_size)
    basis = np.where(said, _BASES.index(MEASURED), _BASES.index(SIZE_ONLY))
    return _Rates(write, np.full(len(size), np.nan), basis, np.where(said, 1.0, np.where(sized & ends, 0.5, 0.0)))


def _measure(rates: _Rates, found: Measured, group: Ints, size: Ints) -> None:
    """Write the sampled rates into `rates`. The rate of a topic at a broker is distributed over its partitions that the
    broker leads, by size, unless a better value is known."""
    count = len(rates.write)
    own, share = found.rates[:, :count], found.completeness[:count]
    _put(rates, own, share, np.ones(count, np.bool_), MEASURED)
    weight = np.where(np.bincount(group, size)[group] > 0, size, 1).astype(np.float64)
    part = weight / np.maximum(np.bincount(group, weight)[group], 1e-300)
    split, share = found.rates[:, count:][:, group] * part, found.completeness[count:][group]
    _put(rates, split, share, rates.basis == _BASES.index(SIZE_ONLY), SPLIT)


def _put(rates: _Rates, found: Floats, share: Floats, where: Bools, basis: str) -> None:
    """Write the known ones of the rates, 2 x P, for the partitions at `where`."""
    for whole, values in zip((rates.write, rates.read), found, strict=True):
        put = where & np.isfinite(values)
        whole[put] = values[put]
    measured = where & np.isfinite(found[0])
    rates.basis[measured] = _BASES.index(basis)
    rates.completeness[measured] = share[measured]


def _with_capacity(broker: Arrow, samples: Arrow | None, cluster: Cluster) -> Arrow:
    """An unknown capacity becomes the bytes of the replicas and the free bytes of the last sample."""
    broker = conform(BROKER, broker, "broker")
    if samples is None or not samples.num_rows:
        return broker
    there = samples.filter(pc.is_valid(samples.column("disk_free_bytes")))
    free = there.sort_by([("ts", "ascending"), ("disk_free_bytes", "ascending")])
    at = indexed(numbers(free.column("broker_id")), cluster.brokers)
    capacity = np.full(len(cluster.brokers), -1, np.int64)
    held = per_broker(cluster.replicas, cluster.size, len(cluster.brokers))
    capacity[at] = numbers(free.column("disk_free_bytes")) + held[at]  # the last of several samples is kept
    said = numbers(broker.column("disk_capacity_bytes"), -1)
    merged = np.where(said >= 0, said, capacity)
    place = broker.schema.get_field_index("disk_capacity_bytes")
    column = pa.array(merged, pa.int64(), mask=merged < 0)
    return conform(BROKER, broker.set_column(place, "disk_capacity_bytes", column), "broker")


def _sums(cluster: Cluster, broker: Arrow, rates: _Rates) -> dict[str, Arrow]:
    brokers, factors = len(cluster.brokers), cluster.factors
    ones = np.ones(len(cluster.size), np.int64)
    led = np.where(cluster.leader == NOBODY, brokers, cluster.leader)
    sends = stepped(potential_out(cluster, factors))
    weakest = np.zeros(brokers, np.int64)
    for column in cluster.replicas.T:
        np.maximum.at(weakest, column[column != NOBODY], rates.basis[column != NOBODY])
    sums = {
        "replicas": per_broker(cluster.replicas, ones, brokers),
        "leaders": np.bincount(led, minlength=brokers + 1)[:brokers],
        "size_bytes": per_broker(cluster.replicas, cluster.size, brokers),
        "in_bps": per_broker(cluster.replicas, stepped(cluster.write_bps), brokers),
        "out_bps": np.bincount(led, sends, brokers + 1)[:brokers],
        "potential_out_bps": per_broker(cluster.replicas, sends, brokers),
        "completeness": per_broker(cluster.replicas, stepped(rates.completeness, SHARE_STEPS), brokers),
    }
    names = [row["rack"] for row in broker.select(["broker_id", "rack"]).sort_by("broker_id").to_pylist()]
    racks = sorted({name for name in names if name is not None}) + ([None] if None in names else [])
    of = np.array([racks.index(name) for name in names], np.int64)
    by_rack, weakest_of_rack = {}, np.zeros(len(racks), np.int64)
    for name, values in sums.items():
        by_rack[name] = np.zeros(len(racks), values.dtype)
        np.add.at(by_rack[name], of, values)
    np.maximum.at(weakest_of_rack, of, weakest)
    return {
        "broker_load": from_columns(BROKER_LOAD, {"broker_id": cluster.brokers, **_finished(sums, weakest)}),
        "rack_load": from_columns(RACK_LOAD, {"rack": racks, **_finished(by_rack, weakest_of_rack)}),
    }


def _finished(sums: dict[str, Any], weakest: Ints) -> dict[str, Any]:
    mean = sums["completeness"] / np.maximum(sums["replicas"], 1)
    return {**sums, "completeness": mean, "basis": pa.array(_BASES).take(pa.array(weakest))}
