"""How many bytes flowed between brokers, counted where they flow: as they go out of a leader and come into a follower.

What the quotas believe is no source here, so that the one can be held against the other. A family's bytes are those of
replicas that it holds, limited or not; those of no family are all that was copied. Brokers meter them, too, as
`controller.metrics` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise

import attrs

from controller.metrics import BrokerMeters
from controller.quota import Family, Side

WINDOW_MS = 11_000

_Place = tuple[int, Side, Family | None]


@attrs.define(eq=False)
class Flow:
    """What flowed on one side of one broker since it is watched, step by step. `family` None: all that was copied."""

    broker: int
    side: Side
    family: Family | None
    points: list[tuple[int, int]]  # when, how many bytes so far

    @property
    def bytes(self) -> int:
        """So many since it is watched."""
        return self.points[-1][1] - self.points[0][1]

    def rate(self, window_ms: int = WINDOW_MS) -> float:
        """Bytes a second in the last `window_ms`, or since it is watched if that is shorter."""
        end_ms, end = self.points[-1]
        begin_ms, begin = next(point for point in self.points if point[0] >= end_ms - window_ms)
        return (end - begin) * 1000 / (end_ms - begin_ms) if end_ms > begin_ms else 0.0

    def rates(self, window_ms: int = WINDOW_MS, *, after_ms: int = 0) -> list[float]:
        """Bytes a second of every window of that length, beginning at each step `after_ms` after it was watched."""
        found, place = [], 0
        points = [point for point in self.points if point[0] >= self.points[0][0] + after_ms]
        for begin_ms, begin in points:
            while place < len(points) and points[place][0] < begin_ms + window_ms:
                place += 1
            if place == len(points):
                break
            found.append((points[place][1] - begin) * 1000 / (points[place][0] - begin_ms))
        return found

    def silent_ms(self) -> int:
        """The longest time in which nothing flowed."""
        longest = since_ms = 0
        for (at_ms, before), (then_ms, after) in pairwise(self.points):
            since_ms = 0 if after > before else since_ms + then_ms - at_ms
            longest = max(longest, since_ms)
        return longest


class Flows:
    """All that flowed in a cluster. Totals are always counted, steps only of what is watched. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._meters: dict[int, BrokerMeters] = {}
        self._totals: dict[_Place, int] = {}
        self._watched: list[Flow] = []

    def count(self, broker: int, side: Side, families: Collection[Family], copied: int) -> None:
        """`copied` bytes went out of a leader or came into a follower, held by `families`."""
        for family in (None, *families):
            place = (broker, side, family)
            self._totals[place] = self._totals.get(place, 0) + copied
        if families:
            meters = self.meters(broker)
            record = meters.sent if side == "leader" else meters.received
            record(copied, reassignment="reassignment" in families, throttled_by=families)

    def meters(self, broker: int) -> BrokerMeters:
        """What a broker tells of itself in numbers."""
        if broker not in self._meters:
            self._meters[broker] = BrokerMeters(broker, self._clock)
        return self._meters[broker]

    def bytes(self, broker: int, side: Side, family: Family | None = None) -> int:
        """So many flowed so far."""
        return self._totals.get((broker, side, family), 0)

    def watch(self, now_ms: int, broker: int, side: Side, family: Family | None) -> Flow:
        """What flows there from now on."""
        flow = Flow(broker, side, family, [(now_ms, self.bytes(broker, side, family))])
        self._watched.append(flow)
        return flow

    def step(self, now_ms: int) -> None:
        """A step is over."""
        for flow in self._watched:
            flow.points.append((now_ms, self.bytes(flow.broker, flow.side, flow.family)))
