"""Validated tables -> the load of each partition, broker and rack.

* Size of a partition: its largest log. Unknown: the mean of its topic, null if there is none.
* Rates: samples are averaged per window of `window_s`, then over the windows that have samples. Samples taken during a
  reassignment are ignored, since copies are not the cluster's own load.
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
from ..tables.arrow import Arrow, conform, empty, from_columns
from ..tables.declared import (
    BROKER,
    BROKER_LOAD,
    MEASURED,
    RACK_LOAD,
    REPLICA_LOAD,
    REPLICA_LOG,
    SIZE_ONLY,
    SPLIT,
)
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

WINDOW_S: Final = 300
_BASES: Final = (MEASURED, SPLIT, SIZE_ONLY)  # the weakest last


@attrs.define
class _Rates:
    """For every partition: bytes per second written and read (NaN: unknown), basis and completeness."""

    write: Floats
    read: Floats
    basis: Ints
    completeness: Floats


def load(tables: Mapping[str, Arrow], *, window_s: int = WINDOW_S) -> dict[str, Arrow]:
    """`replica_load`, `broker_load`, `rack_load`, and `broker` with capacities derived from free bytes, or by
    default."""
    partition, broker = tables["partition"], tables["broker"]
    topics = sorted_topics(partition)
    topic = topic_codes(partition.column("topic"), topics)
    keys = keys_of(topic, numbers(partition.column("partition")))
    size, sized, meant = _sizes(tables.get("replica_log"), topics, topic, keys)
    rates = _unmeasured(partition, size, sized, meant)
    if "replica_sample" in tables and tables["replica_sample"].num_rows:
        _measure(rates, tables["replica_sample"], partition, topics=topics, keys=keys, size=size, window_s=window_s)
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
    measured = _with_capacity(broker, tables.get("broker_sample"), cluster)
    capable = conform(BROKER, defaulted(measured, tables.get("broker_default")), "broker")
    dirs = {}
    if "log_dir" in tables:
        dirs["log_dir"] = with_sizes(tables["log_dir"], tables.get("replica_log", empty(REPLICA_LOG)))
        capable = with_reported(capable, dirs["log_dir"])
    return {
        "broker": capable,
        **dirs,
        "replica_load": found,
        **_sums(cluster, broker, rates),
    }


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


def _measure(
    rates: _Rates, samples: Arrow, partition: Arrow, *, topics: Any, keys: Ints, size: Ints, window_s: int
) -> None:
    """Write the sampled rates into `rates`."""
    moving = np.asarray(samples.column("in_reassignment").to_numpy(), np.bool_)
    follows = np.asarray(pc.fill_null(pc.invert(samples.column("is_leader")), False).to_numpy(), np.bool_)  # noqa: FBT003 - pyarrow's
    ts = np.asarray(samples.column("ts").cast(pa.int64()).to_numpy(), np.int64)
    window = (ts - ts.min()) // (window_s * 1_000_000)
    windows = int(window.max()) + 1
    topic, number = topic_codes(samples.column("topic"), topics), numbers(samples.column("partition"), NOBODY)
    of_topic = number == NOBODY
    values = (amounts(samples.column("in_bps"), np.nan), amounts(samples.column("out_bps"), np.nan))
    at = np.where(of_topic, NOBODY, indexed(keys_of(topic, number), keys))
    good = (at != NOBODY) & ~moving & ~follows
    _put(rates, at[good], window[good], windows, values=[v[good] for v in values], basis=_BASES.index(MEASURED))
    ids = numbers(samples.column("broker_id"), NOBODY)
    good = of_topic & ~moving
    sampled = (topic[good], ids[good], window[good], windows)
    _split(rates, partition, topics, size, sampled, values=[v[good] for v in values])


def _put(rates: _Rates, at: Ints, window: Ints, windows: int, *, values: list[Floats], basis: int) -> None:
    if not len(at):
        return
    means, seen = _means(at, window, windows, values, len(rates.write))
    for whole, mean in zip((rates.write, rates.read), means, strict=True):
        whole[np.isfinite(mean)] = mean[np.isfinite(mean)]
    measured = np.isfinite(means[0])
    rates.basis[measured] = basis
    rates.completeness[measured] = seen[measured]


def _means(at: Ints, window: Ints, windows: int, values: list[Floats], n: int) -> tuple[list[Floats], Floats]:
    """For each place the mean over windows of the means within them, NaN without samples; and the share of windows with
    a sample."""
    cells, cell = np.unique(at * windows + window, return_inverse=True)
    means = []
    for value in values:
        valid = np.isfinite(value)
        count = np.bincount(cell[valid], minlength=len(cells))
        sums = np.bincount(cell[valid], stepped(value[valid]), len(cells))
        there = count > 0
        in_window = stepped(sums[there] / count[there])
        place = cells[there] // windows
        per_place = np.bincount(place, minlength=n)
        total = np.bincount(place, in_window, n)
        means.append(np.where(per_place > 0, total / np.maximum(per_place, 1), np.nan))
    return means, np.bincount(cells // windows, minlength=n) / windows


def _split(
    rates: _Rates,
    partition: Arrow,
    topics: Any,
    size: Ints,
    sampled: tuple[Ints, Ints, Ints, int],
    *,
    values: list[Floats],
) -> None:
    """A topic's rate at a broker is distributed over its partitions that the broker leads, by size, unless a better
    value is known."""
    topic, ids, window, windows = sampled
    if not len(topic):
        return
    led = keys_of(topic_codes(partition.column("topic"), topics), numbers(partition.column("leader")))
    groups, group = np.unique(led, return_inverse=True)
    at = indexed(keys_of(topic, ids), groups)
    good = at != NOBODY
    means, seen = _means(at[good], window[good], windows, [v[good] for v in values], len(groups))
    weight = np.where(np.bincount(group, size)[group] > 0, size, 1).astype(np.float64)
    share = weight / np.maximum(np.bincount(group, weight)[group], 1e-300)
    unknown = rates.basis == _BASES.index(SIZE_ONLY)
    for whole, mean in zip((rates.write, rates.read), means, strict=True):
        put = unknown & np.isfinite(mean[group])
        whole[put] = (mean[group] * share)[put]
    put = unknown & np.isfinite(means[0][group])
    rates.basis[put] = _BASES.index(SPLIT)
    rates.completeness[put] = seen[group][put]


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
