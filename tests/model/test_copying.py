"""How far copies are, their rates and remaining times, in virtual time."""

from __future__ import annotations

import pytest

from kedge.controller.model.copying import STALLED_MS, WINDOW_MS, Copies, Copy, Rates, slowest, slowest_s, together

SIZE = 1_000_000


def read(rates: Rates[str], *readings: tuple[int, int]) -> None:
    """Each reading: milliseconds, and bytes of the one copy."""
    for now_ms, size in readings:
        rates.read(now_ms, {"a": size})


def test_rate_is_growth_over_time() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, 0), (1_000, 50_000), (4_000, 200_000))
    assert rates.copy("a", SIZE) == Copy(200_000, SIZE, 50_000.0)
    assert rates.copy("a", SIZE).remaining_s == 16.0


def test_rate_is_unknown_after_one_reading() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, 70))
    assert rates.copy("a", SIZE) == Copy(70, SIZE)
    assert rates.copy("a", SIZE).remaining_s is None
    assert rates.copy("b", SIZE) == Copy(None, SIZE)


def test_readings_in_a_moment_give_no_rate() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, 0), (899, 10_000))
    assert rates.copy("a", SIZE).rate is None
    read(rates, (900, 10_000))
    assert rates.copy("a", SIZE).rate == pytest.approx(11_111, abs=1)


def test_rate_follows_a_throttle_that_changes() -> None:
    """After the window only the new rate counts."""
    rates: Rates[str] = Rates()
    read(rates, *((ms, ms * 100) for ms in range(0, 20_001, 1_000)))
    assert rates.copy("a", 10 * SIZE).rate == 100_000.0
    read(rates, *((20_000 + ms, 2_000_000 + ms * 10) for ms in range(1_000, WINDOW_MS + 1, 1_000)))
    assert rates.copy("a", 10 * SIZE).rate == 10_000.0


def test_readings_far_apart_still_give_a_rate() -> None:
    """A busy process takes a reading only now and then."""
    rates: Rates[str] = Rates()
    read(rates, (0, 0), (3 * WINDOW_MS, 300_000), (6 * WINDOW_MS, 900_000))
    assert rates.copy("a", SIZE).rate == 20_000.0


def test_copy_without_growth_is_stalled() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, 0), (1_000, 50_000), (STALLED_MS, 50_000))
    assert rates.copy("a", SIZE) == Copy(50_000, SIZE, 10_000.0), "it grew 4 s ago"
    read(rates, (1_000 + STALLED_MS, 50_000))
    assert rates.copy("a", SIZE) == Copy(50_000, SIZE, 0.0, is_stalled=True)
    assert rates.copy("a", SIZE).remaining_s is None
    read(rates, (2_000 + STALLED_MS, 60_000))
    assert not rates.copy("a", SIZE).is_stalled


def test_complete_copy_is_not_stalled() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, SIZE), (60_000, SIZE))
    assert rates.copy("a", SIZE) == Copy(SIZE, SIZE, 0.0)
    assert rates.copy("a", SIZE).remaining_s == 0.0


def test_a_larger_copy_than_the_leaders_counts_as_complete() -> None:
    """The follower's retention may be behind the leader's."""
    rates: Rates[str] = Rates()
    read(rates, (0, SIZE + 5))
    assert (rates.copy("a", SIZE).copied, rates.copy("a", SIZE).left) == (SIZE, 0)


def test_smaller_log_is_no_negative_growth() -> None:
    """A truncated copy begins to grow from its new size."""
    rates: Rates[str] = Rates()
    read(rates, (0, 100_000), (1_000, 0), (2_000, 10_000))
    assert rates.copy("a", SIZE).rate == 5_000.0
    assert rates.grown == 10_000


def test_forgotten_copy_starts_over() -> None:
    rates: Rates[str] = Rates()
    read(rates, (0, 0), (1_000, 100_000))
    rates.read(2_000, {})
    assert rates.copy("a", SIZE).copied is None
    read(rates, (3_000, 500_000))
    assert rates.copy("a", SIZE).rate is None
    assert rates.grown == 100_000, "what it had before is no growth"


def test_slowest_copy_determines_the_remaining_time() -> None:
    fast, slow = Copy(0, 100, 50.0), Copy(50, 100, 1.0)
    assert slowest_s([fast, slow]) == 50.0
    assert slowest_s([fast, Copy(0, 100)]) is None, "one is unknown"
    assert slowest_s([]) == 0.0
    assert slowest({"fast": fast, "slow": slow, "complete": Copy(9, 9)}) == "slow"
    assert slowest({"slow": slow, "stalled": Copy(99, 100, 0.0, is_stalled=True)}) == "stalled"
    assert slowest({"complete": Copy(9, 9)}) is None


def test_sum_of_copies_is_unknown_with_one_of_them() -> None:
    assert together([Copy(1, 10, 2.0), Copy(3, 10)]) == Copy(4, 20, 2.0)
    assert together([Copy(1, 10, 2.0), Copy(None, None)]) == Copy(None, None, 2.0)
    assert together([Copy(1, 10), Copy(2, 10, 0.0, is_stalled=True)]) == Copy(3, 20, 0.0, is_stalled=True)


def test_copy_that_is_no_longer_named_is_complete() -> None:
    copies: Copies[str] = Copies()
    copies.read(0, {"a": (0, SIZE), "b": (0, 10)})
    assert copies.read(1_000, {"b": (5, 10)}) == {"a": Copy(SIZE, SIZE, float(SIZE)), "b": Copy(5, 10, 5.0)}


def test_unknown_sizes_are_those_of_the_last_reading() -> None:
    """As of a broker that does not answer now."""
    copies: Copies[str] = Copies()
    copies.read(0, {"a": (40, 100), "b": (None, None)})
    assert copies.read(500, {"a": (None, None), "b": (None, 10)}) == {"a": Copy(40, 100), "b": Copy(None, 10)}


def test_size_of_the_leader_may_grow() -> None:
    copies: Copies[str] = Copies()
    copies.read(0, {"a": (40, 100)})
    assert copies.read(500, {"a": (40, 200)}) == {"a": Copy(40, 200)}
