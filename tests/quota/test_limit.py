"""The window of a quota, its delay and its pace, against a clock that the test turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.quota import PACE_MS, SAMPLE_MS, SAMPLES, UNLIMITED, RateWindow, ReplicationQuota


class Clock:
    """Milliseconds, at first some of a process that runs for long."""

    def __init__(self) -> None:
        self.ms = 1_234_567

    def __call__(self) -> int:
        return self.ms


def _quota(limit: int) -> tuple[ReplicationQuota, Clock]:
    clock = Clock()
    return ReplicationQuota(clock, limit), clock


# --- the window


@pytest.mark.parametrize(
    "records,now_ms,rate",
    [
        ([], 0, 0),
        ([(0, 1000)], 0, 1000 / 10),
        ([(0, 1000)], 500, 1000 / 10.5),
        ([(0, 1000)], 999, 1000 / 10.999),
        ([(0, 1000)], 1_000, 1000 / 10),
        ([(0, 1000)], 10_999, 1000 / 10.999),
        ([(0, 1000)], 11_000, 0),
        ([(0, 1000), (999, 500)], 10_999, 1500 / 10.999),
        ([(0, 1000), (999, 500)], 11_000, 0),  # one sample: it goes as one
        ([(0, 1000), (1_000, 500)], 11_000, 500 / 10),
        ([(0, 1000), (1_700, 500), (2_699, 300)], 12_000, 800 / 10.3),  # a sample begins when something goes
        ([(second * 1000, 700) for second in range(30)], 29_999, 700 * 11 / 10.999),
    ],
)
def test_the_rate_is_that_of_kafkas_window(records: list[tuple[int, int]], now_ms: int, rate: float) -> None:
    window = RateWindow()
    for at_ms, count in records:
        window.record(count, at_ms)
    assert window.rate(now_ms) == pytest.approx(rate)


def test_a_clock_that_goes_back_counts_as_standing_still() -> None:
    window = RateWindow()
    window.record(1_000, 5_500)
    window.record(1_000, 3_000)
    assert (window.total(2_000), window.rate(5_500)) == (2_000, 200)


def test_what_went_cannot_be_less_than_nothing() -> None:
    quota, _ = _quota(10)
    with pytest.raises(ValueError, match="must not be negative: -1"):
        quota.record(-1)
    assert quota.rate() == 0


# --- the limit


def test_the_delay_is_the_time_after_which_it_is_not_exceeded_any_more() -> None:
    quota, clock = _quota(100)
    assert quota.delay() == 0
    quota.record(1_050)
    assert quota.delay() == 0.5
    clock.ms += 700
    assert quota.delay() == 0
    quota.record(950)
    assert quota.delay_ms() == 10_300  # until the sample is forgotten
    clock.ms += 600
    quota.record(900)
    assert quota.delay_ms() == 9_700
    clock.ms += 9_700
    assert quota.rate() == pytest.approx(900 / 10.7)


def test_without_a_limit_nothing_waits_and_the_rate_is_measured_all_the_same() -> None:
    quota, _ = _quota(UNLIMITED)
    quota.record(10**15)
    assert (quota.is_limited, quota.is_exceeded(), quota.delay_ms(), quota.allowance()) == (False, False, 0, UNLIMITED)
    assert quota.rate() == 10**14


@pytest.mark.parametrize("limit", [0, -1, UNLIMITED + 1])
def test_a_limit_that_is_none_is_refused_and_the_former_stays(limit: int) -> None:
    quota, _ = _quota(100)
    with pytest.raises(ValueError, match="1 to 2\\^63-1"):
        quota.limit = limit
    assert quota.limit == 100


def test_a_limit_that_is_changed_holds_at_once_for_what_went_already() -> None:
    quota, _ = _quota(100)
    quota.record(1_000)
    quota.limit = 99
    assert quota.is_exceeded()
    assert quota.delay_ms() == 102
    quota.limit = UNLIMITED
    assert not quota.is_exceeded()
    assert quota.rate() == 100
    quota.limit = 1_000
    assert not quota.is_exceeded()


# --- the pace


def test_what_may_go_is_what_the_limit_gives_for_the_time_and_a_quarter_of_a_second_at_most() -> None:
    quota, clock = _quota(10_000)
    assert quota.allowance() == 0
    clock.ms += 10
    assert quota.allowance() == 100
    clock.ms += 10_000
    assert quota.allowance() == 10_000 * PACE_MS // 1000


def test_what_went_ahead_of_the_pace_is_waited_for() -> None:
    quota, clock = _quota(1_000)
    clock.ms += 1
    quota.record(1_001)
    clock.ms += 1_000
    assert quota.allowance() == 0
    clock.ms += 7
    assert quota.allowance() == 7


def test_a_change_of_the_limit_keeps_the_time_that_is_owed_and_goes_on_at_the_new_pace() -> None:
    quota, clock = _quota(10_000)
    quota.record(1_000)  # 100 ms
    quota.limit = 1_000
    clock.ms += 100
    assert quota.allowance() == 0
    clock.ms += 100
    assert quota.allowance() == 100
    quota.limit = UNLIMITED
    quota.record(10**12)
    quota.limit = 1_000
    clock.ms += 100
    assert quota.allowance() == 100


def test_a_limit_that_is_raised_waits_for_no_more_bytes_than_went() -> None:
    """A record of 1,000 bytes under one byte a second: 1,000 seconds, and then 10 microseconds."""
    quota, clock = _quota(1)
    quota.record(1_000)
    quota.limit = 100_000_000
    clock.ms += 1
    assert quota.allowance() == 100_000 - 1_000


def test_a_limit_of_one_byte_a_second_gives_one_byte_a_second() -> None:
    quota, clock = _quota(1)
    gone = 0
    for _ in range(600):
        clock.ms += 125
        if quota.allowance():
            quota.record(1)
            gone += 1
    assert gone == 75


def test_who_only_looks_back_stays_at_the_limit_for_long_and_doubles_it_over_some_windows() -> None:
    quota, clock = _quota(1_000)
    gone: list[int] = []
    for _ in range(5_500):
        clock.ms += 10
        count = 0
        while not quota.is_exceeded():
            quota.record(50)
            count += 50
        gone.append(count)
    windows = [sum(gone[i : i + 1_101]) / 11 for i in range(len(gone) - 1_100)]
    assert 1_700 <= max(windows) <= 2_050
    assert sum(gone) / 55 == pytest.approx(1_000, rel=0.05)


# --- whatever happens

FETCHES = st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 5_000)), max_size=120)
LIMITS = st.integers(1, 3_000)


@given(FETCHES, LIMITS)
def test_who_asks_before_each_fetch_is_never_above_the_limit_by_more_than_one_fetch(
    fetches: list[tuple[int, int]], limit: int
) -> None:
    quota, clock = _quota(limit)
    gone: list[tuple[int, int]] = []
    for after_ms, count in fetches:
        clock.ms += after_ms
        if not quota.is_exceeded():
            quota.record(count)
            gone.append((clock.ms, count))
        recent = [size for at_ms, size in gone if at_ms > clock.ms - (SAMPLES - 1) * SAMPLE_MS]
        assert sum(recent) <= limit * SAMPLES + max((size for _, size in gone), default=0)


@given(FETCHES, LIMITS)
def test_the_delay_is_the_shortest_time_after_which_it_may_go_on(fetches: list[tuple[int, int]], limit: int) -> None:
    quota, clock = _quota(limit)
    for after_ms, count in fetches:
        clock.ms += after_ms
        quota.record(count)
    delay_ms = quota.delay_ms()
    assert quota.is_exceeded() is (delay_ms > 0)
    if delay_ms:
        clock.ms += delay_ms - 1
        assert quota.is_exceeded()
        clock.ms += 1
        assert not quota.is_exceeded()


@given(FETCHES)
def test_every_byte_counts_until_its_sample_is_over_and_then_no_more(fetches: list[tuple[int, int]]) -> None:
    window, now_ms = RateWindow(), 0
    gone: list[tuple[int, int]] = []
    for after_ms, count in fetches:
        now_ms += after_ms
        window.record(count, now_ms)
        gone.append((now_ms, count))
        surely = sum(size for at_ms, size in gone if at_ms > now_ms - (SAMPLES - 1) * SAMPLE_MS)
        perhaps = sum(size for at_ms, size in gone if at_ms > now_ms - SAMPLES * SAMPLE_MS)
        assert surely <= window.total(now_ms) <= perhaps
    assert window.total(now_ms + SAMPLES * SAMPLE_MS) == 0


@given(FETCHES, LIMITS, st.integers(1, 20_000))
def test_who_keeps_to_the_allowance_is_within_the_limit_over_any_time_but_for_the_pace_and_one_record(
    fetches: list[tuple[int, int]], limit: int, window_ms: int
) -> None:
    quota, clock = _quota(limit)
    gone: list[tuple[int, int]] = []
    for after_ms, wanted in fetches:
        clock.ms += after_ms
        allowance = quota.allowance()
        if allowance:
            count = min(wanted, max(allowance, 100))  # a record of 100 bytes goes at least
            quota.record(count)
            gone.append((clock.ms, count))
    for begin_ms, _ in gone:
        inside = sum(count for at_ms, count in gone if begin_ms <= at_ms <= begin_ms + window_ms)
        assert inside <= limit * (window_ms + PACE_MS) / 1000 + 1 + 100


@pytest.mark.slow
@given(st.integers(100, 10_000), st.integers(1, 100), st.integers(1, 200))
def test_who_always_wants_more_gets_all_that_the_limit_gives(limit: int, record: int, every_ms: int) -> None:
    quota, clock = _quota(limit)
    gone, begun_ms = 0, clock.ms
    while clock.ms < begun_ms + 11_000:
        clock.ms += every_ms
        while quota.allowance():
            quota.record(record)
            gone += record
    assert gone >= limit * (clock.ms - begun_ms) / 1000 - 2
