"""Meters that a broker feeds with the bytes that it really copied or gave (KIP-542), and their rates under a throttle.

Whoever copies decides what the bytes are: `reassignment` where the replica that fetches is in T and not in the isr,
`throttled_by` each family of throttles that the replica is under. A meter never reckons from a setting. Thread-safe,
since fetchers are threads; time comes from a clock callable of the host's (seconds that never go back).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from controller.metrics import definitions as d
from controller.metrics.snapshot import MeterValue, Sample, Snapshot
from controller.quota import Family, RateWindow, Side


class Meter:
    """All bytes ever, and a rate over the window of the replication quota (`controller.quota.RateWindow`): of what
    flowed, and not of what is allowed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._window = RateWindow()

    def record(self, n_bytes: int, now_s: float) -> None:
        """So many bytes went by now. A clock that went back counts as one that stands still. TypeError, ValueError for
        what is no number of bytes."""
        if type(n_bytes) is not int:
            raise TypeError(f"bytes are an int, not {n_bytes!r:.80}")
        if n_bytes < 0:
            raise ValueError(f"bytes are not negative: {n_bytes}")
        with self._lock:
            self._count += n_bytes
            self._window.record(n_bytes, _ms(now_s))

    def value(self, now_s: float) -> MeterValue:
        """As it stands now."""
        with self._lock:
            return MeterValue(self._count, self._window.rate(_ms(now_s)))


def _ms(now_s: float) -> int:
    return int(now_s * 1000)


class BrokerMeters:
    """The meters of one broker. `clock`: seconds that never go back, as `time.monotonic`.

    A follower calls `received` for what it copied, a leader `sent` for what it gave to one; `metrics` is a source for
    `controller.metrics.prometheus.ControllerCollector` beside `Controller.metrics`.
    """

    def __init__(self, broker_id: int, clock: Callable[[], float]) -> None:
        self._broker_id = broker_id
        self._clock = clock
        self._reassignment: dict[Side, Meter] = {"follower": Meter(), "leader": Meter()}
        self._throttled: dict[tuple[Side, Family], Meter] = {key: Meter() for key in _RATES}

    def received(self, n_bytes: int, *, reassignment: bool = False, throttled_by: Iterable[Family] = ()) -> None:
        """The broker copied so many bytes from a leader. Bytes under both families count in both."""
        self._record("follower", n_bytes, reassignment, throttled_by)

    def sent(self, n_bytes: int, *, reassignment: bool = False, throttled_by: Iterable[Family] = ()) -> None:
        """The broker, as leader, gave so many bytes to a follower."""
        self._record("leader", n_bytes, reassignment, throttled_by)

    def _record(self, side: Side, n_bytes: int, reassignment: bool, throttled_by: Iterable[Family]) -> None:  # noqa: FBT001
        now_s = self._clock()
        meters = [self._throttled[side, family] for family in throttled_by]
        if reassignment:
            meters.append(self._reassignment[side])
        for meter in meters:
            meter.record(n_bytes, now_s)

    def metrics(self) -> Snapshot:
        """What flowed until now."""
        now_s, broker = self._clock(), str(self._broker_id)
        samples = [
            Sample(d.REASSIGNMENT_IN, self._reassignment["follower"].value(now_s), broker),
            Sample(d.REASSIGNMENT_OUT, self._reassignment["leader"].value(now_s), broker),
        ]
        for key, metric in _RATES.items():
            samples.append(Sample(metric, self._throttled[key].value(now_s).per_second, broker))
        return Snapshot(samples, ("broker_id", broker))


_RATES: Final[dict[tuple[Side, Family], d.Metric]] = {
    ("leader", "replication"): d.LEADER_REPLICATION,
    ("follower", "replication"): d.FOLLOWER_REPLICATION,
    ("leader", "reassignment"): d.LEADER_REASSIGNMENT,
    ("follower", "reassignment"): d.FOLLOWER_REASSIGNMENT,
}
