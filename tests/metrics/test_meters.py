"""Meters: bytes that were recorded, all of them and over the last samples."""

from __future__ import annotations

import threading

import pytest

from kedge import BrokerMeters, Meter
from kedge.controller.metrics import MeterValue, Value

IN = "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec,broker-id=3"
OUT = "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesOutPerSec,broker-id=3"


def byte_rate(kind: str) -> str:
    return f"kafka.server:type={kind},name=byte-rate,broker-id=3"


class Hand:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def count(value: Value) -> int:
    assert isinstance(value, MeterValue)
    return value.count


@pytest.mark.checklist(180)
def test_the_meters_of_reassignments_grow_with_nothing_else() -> None:
    """Each on its side: what was copied in, and what was given out."""
    meters = BrokerMeters(3, Hand())
    meters.received(1_000)
    meters.sent(1_000, throttled_by=["replication"])
    assert [count(meters.metrics()[key]) for key in (IN, OUT)] == [0, 0]
    meters.received(700, reassignment=True)
    meters.sent(30, reassignment=True, throttled_by=["reassignment"])
    assert [count(meters.metrics()[key]) for key in (IN, OUT)] == [700, 30]


@pytest.mark.checklist(181)
def test_throttled_rate_is_published_by_side_and_family() -> None:
    """1,000 bytes a second that flow under a throttle are 1,000 bytes a second; under both they count in both."""
    clock = Hand()
    meters = BrokerMeters(3, clock)
    for _ in range(40):
        clock.now_s += 0.5
        meters.received(500, throttled_by=["reassignment", "replication"])
        meters.received(10_000)
        meters.sent(200, throttled_by=["replication"])
    clock.now_s += 0.5
    now = meters.metrics()
    assert now[byte_rate("FollowerReassignment")] == pytest.approx(1_000, rel=0.05)
    assert now[byte_rate("FollowerReplication")] == pytest.approx(1_000, rel=0.05)
    assert now[byte_rate("LeaderReplication")] == pytest.approx(400, rel=0.05)
    assert now[byte_rate("LeaderReassignment")] == 0


def test_a_rate_goes_to_nothing_within_the_window_and_the_count_stays() -> None:
    meter = Meter()
    meter.record(11_000, 100.2)
    assert meter.value(100.2).per_second == pytest.approx(1_100)
    assert meter.value(110.9).per_second > 0
    assert meter.value(111.2) == MeterValue(11_000, 0)


def test_a_clock_that_goes_back_stands_still() -> None:
    meter = Meter()
    meter.record(100, 50.5)
    meter.record(100, 10)
    assert meter.value(0) == MeterValue(200, 20)


@pytest.mark.parametrize("n_bytes,error", [(-1, ValueError), (1.5, TypeError), (True, TypeError), ("1", TypeError)])
def test_what_is_no_number_of_bytes_is_refused(n_bytes: object, error: type[Exception]) -> None:
    meter = Meter()
    with pytest.raises(error, match="n_bytes must"):
        meter.record(n_bytes, 0)  # type: ignore[arg-type]
    assert meter.value(0).count == 0


def test_threads_that_record_at_once_lose_nothing() -> None:
    meters = BrokerMeters(3, Hand())

    def copy() -> None:
        for _ in range(2_000):
            meters.received(1, reassignment=True)

    threads = [threading.Thread(target=copy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert count(meters.metrics()[IN]) == 8_000
