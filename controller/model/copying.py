"""How far copies are: bytes copied of bytes to copy, the rate, the remaining time, and which copy is the slowest.

The status page, `reassign-partitions --watch`, a submitted plan and the progress of a journal show these values.

Rules
* The remaining time is what is left divided by the rate: an estimate, which ignores what producers still write.
* `Rates` measures: a rate is the growth since the last reading that is at least `WINDOW_MS` old, or since the first
  one, divided by the time since then. It is unknown (None) until two readings are `SPAN_MS_MIN` apart.
* A size that shrinks, as it does after a truncation or by retention, counts as no growth.
* A copy that did not grow for `STALLED_MS` is stalled: its rate is 0, whatever the window still holds. One that has
  nothing left to copy is never stalled.
* Times are whole milliseconds of a monotonic clock, which the caller reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar

import attrs

WINDOW_MS: Final = 10_000
SPAN_MS_MIN: Final = 900
STALLED_MS: Final = 5_000

K = TypeVar("K", bound=Hashable)


@attrs.frozen
class Copy:
    """How far a copy is. `copied`, `to_copy`: bytes; `rate`: bytes per second. None where unknown."""

    copied: int | None
    to_copy: int | None
    rate: float | None = None
    is_stalled: bool = False

    @property
    def left(self) -> int | None:
        return None if self.copied is None or self.to_copy is None else max(0, self.to_copy - self.copied)

    @property
    def remaining_s(self) -> float | None:
        """Seconds until all is copied, at this rate; None where that is unknown or the copy is stalled."""
        if self.left == 0:
            return 0.0
        return None if self.left is None or not self.rate else self.left / self.rate


UNKNOWN: Final = Copy(None, None)


def together(copies: Iterable[Copy]) -> Copy:
    """The sum of copies, unknown where one of them is; stalled where one of them is."""
    all_copies = tuple(copies)
    copied, to_copy = _sum(c.copied for c in all_copies), _sum(c.to_copy for c in all_copies)
    rates = [c.rate for c in all_copies if c.rate is not None]
    rate = sum(rates) if rates else None
    return Copy(copied, to_copy, rate, any(c.is_stalled for c in all_copies))


def slowest_s(copies: Iterable[Copy]) -> float | None:
    """Seconds until the last of the copies is complete; None where one is stalled or unknown."""
    remaining = [copy.remaining_s for copy in copies]
    return None if None in remaining else max((s for s in remaining if s is not None), default=0.0)


def slowest(copies: Mapping[K, Copy]) -> K | None:
    """The copy that will be complete last: one that is stalled, or whose rate is unknown, else the one with the longest
    remaining time. None where all are complete."""
    late = {key: copy for key, copy in copies.items() if copy.left != 0}

    def lateness(key: K) -> tuple[bool, float, int]:
        remaining_s = late[key].remaining_s
        return remaining_s is None, remaining_s or 0.0, late[key].left or 0

    return max(late, key=lateness, default=None)


def _sum(values: Iterable[int | None]) -> int | None:
    found = list(values)
    return None if None in found else sum(value for value in found if value is not None)


@attrs.define
class _Grown:
    """One copy: its last size, all growth so far, when it last grew, and the readings in the window."""

    size: int
    since_ms: int
    grown: int = 0
    readings: deque[tuple[int, int]] = attrs.field(factory=deque)

    def read(self, now_ms: int, size: int) -> None:
        if size > self.size:
            self.grown += size - self.size
            self.since_ms = now_ms
        self.size = size
        self.readings.append((now_ms, self.grown))
        while len(self.readings) > 2 and self.readings[1][0] <= now_ms - WINDOW_MS:
            self.readings.popleft()

    @property
    def is_still(self) -> bool:
        return self.readings[-1][0] - self.since_ms >= STALLED_MS

    def rate(self) -> float | None:
        (first_ms, first), (last_ms, last) = self.readings[0], self.readings[-1]
        if last_ms - first_ms < SPAN_MS_MIN:
            return None
        return 0.0 if self.is_still else (last - first) * 1000 / (last_ms - first_ms)


class Rates(Generic[K]):
    """The rates of copies, by any key. A copy that a reading does not name is forgotten. Not thread-safe."""

    def __init__(self) -> None:
        self._copies: dict[K, _Grown] = {}
        self.grown = 0
        """Bytes by which all copies grew since the first reading, those that were forgotten included."""

    def read(self, now_ms: int, sizes: Mapping[K, int]) -> None:
        for gone in self._copies.keys() - sizes.keys():
            del self._copies[gone]
        for key, size in sizes.items():
            copy = self._copies.setdefault(key, _Grown(size, now_ms))
            before = copy.grown
            copy.read(now_ms, size)
            self.grown += copy.grown - before

    def copy(self, key: K, to_copy: int | None) -> Copy:
        """The copy as it was read last. `to_copy`: how large it is when it is complete."""
        found = self._copies.get(key)
        if found is None:
            return Copy(None, to_copy)
        copied = found.size if to_copy is None else min(found.size, to_copy)
        is_complete = to_copy is not None and copied >= to_copy
        return Copy(copied, to_copy, found.rate(), found.is_still and not is_complete)


class Copies(Generic[K]):
    """Copies from their start until they are complete, by any key. Not thread-safe."""

    def __init__(self) -> None:
        self._rates: Rates[K] = Rates()
        self._sizes: dict[K, int] = {}
        self._to_copy: dict[K, int | None] = {}

    def read(self, now_ms: int, running: Mapping[K, tuple[int | None, int | None]]) -> dict[K, Copy]:
        """Each copy that was named so far, as it is now. `running`: the copies that are not complete, with their size
        and that of the leader in bytes. An unknown size (None) is as at the last reading."""
        for key, (size, to_copy) in running.items():
            self._to_copy[key] = self._to_copy.get(key) if to_copy is None else to_copy
            if size is not None:
                self._sizes[key] = size
        complete = {key: to_copy for key, to_copy in self._to_copy.items() if key not in running}
        self._sizes |= {key: to_copy for key, to_copy in complete.items() if to_copy is not None}
        self._rates.read(now_ms, self._sizes)
        return {key: self._rates.copy(key, to_copy) for key, to_copy in self._to_copy.items()}
