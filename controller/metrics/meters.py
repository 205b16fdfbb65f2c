"""Meters that a broker feeds with the bytes that it actually copied or sent (KIP-542), and their rates under a
throttle.

The caller says what the bytes are: `reassignment` if the fetching replica is in T and not in the ISR, `throttled_by`
the families of throttles that apply to the replica. A meter does not depend on configs. Thread-safe, since fetchers are
threads; the host gives the clock (monotonic seconds).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from ..quota import Family, RateWindow, Side
from . import definitions as d
from .snapshot import MeterValue, Sample, Snapshot


class Meter:
    """The total of bytes, and their rate over the window of the replication quota
    (`kedge.controller.quota.RateWindow`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._window = RateWindow()

    def record(self, n_bytes: int, now_s: float) -> None:
        """Add bytes. A clock that goes back counts as one that stands still. TypeError, ValueError if `n_bytes` is not
        a number of bytes."""
        if type(n_bytes) is not int:
            raise TypeError(f"n_bytes must be an int, not {n_bytes!r:.80}")
        if n_bytes < 0:
            raise ValueError(f"n_bytes must not be negative: {n_bytes}")
        with self._lock:
            self._count += n_bytes
            self._window.record(n_bytes, _ms(now_s))

    def value(self, now_s: float) -> MeterValue:
        """The present value."""
        with self._lock:
            return MeterValue(self._count, self._window.rate(_ms(now_s)))


def _ms(now_s: float) -> int:
    return int(now_s * 1000)


class BrokerMeters:
    """The meters of one broker. `clock`: monotonic seconds, as `time.monotonic`.

    A follower calls `received` for what it copied, a leader `sent` for what it sent to a follower. `metrics` is a
    source for `kedge.controller.metrics.prometheus.ControllerCollector` beside `Controller.metrics`.
    """

    def __init__(self, broker_id: int, clock: Callable[[], float]) -> None:
        self._broker_id = broker_id
        self._clock = clock
        self._reassignment: dict[Side, Meter] = {"follower": Meter(), "leader": Meter()}
        self._throttled: dict[tuple[Side, Family], Meter] = {key: Meter() for key in _RATES}

    def received(self, n_bytes: int, *, reassignment: bool = False, throttled_by: Iterable[Family] = ()) -> None:
        """The broker copied bytes from a leader. Bytes under both families count in both."""
        self._record("follower", n_bytes, reassignment, throttled_by)

    def sent(self, n_bytes: int, *, reassignment: bool = False, throttled_by: Iterable[Family] = ()) -> None:
        """The broker, as leader, sent bytes to a follower."""
        self._record("leader", n_bytes, reassignment, throttled_by)

    def _record(self, side: Side, n_bytes: int, reassignment: bool, throttled_by: Iterable[Family]) -> None:  # noqa: FBT001
        now_s = self._clock()
        meters = [self._throttled[side, family] for family in throttled_by]
        if reassignment:
            meters.append(self._reassignment[side])
        for meter in meters:
            meter.record(n_bytes, now_s)

    def metrics(self) -> Snapshot:
        """The present values."""
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
