"""Regular expressions of clients: what they match, and that none of them costs much."""

from __future__ import annotations

import pytest

from kedge.controller.wire.patterns import LENGTH_MAX, compiled


@pytest.mark.parametrize(
    "pattern, matching, other",
    [
        ("orders", "orders", "orders-1"),
        ("orders|bills", "bills", "my-bills"),
        ("order", "order", "orders\n"),
        ("o.*", "orders", "my-orders"),
        ("(?i)ä+", "ÄÄ", "a"),
        ("", "", "a"),
    ],
)
def test_pattern_matches_the_whole_text(pattern: str, matching: str, other: str) -> None:
    """A part that matches is not enough, as in Kafka."""
    matches = compiled(pattern)
    assert [matches(matching), matches(other)] == [True, False]


@pytest.mark.parametrize(
    "pattern, reason",
    [
        ("(a", r"missing \)"),
        ("a**", "bad repetition"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        (r"(\pL\pN){100}", "too large"),
        ("a" * (LENGTH_MAX + 1), "at most 1000 characters, got 1001"),
    ],
)
def test_pattern_is_refused_with_the_reason(pattern: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As ValueError. RE2 does not write to stderr."""
    with pytest.raises(ValueError, match=reason):
        compiled(pattern)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", ["(a+)+x", "(a|a)*x", "(?:a?){900}a{90}x", "(.*a){240}x"])
def test_no_pattern_takes_exponential_time(pattern: str) -> None:
    """With backtracking each of these takes longer than the timeout of the tests."""
    assert not compiled(pattern)("a" * 1000)
