"""What a controller measures of itself: how long events wait and take, what commits cost, how callbacks go.

Observed on the loop's thread alone, by the clock of the runtime (a simulation's stands where it is put). Whoever asks
gets `seen`, which is replaced as a whole at the end of a pass: any thread may look, and neither side takes a lock.
Of an event only its times are taken while a batch is decided; they fall into buckets together, afterwards: a call for
each of them and each histogram was most of what metrics cost.
A histogram has fixed buckets, so its memory is bounded whatever happens; there is one pair for each kind of event that
was decided, and one for each broker that was called. All of it counts from the making of the controller, through all
its terms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

import attrs

from controller.model.frozen import sealed
from controller.runtime.clock import Clock
from controller.runtime.jobs import Job
from stores.base import Op, Put

MS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
OPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
BYTES: Final = tuple(4**n for n in range(3, 13))  # 64 bytes to 16 MiB


@sealed
class HistogramValue:
    """How often a value fell into each bucket. `bounds`: the highest value of each, included, the last bucket has none;
    `counts`: one more than there are bounds; `total`: the sum of all values."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """None where there was no value."""
        return self.total / self.count if self.count else None

    def cumulative(self) -> list[tuple[float, int]]:
        """Bound, and how many values are not above it; the last bound is infinity."""
        return list(zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True))

    def quantile(self, share: float) -> float | None:
        """A bound that at least `share` (0..1) of the values do not exceed; None where there was no value."""
        if not 0 <= share <= 1:
            raise ValueError(f"share is within 0..1, not {share}")
        count = self.count
        return next((bound for bound, below in self.cumulative() if below >= share * count), None) if count else None


class Histogram:
    """Counts by fixed buckets."""

    __slots__ = ("_bounds", "_counts", "_seen", "_total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0
        self._seen: HistogramValue | None = None

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value
        self._seen = None

    def observe_all(self, values: Sequence[float]) -> None:
        bounds, counts = self._bounds, self._counts
        for value in values:
            counts[bisect_left(bounds, value)] += 1
        self._total += sum(values)
        self._seen = None

    def value(self) -> HistogramValue:
        """As it stands; the same object until something is observed."""
        if self._seen is None:
            self._seen = HistogramValue(self._bounds, tuple(self._counts), self._total)
        return self._seen


@attrs.frozen
class Seen:
    """What was measured until the end of a pass. `queued`, `processed`: by kind of event; `rounds`, `failed`: by
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
    """The measures of one controller."""

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
        self.seen = self._see()

    # --- events

    def deciding(self) -> None:
        """A batch begins."""
        self._at_s = self.now_s()

    def decided(self, jobs: Iterable[Job], ended_s: Iterable[float]) -> None:
        """The jobs of a batch were decided and applied, one after the other since `deciding`: each at its time of
        `ended_s`. One that does not know since when it waited came just then."""
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
        """A commit goes out."""
        self._commit_at_s = self.now_s()

    def committed(self, ops: Iterable[Op]) -> None:
        """It stands, and these are its ops, without the two that fence it."""
        ops = tuple(ops)
        self._commit_ops.observe(len(ops))
        self._commit_bytes.observe(sum([len(op.value) for op in ops if type(op) is Put]))
        self._commit_ms.observe((self.now_s() - self._commit_at_s) * 1000)

    def conflicted(self) -> None:
        """Somebody else was faster at one of its keys."""
        self._conflicts += 1

    # --- callbacks

    def called(self, broker: int, started_ms: int, *, failed: bool) -> None:
        """A round of callbacks to a broker, handed out at `started_ms` (`elapsed_ms`), came back."""
        if broker not in self._rounds:
            self._rounds[broker], self._failed[broker] = Histogram(MS), 0
        self._rounds[broker].observe(max(0.0, self.now_s() * 1000 - started_ms))
        self._failed[broker] += failed

    # --- what others see

    def publish(self) -> None:
        """What was measured until now can be seen."""
        self.seen = self._see()

    def _see(self) -> Seen:
        kinds = {kind.__name__: pair for kind, pair in self._kinds.items()}
        return Seen(
            {name: queued.value() for name, (queued, _) in kinds.items()},
            {name: processed.value() for name, (_, processed) in kinds.items()},
            self._commit_ops.value(),
            self._commit_bytes.value(),
            self._commit_ms.value(),
            self._conflicts,
            {broker: times.value() for broker, times in self._rounds.items()},
            dict(self._failed),
        )


class Unmeasured(Measures):
    """Nothing is measured, and no time is taken for it."""

    is_kept = False

    def deciding(self) -> None:
        """Nobody asks."""

    def decided(self, jobs: Iterable[Job], ended_s: Iterable[float]) -> None:
        """Nobody asks."""

    def committing(self) -> None:
        """Nobody asks."""

    def committed(self, ops: Iterable[Op]) -> None:
        """Nobody asks."""

    def conflicted(self) -> None:
        """Nobody asks."""

    def called(self, broker: int, started_ms: int, *, failed: bool) -> None:
        """Nobody asks."""

    def publish(self) -> None:
        """Nobody asks."""
