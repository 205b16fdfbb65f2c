"""Amounts as text for people, the same on a terminal and on a page."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIMES: Final = (
    (3_600, ("min", 60), ("s", 1)),
    (48 * 3_600, ("h", 3_600), ("min", 60)),
    (2 * 365 * 86_400, ("d", 86_400), ("h", 3_600)),
    (float("inf"), ("years", 365 * 86_400), ("d", 86_400)),
)


def amount(value: float) -> str:
    """A number of bytes as text."""
    left, unit = float(value), 0
    while left >= 1024 and unit < len(_UNITS) - 1:
        left, unit = left / 1024, unit + 1
    return f"{value} bytes" if not unit else f"{left:.1f} {_UNITS[unit]}"


def binary_unit(most: float) -> tuple[str, float]:
    """The unit in which values up to `most` are small numbers, and its number of bytes."""
    unit = 0
    while most >= 1024 and unit < len(_UNITS) - 1:
        most, unit = most / 1024, unit + 1
    return _UNITS[unit], float(1024**unit)


def duration(seconds: float) -> str:
    """A time as text, in its two largest units."""
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    (large, of), (small, part) = next(units for limit, *units in _TIMES if whole < limit)
    rest = whole % of // part
    return f"{whole // of} {large} {rest} {small}" if rest else f"{whole // of} {large}"
