"""Collected tables -> validated ones, and the removed rows, each with its reason.

* partition: names, ids, each (topic, partition) once, some replicas and each broker once among them.
* broker: each id once, a known state, no negative capacity. A broker that holds replicas and is not listed is added as
  dead, and reported: a partition must not vanish from the plan because a broker is unknown.
* replica_log: no negative size, a known partition and a broker that holds it, each log once, none that is ten times as
  large as other logs of the partition. Future replicas are kept aside.
* samples are not looked at: they are judged where they are reduced (`usable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...controller.codec.names import is_topic
from ..kernel.cluster import NOBODY, Bools, Ints
from ..tables.arrow import Arrow, conform, from_rows, in_order
from ..tables.declared import BROKER, BROKER_DEFAULT, DEAD, PARTITION, REJECTED_ROWS, REPLICA_LOG, STATES
from ..tables.rejects import OF_TABLE, Rejects
from ..tables.schema import Table
from .arrays import flat, indexed, keys_of, known, matrix, numbers, sorted_topics, topic_codes
from .usable import negative

DUPLICATE_REPLICAS: Final = "a broker stands twice among the replicas"  # `check` finds stored rows by this text
_OUTLIER_FACTOR: Final = 10
_OUTLIER_BYTES_MIN: Final = 1 << 30  # smaller logs do not affect a plan
_OUTLIER_LOGS_MIN: Final = 3  # with two it is not known which one is wrong


@attrs.define
class _Sieve:
    """The remaining rows of one table, and the reasons of the removed ones; the first failed check counts."""

    table: Table
    rows: Arrow
    rejects: Rejects
    reason: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = conform(self.table, self.rows, self.table.name)
        self.reason = np.full(self.rows.num_rows, "", dtype=object)

    def column(self, name: str) -> Any:
        return self.rows.column(name)

    def refuse(self, where: Any, reason: str) -> None:
        if where.any():
            self.reason[where & (self.reason == "")] = reason

    def result(self) -> Arrow:
        """The rows without a reason; the others are rejected."""
        good = np.asarray(self.reason == "", np.bool_)
        if good.all():
            return self.rows
        places = np.nonzero(~good)[0]
        for place, row in zip(places.tolist(), self.rows.take(places).to_pylist(), strict=True):
            self.rejects.add(f"{OF_TABLE}{self.table.name}", place + 1, row, str(self.reason[place]))
        return self.rows.filter(pa.array(good))


def validate(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The same tables without unusable rows, sorted by their keys, and samples as they are; `rejected_rows` has the
    unusable ones, too. Doing it again gives the same. Raises BadInput if a column is missing or of another type."""
    rejects = Rejects()
    broker = _brokers(tables["broker"], rejects)
    partition = _partitions(tables["partition"], rejects)
    broker = _with_unlisted(broker, partition, rejects)
    found = {**tables, "broker": broker, "partition": partition}
    if "broker_default" in tables:
        found["broker_default"] = _capacities(_Sieve(BROKER_DEFAULT, tables["broker_default"], rejects)).result()
    if "replica_log" in tables:
        found["replica_log"] = _logs(tables["replica_log"], broker, partition, rejects)
    found["rejected_rows"] = _together(tables.get("rejected_rows"), rejects.table())
    return found


def _together(before: Arrow | None, now: Arrow) -> Arrow:
    """Earlier rejected rows and those of now, each once: validating valid rows again loses none."""
    if before is None:
        return now
    rows = pa.concat_tables([conform(REJECTED_ROWS, before, REJECTED_ROWS.name), now])
    seen = {
        (row["source"], row["line"], row["raw"], row["reason"]): n
        for n, row in reversed(list(enumerate(rows.to_pylist())))
    }
    return rows.take(pa.array(sorted(seen.values()), pa.int64()))


def of_sources(rejected: Arrow) -> Arrow:
    """The rows that were rejected before they were rows of tables: validation finds the others again."""
    return rejected.filter(pc.invert(pc.starts_with(rejected.column("source"), OF_TABLE)))


def _brokers(rows: Arrow, rejects: Rejects) -> Arrow:
    sieve = _Sieve(BROKER, _with_state(rows), rejects)
    ids = numbers(sieve.column("broker_id"))
    sieve.refuse(ids < 0, "the broker id is negative")
    sieve.refuse(_again(ids), "the broker occurs twice")
    states = np.asarray(pc.is_in(sieve.column("state"), value_set=pa.array(STATES)).to_numpy(), np.bool_)
    sieve.refuse(~states, f"the state is not one of {', '.join(STATES)}")
    return in_order(BROKER, _capacities(sieve).result())


def _with_state(rows: Arrow) -> Arrow:
    """States in lower case: other programs write ALIVE."""
    rows = conform(BROKER, rows, BROKER.name)
    at = rows.schema.get_field_index("state")
    return rows.set_column(at, rows.schema.field(at), pc.utf8_lower(rows.column(at)))


def _capacities(sieve: _Sieve) -> _Sieve:
    for name in BROKER_DEFAULT.names:
        sieve.refuse(negative(sieve.column(name)), f"{name} is negative or not a number")
    return sieve


def _partitions(rows: Arrow, rejects: Rejects) -> Arrow:
    sieve = _Sieve(PARTITION, rows, rejects)
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
        sieve.refuse(((table < 0) & there).any(axis=1), f"{name} has a broker id that is negative or null")
        in_row = np.sort(table, axis=1)
        twice = ((in_row[:, 1:] == in_row[:, :-1]) & (in_row[:, 1:] != NOBODY)).any(axis=1)
        sieve.refuse(twice, DUPLICATE_REPLICAS if name == "replicas" else f"a broker occurs twice among {name}")
    sieve.refuse(negative(sieve.column("write_bps")), "write_bps is negative or not a number")
    return in_order(PARTITION, sieve.result())


def _with_unlisted(broker: Arrow, partition: Arrow, rejects: Rejects) -> Arrow:
    ids = numbers(broker.column("broker_id"))
    named = np.unique(np.concatenate([flat(partition.column(name))[0] for name in ("replicas", "target_replicas")]))
    unlisted = named[indexed(named, ids) == NOBODY].tolist()
    if not unlisted:
        return broker
    for broker_id in unlisted:
        reason = "the broker holds replicas and is not listed: it counts as dead"
        rejects.add(f"{OF_TABLE}broker", None, {"broker_id": broker_id}, reason)
    more = from_rows(BROKER, [(broker_id, None, None, DEAD, None, None, None) for broker_id in unlisted])
    return in_order(BROKER, pa.concat_tables([broker, more]))


def _logs(rows: Arrow, broker: Arrow, partition: Arrow, rejects: Rejects) -> Arrow:
    sieve = _Sieve(REPLICA_LOG, rows, rejects)
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


def _partition_of(sieve: _Sieve, partition: Arrow) -> tuple[Ints, Ints]:
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
