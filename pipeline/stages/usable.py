"""Which samples count, and a summary of those that do not.

* A sample counts if it was taken at most `age_max_s` before the snapshot, and at most an hour after it. So one sample
  with a wrong time removes no other. Where the time of the snapshot is not known, a sample of any time counts.
* Of those that do not count, a row per reason and replica has their number: a table with as many rejected rows as there
  were samples would be of no use. `reject` shows the first rows of each reason and counts the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...controller.model.plural import counted
from ..arguments import checked
from ..errors import BadInput
from ..kernel.cluster import NOBODY, Bools, Ints
from ..tables.arrow import Arrow, arrow_schema, conform, from_columns
from ..tables.rejects import Rejects
from ..tables.schema import Table
from .windows import MEAN, STATISTICS

SECOND_US: Final = 1_000_000
LATE_S: Final = 3600
SHOWN_MAX: Final = 10
_EVER: Final = 2**62
_MERGED: Final = 16

RATES: Final = Table(
    "replica_rate",
    "topic string?, partition int?, broker_id int?, reason string?, samples long, windows long, first_us long?, "
    "last_us long?, in_bps double?, out_bps double?",
)
"""Samples that were reduced: a row per partition (`broker_id` null), or topic at a broker (`partition` null), with its
rates and the number of windows that have a sample. With a `reason` they do not count. Times are of the first and last
sample, or of the beginnings of their windows."""

PLACE: Final = ("topic", "partition", "broker_id", "reason")
IS_NULL: Final = "column {} is null"
Bounds: TypeAlias = tuple[int, int]
"""The first and the last microsecond since 1970 of samples that count."""


@attrs.frozen(field_transformer=checked)
class LoadSettings:
    """How samples become rates. `window_s`: samples are averaged within so many seconds. `statistic`: of the windows,
    as in `windows`. `growth`: a factor of every rate, also of estimated ones. `age_max_s`: seconds that a sample may be
    older than the snapshot. `taken_at`: when snapshots without the table snapshot_time were taken; without a zone it is
    UTC. Raises BadInput for a value that is out of range."""

    window_s: int = 300
    statistic: str = MEAN
    growth: float = 1.0
    age_max_s: float = 86_400
    taken_at: datetime | None = None

    def __attrs_post_init__(self) -> None:
        if self.window_s < 1:
            raise BadInput(f"window: expected at least 1 second, got {self.window_s}")
        if self.statistic not in STATISTICS:
            raise BadInput(f"statistic: expected one of {', '.join(STATISTICS)}, got {self.statistic!r:.80}")
        if not 0 < self.growth < math.inf:
            raise BadInput(f"growth: expected a number above 0, got {self.growth}")
        if not 0 <= self.age_max_s < math.inf:
            raise BadInput(f"samples-age: expected seconds, at least 0, got {self.age_max_s}")

    @property
    def window_us(self) -> int:
        return self.window_s * SECOND_US

    @property
    def age_us(self) -> int:
        return round(min(self.age_max_s * SECOND_US, _EVER))

    @property
    def taken_us(self) -> int | None:
        if self.taken_at is None:
            return None
        known = self.taken_at if self.taken_at.tzinfo else self.taken_at.replace(tzinfo=UTC)
        return round(known.timestamp() * SECOND_US)

    def bounds(self, times: Arrow | None) -> Bounds:
        """`times`: the table snapshot_time."""
        known = None if times is None else pc.max(times.column("taken_at").cast(pa.int64())).as_py()
        taken_us = self.taken_us if known is None else known
        return (-(2**63), 2**63 - 1) if taken_us is None else (taken_us - self.age_us, taken_us + LATE_S * SECOND_US)


def measured(table: Table) -> list[str]:
    """The columns of rates and bytes, none of which may be negative."""
    return [name for name, kind, _ in table.columns if kind in {"double", "long"}]


def reasons(table: Table, settings: LoadSettings) -> tuple[str, ...]:
    """Why a sample does not count; the first reason that holds is given."""
    return (
        f"the sample is more than {settings.age_max_s:.15g} s older than the snapshot",
        f"the sample is more than {LATE_S} s newer than the snapshot",
        *(f"{name} is negative or not a number" for name in measured(table)),
    )


def judged(table: Table, rows: Arrow, bounds: Bounds) -> Ints:
    """Of each sample the index among `reasons`, NOBODY if it counts."""
    ts = times_of(rows)
    checks = [ts < bounds[0], ts > bounds[1], *(negative(rows.column(name)) for name in measured(table))]
    found = np.full(len(ts), NOBODY, np.int64)
    for at in reversed(range(len(checks))):
        found[checks[at]] = at
    return found


def times_of(rows: Arrow) -> Ints:
    """Microseconds since 1970."""
    return np.asarray(rows.column("ts").cast(pa.int64()).to_numpy(), np.int64)


def negative(column: Arrow) -> Bools:
    """Where a number is below 0, infinite or NaN; null is neither."""
    values = np.asarray(pc.fill_null(column, 0).to_numpy())
    return np.asarray((values < 0) | ~np.isfinite(values), np.bool_)


@attrs.define
class Refused:
    """Samples that do not count, as rows of RATES."""

    parts: list[Arrow] = attrs.field(factory=list)

    def add(self, rows: Arrow, found: Ints, texts: Sequence[str]) -> None:
        """`found`: of each sample the index of its reason among `texts`, NOBODY if it counts."""
        is_bad = found != NOBODY
        if not is_bad.any():
            return
        bad = rows.filter(pa.array(is_bad))
        ts, ids = times_of(bad), bad.column("broker_id")
        given = {name: bad.column(name) for name in ("topic", "partition") if name in bad.schema.names}
        if "partition" in given:
            ids = pc.if_else(pc.is_valid(given["partition"]), pa.scalar(None, ids.type), ids)
        given |= {"broker_id": ids, "reason": pa.array(texts).take(pa.array(found[is_bad])), "first_us": ts}
        self.parts.append(rates_of({**given, "last_us": ts, "samples": np.ones(len(ts), np.int64)}, len(ts)))
        if len(self.parts) >= _MERGED:
            self.parts = [self.table()]

    def table(self) -> Arrow:
        rows = pa.concat_tables([arrow_schema(RATES).empty_table(), *self.parts])
        sums = {"samples": "sum", "first_us": "min", "last_us": "max"}
        found = rows.group_by(list(PLACE)).aggregate([*sums.items()])
        return rates_of({n: found.column(f"{n}_{sums[n]}" if n in sums else n) for n in (*PLACE, *sums)}, len(found))


def rates_of(columns: dict[str, Arrow], count: int) -> Arrow:
    """Rows of RATES; columns that are not given are null, and numbers 0."""
    zeros = dict.fromkeys(("samples", "windows"), np.zeros(count, np.int64))
    nulls = {field.name: pa.nulls(count, field.type) for field in arrow_schema(RATES)}
    return from_columns(RATES, {**nulls, **zeros, **columns})


def reject(table: Table, refused: Arrow, rejects: Rejects) -> None:
    """Add the rows of RATES, which have a reason, to `rejects`: the first of each reason, and the number of the
    others. Raises BadInput for a null that the table must not have."""
    ordered = conform(RATES, refused, table.name).sort_by([(name, "ascending") for name in ("reason", *PLACE[:3])])
    for reason in pc.unique(ordered.column("reason")).to_pylist():
        rows = ordered.filter(pc.equal(ordered.column("reason"), reason))
        total = pc.sum(rows.column("samples")).as_py()
        if reason in {IS_NULL.format(name) for name in table.names}:
            raise BadInput(f"{table.name}: {reason} in {counted(total, 'row')}")
        for row in rows.slice(0, SHOWN_MAX).to_pylist():
            named = {name: row[name] for name in PLACE[:3] if row[name] is not None}
            if row["first_us"] is not None:
                named["ts"] = f"{np.datetime_as_string(np.datetime64(row['first_us'], 'us'), unit='s')}Z"
            rejects.add_samples(table.name, row["samples"], reason, **named)
            total -= row["samples"]
        if total:
            rejects.add_samples(table.name, total, reason)
