"""Maintenance windows: when one is open, and when the next one opens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline.errors import BadInput
from kedge.pipeline.windows import opens_at, window

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
QUARTERS = 96  # of an hour, in a day
WEEK = 7 * QUARTERS


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, set[int]]:
    """A window in UTC, and the quarters of an hour of the week, from Monday on, in which it is open."""
    days = draw(st.sets(st.integers(0, 6)))
    begin = draw(st.integers(0, QUARTERS - 1))
    end = draw(st.integers(0, QUARTERS).filter(lambda quarter: quarter != begin))
    named = ",".join(DAYS[day] for day in sorted(days)) + (" " if days else "")
    text = f"{named}{begin // 4:02}:{15 * (begin % 4):02}-{end // 4:02}:{15 * (end % 4):02} UTC"
    length = end - begin if end > begin else end - begin + QUARTERS
    return text, {(day * QUARTERS + begin + n) % WEEK for day in days or range(7) for n in range(length)}


@given(st.lists(texts(), min_size=1, max_size=3), st.integers(0, WEEK - 1))
def test_next_opening_is_the_first_open_quarter(some: list[tuple[str, set[int]]], now: int) -> None:
    opened = set[int]().union(*(quarters for _, quarters in some))
    wanted = next(now + n for n in range(WEEK + 1) if (now + n) % WEEK in opened)
    windows = [window(text) for text, _ in some]
    assert opens_at(windows, MONDAY + timedelta(minutes=15 * now)) == MONDAY + timedelta(minutes=15 * wanted)


def test_without_windows_every_time_is_open() -> None:
    assert opens_at([], MONDAY) == MONDAY


@pytest.mark.parametrize(
    "text,days",
    [
        ("Mon-Fri 22:00-04:00", {0, 1, 2, 3, 4}),
        ("Fri-Mon 22:00-04:00 UTC", {4, 5, 6, 0}),
        ("Sat,Tue-Wed 22:00-04:00 UTC", {5, 1, 2}),
        ("Sun 22:00-04:00 UTC", {6}),
        ("22:00-04:00", set(range(7))),
    ],
)
def test_days_are_names_and_spans_of_names(text: str, days: set[int]) -> None:
    assert window(text).days == days


@pytest.mark.parametrize(
    "now,opens",
    [
        (datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 7, 1, 20, tzinfo=UTC)),
        (datetime(2026, 12, 1, 12, tzinfo=UTC), datetime(2026, 12, 1, 21, tzinfo=UTC)),
        (datetime(2026, 10, 25, 2, 30, tzinfo=UTC), datetime(2026, 10, 25, 2, 30, tzinfo=UTC)),  # the hour that repeats
        (datetime(2026, 10, 25, 3, tzinfo=UTC), datetime(2026, 10, 25, 21, tzinfo=UTC)),
    ],
    ids=["summer", "winter", "an hour more", "closed again"],
)
def test_times_are_those_of_the_zone(now: datetime, opens: datetime) -> None:
    assert opens_at([window("22:00-04:00 Europe/Berlin")], now) == opens


def test_window_of_the_day_before_is_that_of_the_zone() -> None:
    """In Los Angeles it is still the 24th, and the window of the 23rd is open for another hour."""
    now = datetime(2026, 11, 25, 2, tzinfo=UTC)
    assert opens_at([window("20:00-19:00 America/Los_Angeles")], now) == now


@pytest.mark.parametrize(
    "text",
    ["", "22:00", "22:00-22:00 UTC", "24:00-04:00 UTC", "25:00-04:00 UTC", "22:60-04:00 UTC", "1:00-4:00 UTC",
     "Mon-Wed-Fri 22:00-04:00 UTC", "mon 22:00-04:00 UTC", "Mon,22:00-04:00", "22:00-04:00 UTC UTC", 22],
)  # fmt: skip
def test_other_texts_are_no_windows(text: object) -> None:
    with pytest.raises(BadInput, match="expected a window such as '22:00-04:00 UTC'"):
        window(text)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../zones", "Europe", "CEST"])
def test_unknown_zones_are_named(zone: str) -> None:
    with pytest.raises(BadInput, match=f"unknown time zone '{zone}'"):
        window(f"22:00-04:00 {zone}")
