"""Samples of replicas -> the rate of each partition, and of each topic at each broker.

* `reduce` reads them twice, in batches: their times, then everything; neither reading keeps them. Of tables that Spark
  has, `kedge.pipeline.spark.samples` makes the same rows by column functions. `Places.measured` takes either.
* A window begins at a multiple of its length since 1970.
* All samples of a partition count, whatever broker they are of; those without a partition are of a topic at a broker.
  Samples taken during a reassignment are left out, since copies are not the cluster's own load, and so are those of
  followers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import NOBODY, Bools, Floats, Ints
from ..tables.arrow import Arrow, conform, in_order
from ..tables.declared import BROKER_SAMPLE, REPLICA_SAMPLE
from ..tables.rejects import Rejects
from ..tables.schema import Table
from .arrays import amounts, indexed, keys_of, known, numbers, sorted_topics, topic_codes
from .usable import RATES, Bounds, LoadSettings, Refused, judged, rates_of, reasons, reject, times_of
from .windows import MAX, Windows, partials

_TIMES: Final = Table(REPLICA_SAMPLE.name, "ts timestamp")
_BATCH_ROWS: Final = 1 << 17
_EVER: Final = 2**63 - 1
_SHIFT: Final = 34  # a key is (topic << 34) + id, and a bit each for rows of a topic and for those of a known broker
_UNKNOWN: Final = (
    "the topic is unknown",
    "the partition is unknown",
    "the row has neither a partition nor a broker",
    "the broker is unknown",
)

Source: TypeAlias = Callable[[Table], Iterable[Arrow]]
"""The rows of a table in batches, each time in the same order, with its columns."""


def in_batches(rows: Arrow) -> Source:
    """A table in memory as a source."""

    def read(table: Table) -> Iterable[Arrow]:
        for start in range(0, max(1, rows.num_rows), _BATCH_ROWS):
            yield conform(table, rows.slice(start, _BATCH_ROWS), table.name)

    return read


def reduce(source: Source, settings: LoadSettings, bounds: Bounds) -> Arrow:
    """The rows of RATES by the samples of `source`, which gives those of `replica_sample`."""
    index, windows, refused = _Index(), Windows(settings.statistic), Refused()
    earliest, texts = _Earliest.of(source, bounds), reasons(REPLICA_SAMPLE, settings)
    row, largest = 0, settings.statistic == MAX
    for rows in source(REPLICA_SAMPLE):
        bad = judged(REPLICA_SAMPLE, rows, bounds)
        refused.add(rows, bad, texts)
        good = rows.filter(pa.array((bad == NOBODY) & _counts(rows)))
        if good.num_rows:
            ts, place = times_of(good), index.of(good)
            rates = np.stack([amounts(good.column(name), np.nan) for name in ("in_bps", "out_bps")])
            cells = partials(place, ts // settings.window_us, rates, len(index), largest=largest)
            windows.add(cells, len(index))
        row += rows.num_rows
        windows.close(earliest.after(row) // settings.window_us)
    rates, seen = windows.rates(len(index))
    first, last = (window * settings.window_us for window in windows.spans(len(index)))
    columns = {
        "in_bps": _nullable(rates[0]),
        "out_bps": _nullable(rates[1]),
        "windows": seen,
        "first_us": first,
        "last_us": last,
    }
    found = rates_of({**index.columns(), **columns, "samples": index.samples()}, len(index))
    return pa.concat_tables([found, refused.table()])


def _counts(rows: Arrow) -> Bools:
    """Those that are of a leader, and not taken during a reassignment."""
    follows = np.asarray(pc.equal(rows.column("is_leader").fill_null(True), False).to_numpy(), np.bool_)  # noqa: FBT003 - pyarrow's
    moves = np.asarray(rows.column("in_reassignment").to_numpy(), np.bool_)
    return ~moves & ~(follows & known(rows.column("partition")))


def _nullable(values: Floats) -> Any:
    return pa.array(values, pa.float64(), mask=np.isnan(values))


@attrs.frozen(eq=False)
class _Earliest:
    """When the next samples that count were taken at the earliest, so that earlier windows can be closed. `ends`: the
    rows until the end of each batch."""

    ends: Ints
    times: Ints

    @classmethod
    def of(cls, source: Source, bounds: Bounds) -> _Earliest:
        sizes, times = [0], [_EVER]
        for rows in source(_TIMES):
            ts = times_of(rows)
            sizes.append(len(ts))
            times.append(int(ts[(ts >= bounds[0]) & (ts <= bounds[1])].min(initial=_EVER)))
        return cls(np.cumsum(sizes), np.minimum.accumulate([*times, _EVER][::-1])[::-1])

    def after(self, row: int) -> int:
        """After so many rows, or before that."""
        return int(self.times[np.searchsorted(self.ends, row, side="right")])


class _Index:
    """Numbers what is sampled in the order in which it is found."""

    def __init__(self) -> None:
        self._topics: dict[str, int] = {}
        self._keys, self._numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)  # of sorted keys
        self._samples = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, rows: Arrow) -> Ints:
        """The number of each sample's partition, or topic at a broker."""
        encoded = rows.column("topic").combine_chunks().dictionary_encode()
        codes = [self._topics.setdefault(name, len(self._topics)) for name in encoded.dictionary.to_pylist()]
        topic = np.array(codes, np.int64)[np.asarray(encoded.indices.to_numpy())]
        of_topic = ~known(rows.column("partition"))
        ids = np.where(of_topic, numbers(rows.column("broker_id"), NOBODY), numbers(rows.column("partition")))
        has_id = ~of_topic | known(rows.column("broker_id"))
        bits = (of_topic.astype(np.int64) << 33) + (has_id.astype(np.int64) << 32)
        keys = (topic << _SHIFT) + bits + (ids & 0xFFFFFFFF)
        at = indexed(keys, self._keys)
        if (at == NOBODY).any():
            self._add(np.unique(keys[at == NOBODY]))
            at = indexed(keys, self._keys)
        found = self._numbers[at]
        self._samples = self._samples + np.bincount(found, minlength=len(self))
        return found

    def _add(self, new: Ints) -> None:
        keys = np.concatenate([self._keys, new])
        order = np.argsort(keys, kind="stable")
        self._numbers = np.concatenate([self._numbers, len(self) + np.arange(len(new))])[order]
        self._keys, self._samples = keys[order], np.concatenate([self._samples, np.zeros(len(new), np.int64)])

    def samples(self) -> Ints:
        return self._samples

    def columns(self) -> dict[str, Any]:
        """What each number stands for."""
        keys = np.empty_like(self._keys)
        keys[self._numbers] = self._keys
        ids, of_topic, has_id = keys.astype(np.int32), *((keys >> bit & 1).astype(np.bool_) for bit in (33, 32))
        return {
            "topic": pa.array(list(self._topics), pa.string()).take(pa.array(keys >> _SHIFT)),
            "partition": pa.array(ids, pa.int32(), mask=of_topic),
            "broker_id": pa.array(ids, pa.int32(), mask=~of_topic | ~has_id),
        }


