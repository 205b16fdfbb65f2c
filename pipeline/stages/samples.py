"""Samples of replicas -> a rate of each partition, and of each topic at each broker, batch by batch.

* The samples are read twice: their times, then everything. Neither reading keeps them.
* Windows begin with the first sample that counts. Samples taken during a reassignment, and those of followers, give no
  rate.
* All samples of a partition count, whatever broker they are of; those without a partition are of a topic at a broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import NOBODY, Floats, Ints
from ..tables.arrow import Arrow, conform
from ..tables.declared import REPLICA_SAMPLE
from ..tables.rejects import Rejects
from ..tables.schema import Table
from .arrays import amounts, indexed, keys_of, known, numbers, sorted_topics, topic_codes
from .sample_times import EVER, SECOND_US, TIMES, Span, Survey, times_of
from .sieve import Sieve, count_rest
from .windows import MEAN, Partials, Windows, partials

WINDOW_S: Final = 300
_BATCH_ROWS: Final = 1 << 17

Source: TypeAlias = Callable[[Table], Iterable[Arrow]]
"""The rows of a table in batches, each time in the same order."""


def in_batches(rows: Arrow) -> Source:
    """A table in memory as a source."""

    def read(table: Table) -> Iterable[Arrow]:
        for batch in conform(table, rows, table.name).to_batches(max_chunksize=_BATCH_ROWS):
            yield pa.Table.from_batches([batch])

    return read


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

    def __len__(self) -> int:
        return len(self.keys) + len(self.groups)

    def refuse(self, sieve: Sieve) -> None:
        """Samples of what is unknown."""
        ids = numbers(sieve.column("broker_id"), NOBODY)
        is_named = known(sieve.column("broker_id"))
        sieve.refuse(is_named & (indexed(ids, self.brokers) == NOBODY), "the broker is unknown")
        if "partition" in sieve.table.names:
            topic = topic_codes(sieve.column("topic"), self.topics)
            whole_topic = ~known(sieve.column("partition"))
            at = self._partitions(topic, numbers(sieve.column("partition"), NOBODY))
            sieve.refuse(topic == NOBODY, "the topic is unknown")
            sieve.refuse(~whole_topic & (at == NOBODY), "the partition is unknown")
            sieve.refuse(whole_topic & ~is_named, "the row has neither a partition nor a broker")

    def of_rows(self, rows: Arrow) -> Ints:
        """The place of each sample, NOBODY if the broker leads no partition of the topic."""
        topic = topic_codes(rows.column("topic"), self.topics)
        number = numbers(rows.column("partition"), NOBODY)
        group = indexed(keys_of(topic, numbers(rows.column("broker_id"), NOBODY)), self.groups)
        of_topic = np.where(group == NOBODY, NOBODY, group + len(self.keys))
        return np.where(number == NOBODY, of_topic, self._partitions(topic, number))

    def _partitions(self, topic: Ints, number: Ints) -> Ints:
        return np.where(number >= 0, indexed(keys_of(topic, number), self.keys), NOBODY)


def refuse(sieve: Sieve, span: Span, places: Places) -> None:
    """The checks of samples of replicas and of brokers."""
    span.refuse(sieve)
    measured = (name for name, kind, _ in sieve.table.columns if kind == "double" or name == "disk_free_bytes")
    sieve.refuse_negative(*measured)
    places.refuse(sieve)


@attrs.frozen(eq=False)
class Measured:
    """Of each place: its rates in and out, bytes per second, NaN if unknown; the share of windows with a sample.
    `rejects`: the samples that cannot be used."""

    rates: Floats  # 2 x (P + G)
    completeness: Floats  # P + G
    rejects: Rejects = attrs.field(factory=Rejects)

    @classmethod
    def of_rates(cls, rows: Arrow, places: Places) -> Measured:
        """Of rows of `kedge.pipeline.spark.samples.rates`, for one snapshot."""
        at = places.of_rows(rows)
        is_known = at != NOBODY
        found = cls(np.full((2, len(places)), np.nan), np.zeros(len(places)))
        for into, name in zip((*found.rates, found.completeness), ("in_bps", "out_bps", "completeness"), strict=True):
            into[at[is_known]] = amounts(rows.column(name), np.nan)[is_known]
        return found


def reduce(
    source: Source,
    places: Places,
    *,
    window_s: int = WINDOW_S,
    statistic: str = MEAN,
    age_max_s: float | None = None,
    taken_at: datetime | None = None,
) -> Measured:
    """The rates by the samples of `source` (columns of `replica_sample`). `statistic`: as in `windows`. `age_max_s`:
    seconds before the snapshot, None: every sample counts. `taken_at`: of the snapshot, None: judged by the samples."""
    survey = Survey.of(source(TIMES))
    span, begin_us = survey.span(age_max_s, taken_at), min(survey.firsts)
    while True:
        windows = Windows(len(places), statistic)
        first_us, found = _read(
            source, places, windows, survey=survey, span=span, begin_us=begin_us, window_us=window_s * SECOND_US
        )
        if first_us in {begin_us, EVER}:
            return found
        begin_us = first_us  # no sample before it counts


def _read(
    source: Source, places: Places, windows: Windows, *, survey: Survey, span: Span, begin_us: int, window_us: int
) -> tuple[int, Measured]:
    """The time of the first sample that counts, and the rates in windows that begin at `begin_us`."""
    rejects, counts = Rejects(), Counter[str]()
    row, first_us, last_us = 0, EVER, begin_us
    for rows in source(REPLICA_SAMPLE):
        sieve = Sieve(REPLICA_SAMPLE, rows, rejects, row, counts)
        refuse(sieve, span, places)
        good, row = sieve.result(), row + rows.num_rows
        if good.num_rows:
            ts = times_of(good)
            first_us, last_us = min(first_us, int(ts.min())), max(last_us, int(ts.max()))
            windows.add(cells(good, places, begin_us, window_us))
        windows.close((survey.earliest_us(row) - begin_us) // window_us)
    count_rest(REPLICA_SAMPLE, rejects, counts)
    rates, seen = windows.rates()
    return first_us, Measured(rates, seen / ((last_us - begin_us) // window_us + 1), rejects)


def cells(rows: Arrow, places: Places, begin_us: int, window_us: int) -> Partials:
    """The sums of valid samples per place and window, without those during a reassignment and those of followers."""
    at = places.of_rows(rows)
    follows = np.asarray(pc.equal(rows.column("is_leader").fill_null(True), False).to_numpy(), np.bool_)  # noqa: FBT003 - pyarrow's
    moves = np.asarray(rows.column("in_reassignment").to_numpy(), np.bool_)
    counts = (at != NOBODY) & ~moves & ~(follows & known(rows.column("partition")))
    rates = np.stack([amounts(rows.column(name), np.nan)[counts] for name in ("in_bps", "out_bps")])
    return partials(at[counts], (times_of(rows)[counts] - begin_us) // window_us, rates, len(places))
