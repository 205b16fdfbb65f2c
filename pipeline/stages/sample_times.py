"""When a snapshot was taken, by the times of its samples, and which of them count.

* The snapshot's time decides which samples are too old or from the future. If it is not given, it is that of the
  newest sample, unless what comes an hour or more after some other sample would do harm. Samples are from the future if
  they would make ten times as many others too old, or if they are of a third of the brokers at most and would make half
  of the others too old. So neither single samples nor a broker with a wrong clock (of three or more) remove the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import attrs
import numpy as np
import pyarrow as pa

from ..kernel.cluster import NOBODY, Ints
from ..tables.arrow import Arrow
from ..tables.declared import REPLICA_SAMPLE
from ..tables.schema import Table
from .arrays import numbers
from .sieve import Sieve

AGE_MAX_S: Final = 86_400
TIMES: Final = Table(REPLICA_SAMPLE.name, "ts timestamp, broker_id int?")
SECOND_US: Final = 1_000_000
EVER: Final = 2**62
_LATE_US: Final = 3600 * SECOND_US
_SLOT_US: Final = 300 * SECOND_US
_TIMES_AS_MANY: Final = 10


@attrs.frozen
class Span:
    """Samples before `oldest_us` are too old, those after `latest_us` from the future. The texts are the reasons."""

    oldest_us: int
    latest_us: int
    old: str = ""
    future: str = ""

    def refuse(self, sieve: Sieve) -> None:
        ts = times_of(sieve.rows)
        sieve.refuse(ts < self.oldest_us, self.old)
        sieve.refuse(ts > self.latest_us, self.future)


def _counted(before: Ints, keys: Ints, ts: Ints) -> Ints:
    """Three rows: keys, ascending, the number of samples of each, and the time of the newest."""
    found, at = np.unique(np.concatenate([before[0], keys]), return_inverse=True)
    counts, newest = np.zeros_like(found), np.full_like(found, -EVER)
    np.add.at(counts, at, np.concatenate([before[1], np.ones_like(ts)]))
    np.maximum.at(newest, at, np.concatenate([before[2], ts]))
    return np.stack([found, counts, newest])


@attrs.define
class Survey:
    """The times of samples: of each batch its end and its earliest time; by slots of 5 minutes, and by brokers, their
    number and the newest."""

    ends: list[int] = attrs.field(factory=lambda: [0])
    firsts: list[int] = attrs.field(factory=lambda: [EVER])
    slots: Ints = attrs.field(factory=lambda: np.zeros((3, 0), np.int64))
    brokers: Ints = attrs.field(factory=lambda: np.zeros((3, 0), np.int64))

    @classmethod
    def of(cls, batches: Iterable[Arrow]) -> Survey:
        found = cls()
        for rows in batches:
            ts = times_of(rows)
            found.ends.append(found.ends[-1] + len(ts))
            found.firsts.append(int(ts.min(initial=EVER)))
            found.slots = _counted(found.slots, ts // _SLOT_US, ts)
            found.brokers = _counted(found.brokers, numbers(rows.column("broker_id"), NOBODY), ts)
        return found

    def span(self, age_max_s: float | None, taken_at: datetime | None) -> Span:
        """`age_max_s` None: every sample counts."""
        if age_max_s is None or self.ends[-1] == 0:
            return Span(-EVER, EVER)
        age_us = round(min(age_max_s * SECOND_US, EVER))
        judged = taken_at is None
        taken_us = self._judged_us(age_us) if taken_at is None else round(taken_at.timestamp() * SECOND_US)
        than, at = "newest" if judged else "snapshot", np.datetime_as_string(np.datetime64(taken_us, "us"), unit="s")
        return Span(
            taken_us - age_us,
            taken_us if judged else taken_us + _LATE_US,
            f"the sample is more than {age_max_s:g} s older than the {than}",
            f"the sample is from the future: the snapshot was taken at {at}Z",
        )

    def _judged_us(self, age_us: int) -> int:
        """The time of the newest sample that is not from the future."""
        times, ends = self.slots[2], np.concatenate(([0], np.cumsum(self.slots[1])))
        brokers, last = np.sort(self.brokers[2]), len(times) - 1
        while True:
            earlier = times[: np.searchsorted(times, times[last] - _LATE_US, side="right")]
            until = np.arange(1, len(earlier) + 1)
            low, high = np.searchsorted(times, earlier - age_us), np.searchsorted(times, times[last] - age_us)
            made_old = ends[np.clip(high, low, until)] - ends[low]
            are_many = made_old >= _TIMES_AS_MANY * (ends[last + 1] - ends[until])
            are_most = 2 * made_old >= ends[until] - ends[low]
            of_few = 3 * (len(brokers) - np.searchsorted(brokers, earlier, side="right")) <= len(brokers)
            harmful = np.nonzero(are_many | (are_most & of_few))[0]
            if not len(harmful):
                return int(times[last])
            last = int(harmful[-1])

    def earliest_us(self, row: int) -> int:
        """The earliest time of that row and all later ones, or before it."""
        at = np.searchsorted(self.ends, row, side="right")
        return min(self.firsts[at:], default=EVER)


def times_of(rows: Arrow) -> Ints:
    """Microseconds since 1970."""
    return np.asarray(rows.column("ts").cast(pa.int64()).to_numpy(), np.int64)
