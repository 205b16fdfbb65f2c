"""Measurements of a controller: how long events wait and take, what commits cost, how callbacks perform.

Only the loop's thread measures, by the runtime's clock (in a simulation, a virtual one). Readers of any thread get
copies (`seen`), without a lock.
While a batch is decided, only times are taken; they are put into buckets together afterwards: a call per event and
histogram was most of the cost of metrics.
Histograms have fixed buckets, so memory is bounded; there is a pair for each kind of event, and one for each broker.
All values count from the creation of the controller, over all its terms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

import attrs

from ...stores.base import Op, Put
from .clock import Clock
from .jobs import Job

MS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
OPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
BYTES: Final = tuple(4**n for n in range(3, 13))  # 64 bytes to 16 MiB


@attrs.frozen
class HistogramValue:
    """How often a value fell into each bucket. `bounds`: the highest value of each bucket, inclusive; the last bucket
    has none. `counts`: one more than bounds. `total`: the sum of all values."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """None if there is no value."""
        return self.total / self.count if self.count else None

    def cumulative(self) -> list[tuple[float, int]]:
        """Each bound with the number of values up to it; the last bound is infinity."""
        return list(zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True))

    def quantile(self, share: float) -> float | None:
        """A bound that at least `share` (0..1) of the values do not exceed; None if there is no value."""
        if not 0 <= share <= 1:
            raise ValueError(f"share must be within 0..1, not {share}")
        count = self.count
        return next((bound for bound, below in self.cumulative() if below >= share * count), None) if count else None


class Histogram:
    """Counts in fixed buckets."""

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def observe_all(self, values: Sequence[float]) -> None:
        bounds, counts = self._bounds, self._counts
        for value in values:
            counts[bisect_left(bounds, value)] += 1
        self._total += sum(values)

    def value(self) -> HistogramValue:
        return HistogramValue(self._bounds, tuple(self._counts), self._total)


@attrs.frozen
class Seen:
    """The measurements so far. `queued`, `processed`: by kind of event; `rounds`, `failed`: by
    broker."""

    queued: Mapping[str, HistogramValue]
    processed: Mapping[str, HistogramValue]
    commit_ops: HistogramValue
    commit_bytes: HistogramValue
    commit_ms: HistogramValue
    conflicts: int
    rounds: Mapping[int, HistogramValue]
    failed: Mapping[int, int]


class Measures:
    is_kept = True

    def __init__(self, clock: Clock) -> None:
        self.now_s: Final = clock.monotonic_s
        self._kinds: dict[type, tuple[Histogram, Histogram]] = {}
        self._commit_ops = Histogram(OPS)
        self._commit_bytes = Histogram(BYTES)
        self._commit_ms = Histogram(MS)
        self._conflicts = 0
        self._rounds: dict[int, Histogram] = {}
        self._failed: dict[int, int] = {}
        self._at_s = self._commit_at_s = 0.0

    # --- events

    def deciding(self) -> None:
        """A batch begins."""
        self._at_s = self.now_s()

    def decided(self, jobs: Iterable[Job], ended_s: Iterable[float]) -> None:
        """The jobs of a batch were decided and applied one after the other since `deciding`, each at its time in
        `ended_s`. A job without a time of arrival counts as new."""
        times: dict[type, tuple[list[float], list[float]]] = {}
        queued: list[float] = []
        processed: list[float] = []
        last: type | None = None
        began_s = self._at_s
        for job, at_s in zip(jobs, ended_s, strict=True):
            kind, since_s = type(job.event), job.since_s
            if kind is not last:
                queued, processed = times.setdefault(kind, ([], []))
                last = kind
            queued.append(0.0 if since_s is None or since_s > began_s else (began_s - since_s) * 1000)
            processed.append((at_s - began_s) * 1000)
            began_s = at_s
        for kind, (queued, processed) in times.items():
            if kind not in self._kinds:
                self._kinds[kind] = (Histogram(MS), Histogram(MS))
            self._kinds[kind][0].observe_all(queued)
            self._kinds[kind][1].observe_all(processed)

    # --- commits

    def committing(self) -> None:
        """A commit is sent."""
        self._commit_at_s = self.now_s()

    def committed(self, ops: Iterable[Op]) -> None:
        """It was applied. `ops`: its ops without the two of the fence."""
        ops = tuple(ops)
        self._commit_ops.observe(len(ops))
        self._commit_bytes.observe(sum([len(op.value) for op in ops if type(op) is Put]))
        self._commit_ms.observe((self.now_s() - self._commit_at_s) * 1000)

    def conflicted(self) -> None:
        """Another program changed one of its keys first."""
        self._conflicts += 1

    # --- callbacks

    def called(self, broker: int, started_ms: int, *, failed: bool) -> None:
        """A round of callbacks to a broker, started at `started_ms` (`elapsed_ms`), has returned."""
        if broker not in self._rounds:
            self._rounds[broker], self._failed[broker] = Histogram(MS), 0
        self._rounds[broker].observe(max(0.0, self.now_s() * 1000 - started_ms))
        self._failed[broker] += failed

    def forget(self, broker: int) -> None:
        self._rounds.pop(broker, None)
        self._failed.pop(broker, None)

    # --- what readers see

    @property
    def seen(self) -> Seen:
        """Everything measured so far. Any thread may call it: each copy is atomic, but a batch may be counted in one
        histogram and not yet in the next."""
        kinds = [(kind.__name__, pair) for kind, pair in list(self._kinds.items())]
        return Seen(
            {name: queued.value() for name, (queued, _) in kinds},
            {name: processed.value() for name, (_, processed) in kinds},
            self._commit_ops.value(),
            self._commit_bytes.value(),
            self._commit_ms.value(),
            self._conflicts,
            {broker: times.value() for broker, times in list(self._rounds.items())},
            dict(self._failed),
        )


class Unmeasured(Measures):
    """Measures nothing, and takes no time."""

    is_kept = False

    def deciding(self) -> None:
        """Does nothing."""

    def decided(self, jobs: Iterable[Job], ended_s: Iterable[float]) -> None:
        """Does nothing."""

    def committing(self) -> None:
        """Does nothing."""

    def committed(self, ops: Iterable[Op]) -> None:
        """Does nothing."""

    def conflicted(self) -> None:
        """Does nothing."""

    def called(self, broker: int, started_ms: int, *, failed: bool) -> None:
        """Does nothing."""
