"""What is a number in an option, a file or a url: digits of ASCII, and never what Python alone takes for one."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kedge.controller.model import numerals
from kedge.stores.checks import seconds_of

NEAR = st.text("0129_+-.eE \t\n,:kKmMgGiIBbsxnaf\u0663\uff13²", max_size=8)
"""Numbers, and what looks like them: other scripts, signs, blanks, underscores."""
DIGITS = re.compile(r"[0-9]+", re.ASCII)


@given(NEAR)
@example("0_3")
@example("+3")
@example("\uff13")
@example(" 3")
@example("3\n")
@example("-0")
def test_whole_numbers_are_digits_alone(text: str) -> None:
    found = numerals.whole(text)
    assert found == (int(text) if DIGITS.fullmatch(text) else None)


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_whole_numbers_have_limits(number: int, low: int, high: int) -> None:
    assert numerals.whole(str(number), low, high) == (number if low <= number <= high else None)
    assert numerals.whole(str(number), low=None, high=None) == number


def test_endless_digits_are_no_number() -> None:
    """Python's int() refuses 5000 digits with a sentence of its own."""
    assert numerals.whole("9" * 5000, low=None, high=None) is None
    assert numerals.decimal("1e999") is None


@given(NEAR)
@example("1_0.5")
@example("nan")
@example("inf")
@example(".5")
@example("1.")
def test_decimals_are_digits_with_a_point_and_an_exponent(text: str) -> None:
    form = re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text, re.ASCII)
    number = float(text) if form else math.inf
    assert numerals.decimal(text) == (number if math.isfinite(number) else None)


@given(NEAR | st.floats(0, 1e308).map(repr))
def test_seconds_in_urls_of_stores_have_the_same_grammar(text: str) -> None:
    """The stores import nothing of the controller, so they have a copy."""
    found = seconds_of(text)
    assert numerals.decimal(text) == (None if found is None or math.isinf(found) else found)


@given(st.integers(0, 10**6), st.sampled_from("KMGTP"))
def test_units_of_sizes_are_of_1000_or_1024(number: int, letter: str) -> None:
    power = "KMGTP".index(letter) + 1
    for unit, of in ((f"{letter}B", 1000), (letter, 1000), (f" {letter}iB", 1024)):
        bytes_ = number * of**power
        assert numerals.size(f"{number}{unit}") == (bytes_ if bytes_ < 2**63 else None)


@given(NEAR)
@example("1_0MB")
@example("+5GiB")
@example("\uff15GB")
def test_sizes_and_durations_are_of_our_digits_alone(text: str) -> None:
    for found in (numerals.size(text), numerals.duration(text)):
        assert found is None or re.fullmatch(r"[0-9]+(\.[0-9]+)? ?[KMGTPiBsmhd]*", text, re.ASCII)


@pytest.mark.parametrize(
    "text, seconds", [("90", 90), ("1.5s", 1.5), ("15m", 900), ("2 h", 7200), ("1d", 86_400), ("1w", None), ("h", None)]
)
def test_durations_have_units(text: str, seconds: float | None) -> None:
    assert numerals.duration(text) == seconds


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1))
def test_lists_of_ids_may_have_blanks(ids: list[int]) -> None:
    assert numerals.ids(" , ".join(map(str, ids))) == ids
    assert numerals.ids(":".join(map(str, ids)), ":") == ids


@pytest.mark.parametrize("text", ["", "1,", ",1", "1,,2", "0_3", "+3", "-1", "\uff13", "1;2", "2147483648", "1\t,2"])
def test_lists_of_anything_else_are_refused(text: str) -> None:
    assert numerals.ids(text) is None
