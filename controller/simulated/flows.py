"""The bytes that flow between brokers, counted where they flow: out of a leader and into a follower.

The quotas are not used for this, so that they can be checked against it. A family's bytes are those of the replicas to
which it applies, limited or not; bytes without a family are all copied ones. Brokers meter them, too, by
`kedge.controller.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise

import attrs

from ..metrics import BrokerMeters
from ..quota import Family, Side

WINDOW_MS = 11_000

_Place = tuple[int, Side, Family | None]


@attrs.define(eq=False)
class Flow:
    """The flow on one side of one broker since the watch began, step by step. `family` None: all copied bytes."""

    broker: int
    side: Side
    family: Family | None
    points: list[tuple[int, int]]  # time in ms, bytes so far

    @property
    def bytes(self) -> int:
        """Bytes since the watch began."""
        return self.points[-1][1] - self.points[0][1]

    def rate(self, window_ms: int = WINDOW_MS) -> float:
        """Bytes per second in the last `window_ms`, or since the watch began if that is shorter."""
        end_ms, end = self.points[-1]
        begin_ms, begin = next(point for point in self.points if point[0] >= end_ms - window_ms)
        return (end - begin) * 1000 / (end_ms - begin_ms) if end_ms > begin_ms else 0.0

    def rates(self, window_ms: int = WINDOW_MS, *, after_ms: int = 0) -> list[float]:
        """Bytes per second of every window of that length, one from each step that is `after_ms` after the begin."""
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
        """The longest time without any byte, in ms."""
        longest = since_ms = 0
        for (at_ms, before), (then_ms, after) in pairwise(self.points):
            since_ms = 0 if after > before else since_ms + then_ms - at_ms
            longest = max(longest, since_ms)
        return longest


class Flows:
    """All flows of a cluster. Totals are always counted, steps only of what is watched. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._meters: dict[int, BrokerMeters] = {}
        self._totals: dict[_Place, int] = {}
        self._watched: list[Flow] = []

    def count(self, broker: int, side: Side, families: Collection[Family], copied: int) -> None:
        """Count `copied` bytes out of a leader or into a follower, to which `families` apply."""
        for family in (None, *families):
            place = (broker, side, family)
            self._totals[place] = self._totals.get(place, 0) + copied
        if families:
            meters = self.meters(broker)
            record = meters.sent if side == "leader" else meters.received
            record(copied, reassignment="reassignment" in families, throttled_by=families)

    def meters(self, broker: int) -> BrokerMeters:
        if broker not in self._meters:
            self._meters[broker] = BrokerMeters(broker, self._clock)
        return self._meters[broker]

    def bytes(self, broker: int, side: Side, family: Family | None = None) -> int:
        return self._totals.get((broker, side, family), 0)

    def watch(self, now_ms: int, broker: int, side: Side, family: Family | None) -> Flow:
        """The flow there from now on."""
        flow = Flow(broker, side, family, [(now_ms, self.bytes(broker, side, family))])
        self._watched.append(flow)
        return flow

    def step(self, now_ms: int) -> None:
        for flow in self._watched:
            flow.points.append((now_ms, self.bytes(flow.broker, flow.side, flow.family)))
