"""Samples -> sums per place and window -> a rate of each place.

* A place is the index of whatever was sampled. Each array of rates has two rows: in and out, bytes per second; NaN is
  unknown.
* Sums of parts are added in any order and give the same bits, as samples are rounded to 1/1024 byte per second first.
* A window is kept as arrays over all places until `close` says that no more samples of it follow. Then only what its
  statistic needs is kept. So memory is places x open windows, and for `p95` also the means of all windows.
* An array operation per batch takes a third of the time of Arrow's `group_by` over the same rows.
"""

from __future__ import annotations

import math
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..kernel.cluster import Bools, Floats, Ints
from .arrays import stepped

MEAN: Final = "mean"  # of the means of the windows
P95: Final = "p95"  # the smallest mean of a window that 95 % of the windows do not exceed
MAX: Final = "max"  # the largest sample
STATISTICS: Final = (MEAN, P95, MAX)
_PERCENT: Final = 95
_PLACES: Final = 1 << 11  # whose means are sorted at once


def check_statistic(statistic: str, growth: float) -> None:
    """Raises BadInput for an unknown statistic, or a growth that is not a number above 0."""
    if statistic not in STATISTICS:
        raise BadInput(f"statistic: expected one of {', '.join(STATISTICS)}, got {statistic!r:.80}")
    if not 0 < growth < math.inf:
        raise BadInput(f"growth: expected a number above 0, got {growth}")


@attrs.frozen(eq=False)
class Partials:
    """C cells, each a place in a window, by window and place. `counts`: of the known rates; `peaks`: -inf if there are
    none."""

    place: Ints  # C
    window: Ints  # C
    sums: Floats  # 2 x C
    counts: Ints  # 2 x C
    peaks: Floats  # 2 x C


def partials(place: Ints, window: Ints, rates: Floats, places: int) -> Partials:
    """The cells of N samples; `rates` is 2 x N."""
    cells, cell = np.unique(window * places + place, return_inverse=True)
    shape = (2, len(cells))
    sums, counts, peaks = np.zeros(shape), np.zeros(shape, np.int64), np.full(shape, -np.inf)
    for k, values in enumerate(rates):
        known = np.isfinite(values)
        of, rounded = cell[known], stepped(values[known])
        sums[k] = np.bincount(of, rounded, len(cells))
        counts[k] = np.bincount(of, minlength=len(cells))
        np.maximum.at(peaks[k], of, rounded)
    return Partials(cells % places, cells // places, sums, counts, peaks)


@attrs.define
class _Open:
    """Of one window, by place: whether there is a sample, and sums, or maxima, and counts of known rates, 2 x N."""

    seen: Bools
    values: Floats
    counts: npt.NDArray[np.int32]

    @classmethod
    def over(cls, places: int) -> _Open:
        return cls(np.zeros(places, np.bool_), np.zeros((2, places)), np.zeros((2, places), np.int32))


class Windows:
    """What N places add up to in all windows."""

    def __init__(self, places: int, statistic: str = MEAN) -> None:
        self._places, self._statistic = places, statistic
        self._open: dict[int, _Open] = {}
        self._seen, self._count = np.zeros(places, np.int64), np.zeros((2, places), np.int64)
        self._total = np.zeros((2, places)) if statistic == MEAN else np.full((2, places), np.nan)
        self._means: list[Floats] = []  # of each window, 2 x N

    def add(self, found: Partials) -> None:
        """Add cells of windows that are not closed."""
        merge, values = (np.maximum, found.peaks) if self._statistic == MAX else (np.add, found.sums)
        windows, starts = np.unique(found.window, return_index=True)
        ends = np.append(starts, len(found.window))[1:]
        for window, start, end in zip(windows.tolist(), starts, ends, strict=True):
            if window not in self._open:
                self._open[window] = _Open.over(self._places)
            one, at = self._open[window], found.place[start:end]
            one.seen[at] = True
            one.values[:, at] = merge(one.values[:, at], values[:, start:end])
            one.counts[:, at] += found.counts[:, start:end].astype(np.int32)

    def close(self, before: float) -> None:
        """No samples of windows below `before` follow."""
        for window in sorted(window for window in self._open if window < before):
            one = self._open.pop(window)
            known = one.counts > 0
            rates = one.values if self._statistic == MAX else stepped(one.values / np.maximum(one.counts, 1))
            self._seen += one.seen
            if self._statistic == MEAN:
                self._total += np.where(known, rates, 0)
                self._count += known
            elif self._statistic == MAX:
                self._total = np.fmax(self._total, np.where(known, rates, np.nan))
            else:
                self._means.append(np.where(known, rates, np.nan))

    def rates(self) -> tuple[Floats, Ints]:
        """The rate of each place, 2 x N, and the number of its windows with a sample."""
        self.close(math.inf)
        if self._statistic == MEAN:
            return np.where(self._count > 0, self._total / np.maximum(self._count, 1), np.nan), self._seen
        for low in range(0, self._places if self._means else 0, _PLACES):
            ranked = np.sort(np.stack([means[:, low : low + _PLACES] for means in self._means]), axis=0)  # NaN last
            rank = (np.isfinite(ranked).sum(axis=0, keepdims=True) * _PERCENT + 99) // 100 - 1
            self._total[:, low : low + _PLACES] = np.take_along_axis(ranked, np.maximum(rank, 0), axis=0)[0]
        return self._total, self._seen