@attrs.frozen(eq=False)
class Measured:
    """Of each place: its rates in and out, bytes per second, NaN if unknown; the share of windows with a sample."""

    rates: Floats  # 2 x (P + G)
    completeness: Floats  # P + G


@attrs.frozen(eq=False)
class Places:
    """Where samples belong: P partitions by their index, then G topics at a broker that leads partitions of them."""

    topics: Any
    brokers: Ints  # ids
    keys: Ints  # P, of topic and partition
    groups: Ints  # G, of topic and leader
    group: Ints  # P, the index of its group

    @classmethod
    def of(cls, broker: Arrow, partition: Arrow) -> Places:
        """Of validated tables."""
        topics = sorted_topics(partition)
        topic = topic_codes(partition.column("topic"), topics)
        groups, group = np.unique(keys_of(topic, numbers(partition.column("leader"))), return_inverse=True)
        keys = keys_of(topic, numbers(partition.column("partition")))
        return cls(topics, numbers(broker.column("broker_id")), keys, groups, group)

    def measured(self, found: Arrow, window_us: int, rejects: Rejects) -> Measured:
        """By the rows of RATES. Samples that do not count, or of what is unknown, are added to `rejects`."""
        found = conform(RATES, found, REPLICA_SAMPLE.name)
        counting, at = pc.is_null(found.column("reason")), self._of_rows(found)
        reason = self._reasons(found, at)
        given = {name: found.column(name) for name in RATES.names if name != "first_us"}  # which may be of other places
        unknown = rates_of({**given, "reason": pa.array(_UNKNOWN).take(reason)}, found.num_rows)
        unknown = unknown.filter(pc.and_(counting, pc.is_valid(reason)))
        reject(REPLICA_SAMPLE, pa.concat_tables([found.filter(pc.invert(counting)), unknown]), rejects)
        is_good = np.asarray(pc.and_(counting, pc.is_null(reason)).to_numpy(), np.bool_) & (at != NOBODY)
        count, spans = len(self.keys) + len(self.groups), found.filter(pa.array(is_good))
        rates, seen = np.full((2, count), np.nan), np.zeros(count)
        for into, name in zip(rates, ("in_bps", "out_bps"), strict=True):
            into[at[is_good]] = amounts(found.column(name), np.nan)[is_good]
        seen[at[is_good]] = numbers(found.column("windows"))[is_good]
        times = pc.min(spans.column("first_us")).as_py(), pc.max(spans.column("last_us")).as_py()
        windows = 1 if None in times else times[1] // window_us - times[0] // window_us + 1
        return Measured(rates, seen / windows)

    def _of_rows(self, rows: Arrow) -> Ints:
        """The place of each row, NOBODY if it is unknown or the broker leads no partition of the topic."""
        topic, number = self._topics(rows), numbers(rows.column("partition"), NOBODY)
        group = indexed(keys_of(topic, numbers(rows.column("broker_id"), NOBODY)), self.groups)
        of_topic = np.where(group == NOBODY, NOBODY, group + len(self.keys))
        of_partition = np.where(number >= 0, indexed(keys_of(topic, number), self.keys), NOBODY)
        return np.where(known(rows.column("partition")), of_partition, of_topic)

    def _reasons(self, rows: Arrow, at: Ints) -> Any:
        """The index of why each row is of nothing that is known, null if it is not."""
        of_topic, ids = ~known(rows.column("partition")), numbers(rows.column("broker_id"), NOBODY)
        checks = (
            self._topics(rows) == NOBODY,
            ~of_topic & (at == NOBODY),
            of_topic & ~known(rows.column("broker_id")),
            of_topic & (indexed(ids, self.brokers) == NOBODY),
        )
        return pa.array(np.argmax(checks, axis=0), mask=~np.any(checks, axis=0))

    def _topics(self, rows: Arrow) -> Ints:
        return topic_codes(pc.fill_null(rows.column("topic"), ""), self.topics)


def of_brokers(rows: Arrow, brokers: Ints, settings: LoadSettings, bounds: Bounds, rejects: Rejects) -> Arrow:
    """The rows of `broker_sample` that count, sorted; the others are added to `rejects`. `brokers`: known ids."""
    rows, texts = conform(BROKER_SAMPLE, rows, BROKER_SAMPLE.name), (*reasons(BROKER_SAMPLE, settings), _UNKNOWN[-1])
    bad = judged(BROKER_SAMPLE, rows, bounds)
    bad[(bad == NOBODY) & (indexed(numbers(rows.column("broker_id")), brokers) == NOBODY)] = len(texts) - 1
    refused = Refused()
    refused.add(rows, bad, texts)
    reject(BROKER_SAMPLE, refused.table(), rejects)
    return in_order(BROKER_SAMPLE, rows.filter(pa.array(bad == NOBODY)))
