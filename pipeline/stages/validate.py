"""Collected tables -> validated ones, and the removed rows, each with its reason.

* partition: names, ids, each (topic, partition) once, some replicas and each broker once among them.
* broker: each id once, a known state, no negative capacity. A broker that holds replicas and is not listed is added as
  dead, and reported: a partition must not vanish from the plan because a broker is unknown.
* replica_log: no negative size, a known partition and a broker that holds it, each log once, none that is ten times as
  large as other logs of the partition. Future replicas are kept aside.
* samples: no negative rates, known names, none older than the snapshot by more than `age_max_s`, none from the future.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...controller.codec.names import is_topic
from ..kernel.cluster import NOBODY, Bools, Ints
from ..tables.arrow import Arrow, conform, from_rows, in_order
from ..tables.declared import (
    BROKER,
    BROKER_DEFAULT,
    BROKER_SAMPLE,
    DEAD,
    PARTITION,
    REJECTED_ROWS,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    STATES,
)
from ..tables.rejects import Rejects
from .arrays import flat, indexed, keys_of, known, matrix, numbers, sorted_topics, topic_codes
from .sample_times import AGE_MAX_S, Survey
from .samples import Places, refuse
from .sieve import Sieve, count_rest

DUPLICATE_REPLICAS: Final = "a broker stands twice among the replicas"  # `check` finds stored rows by this text
_OUTLIER_FACTOR: Final = 10
_OUTLIER_BYTES_MIN: Final = 1 << 30  # smaller logs do not affect a plan
_OUTLIER_LOGS_MIN: Final = 3  # with two it is not known which one is wrong


def validate(
    tables: Mapping[str, Arrow], *, age_max_s: float = AGE_MAX_S, taken_at: datetime | None = None
) -> dict[str, Arrow]:
    """The same tables without unusable rows, sorted by their keys; `rejected_rows` has those, too, of samples the first
    of each reason and the number of the others. `age_max_s`, `taken_at`: as in `samples`. Raises BadInput if a column
    is missing or of another type."""
    rejects = Rejects()
    before = tables.get("rejected_rows")
    broker = _brokers(tables["broker"], rejects)
    partition = _partitions(tables["partition"], rejects)
    broker = _with_unlisted(broker, partition, rejects)
    found = {"broker": broker, "partition": partition}
    if "broker_default" in tables:
        found["broker_default"] = _capacities(Sieve(BROKER_DEFAULT, tables["broker_default"], rejects)).result()
    if "replica_log" in tables:
        found["replica_log"] = _logs(tables["replica_log"], broker, partition, rejects)
    places = Places.of(broker, partition)
    for table in (REPLICA_SAMPLE, BROKER_SAMPLE):
        if table.name in tables:
            counts = Counter[str]()
            sieve = Sieve(table, tables[table.name], rejects, counts=counts)
            refuse(sieve, Survey.of([sieve.rows]).span(age_max_s, taken_at), places)
            found[table.name] = in_order(table, sieve.result())
            count_rest(table, rejects, counts)
    said = [] if before is None else [conform(REJECTED_ROWS, before, "rejected_rows")]
    found["rejected_rows"] = pa.concat_tables([*said, rejects.table()])
    return found


def _brokers(rows: Arrow, rejects: Rejects) -> Arrow:
    sieve = Sieve(BROKER, rows, rejects)
    ids = numbers(sieve.column("broker_id"))
    sieve.refuse(ids < 0, "the broker id is negative")
    sieve.refuse(_again(ids), "the broker occurs twice")
    states = np.asarray(pc.is_in(sieve.column("state"), value_set=pa.array(STATES)).to_numpy(), np.bool_)
    sieve.refuse(~states, f"the state is not one of {', '.join(STATES)}")
    return in_order(BROKER, _capacities(sieve).result())


def _capacities(sieve: Sieve) -> Sieve:
    sieve.refuse_negative(*BROKER_DEFAULT.names)
    return sieve


def _partitions(rows: Arrow, rejects: Rejects) -> Arrow:
    sieve = Sieve(PARTITION, rows, rejects)
    topics = sorted_topics(sieve.rows)
    topic, number = topic_codes(sieve.column("topic"), topics), numbers(sieve.column("partition"))
    named = np.array([is_topic(name) for name in topics.to_pylist()] or [False])
    sieve.refuse(~named[topic], "the topic's name is invalid")
    sieve.refuse(number < 0, "the partition id is negative")
    sieve.refuse(_again(keys_of(topic, number)), "the partition occurs twice")
    for name in ("replicas", "isr", "target_replicas"):
        values, lengths = flat(sieve.column(name))
        if name == "replicas":
            sieve.refuse(lengths == 0, "the partition has no replicas")
        table = matrix(values, lengths)
        there = np.arange(table.shape[1]) < lengths[:, None]
        sieve.refuse(((table < 0) & there).any(axis=1), f"{name} has a negative broker id")
        in_row = np.sort(table, axis=1)
        twice = ((in_row[:, 1:] == in_row[:, :-1]) & (in_row[:, 1:] != NOBODY)).any(axis=1)
        sieve.refuse(twice, DUPLICATE_REPLICAS if name == "replicas" else f"a broker occurs twice among {name}")
    sieve.refuse_negative("write_bps")
    return in_order(PARTITION, sieve.result())


def _with_unlisted(broker: Arrow, partition: Arrow, rejects: Rejects) -> Arrow:
    ids = numbers(broker.column("broker_id"))
    named = np.unique(np.concatenate([flat(partition.column(name))[0] for name in ("replicas", "target_replicas")]))
    unlisted = named[indexed(named, ids) == NOBODY].tolist()
    if not unlisted:
        return broker
    for broker_id in unlisted:
        reason = "the broker holds replicas and is not listed: it counts as dead"
        rejects.add("table broker", None, {"broker_id": broker_id}, reason)
    more = from_rows(BROKER, [(broker_id, None, None, DEAD, None, None, None) for broker_id in unlisted])
    return in_order(BROKER, pa.concat_tables([broker, more]))


def _logs(rows: Arrow, broker: Arrow, partition: Arrow, rejects: Rejects) -> Arrow:
    sieve = Sieve(REPLICA_LOG, rows, rejects)
    keys, at = _partition_of(sieve, partition)
    size, ids = numbers(sieve.column("size_bytes")), numbers(sieve.column("broker_id"), NOBODY)
    named = known(sieve.column("broker_id"))
    sieve.refuse(size < 0, "the size is negative")
    sieve.refuse(at == NOBODY, "the partition is unknown")
    sieve.refuse(named & (indexed(ids, numbers(broker.column("broker_id"))) == NOBODY), "the broker is unknown")
    sieve.refuse(named & (at != NOBODY) & ~_holds(partition, at, ids), "the broker holds no replica of the partition")
    future = np.asarray(sieve.column("is_future").to_numpy(), np.bool_)
    rest = np.lexsort((np.arange(len(at)), future, ids, keys))
    same = np.zeros(len(at), np.bool_)
    ordered = np.stack([keys[rest], ids[rest], future[rest].astype(np.int64)])
    same[rest[1:]] = (ordered[:, 1:] == ordered[:, :-1]).all(axis=0)
    sieve.refuse(same, "the log occurs twice")
    sieve.refuse(
        _outliers(at, size, np.asarray(sieve.reason == "", np.bool_) & ~future),
        "the log is more than ten times as large as others of the partition",
    )
    return in_order(REPLICA_LOG, sieve.result())


def _outliers(at: Ints, size: Ints, counted: Bools) -> Bools:
    """Logs larger than ten times the median of their partition."""
    found = np.zeros(len(at), np.bool_)
    if not counted.any():
        return found
    rows = np.nonzero(counted)[0]
    rows = rows[np.lexsort((size[rows], at[rows]))]
    starts = np.nonzero(np.concatenate(([True], at[rows][1:] != at[rows][:-1])))[0]
    counts = np.diff(np.concatenate((starts, [len(rows)])))
    middle = np.repeat(size[rows][starts + (counts - 1) // 2], counts)
    many = np.repeat(counts, counts) >= _OUTLIER_LOGS_MIN
    large = (size[rows] > _OUTLIER_FACTOR * middle) & (size[rows] >= _OUTLIER_BYTES_MIN)
    found[rows] = many & large
    return found


def _partition_of(sieve: Sieve, partition: Arrow) -> tuple[Ints, Ints]:
    """For each row its key, and the index of its partition, NOBODY if it is absent."""
    topics = sorted_topics(partition)
    there = keys_of(topic_codes(partition.column("topic"), topics), numbers(partition.column("partition")))
    number = numbers(sieve.column("partition"), NOBODY)
    keys = keys_of(topic_codes(sieve.column("topic"), topics), number)
    return keys, np.where(number >= 0, indexed(keys, there), NOBODY)


def _holds(partition: Arrow, at: Ints, ids: Ints) -> Bools:
    """Whether the partition at each index has the broker among its replicas or targets."""
    found = np.zeros(len(at), np.bool_)
    for name in ("replicas", "target_replicas"):
        table = matrix(*flat(partition.column(name)))
        if len(table):
            found |= (table[at] == ids[:, None]).any(axis=1)
    return found


def _again(keys: Ints) -> Bools:
    """Where a value has occurred before."""
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(keys), np.bool_)
    again[order[1:]] = keys[order][1:] == keys[order][:-1]
    return again
