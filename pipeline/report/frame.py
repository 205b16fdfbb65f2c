"""The parts that plots share: drawing, title, scales, axes, round ticks. Numbers are rounded, so that the same input
gives the same bytes.

A plot has a title for readers, and each mark a `<title>` shown under the pointer. Colours are the page's variables, so
that plots also work on a dark page. Times are milliseconds, shown in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 960
LEFT: Final = 70
RIGHT: Final = 16
TOP: Final = 14
BOTTOM: Final = 34
TICKS: Final = 6
COLOURS: Final = tuple(f"var(--s{n})" for n in range(1, 9))


def clock(ms: int, span_ms: int = 0) -> str:
    """A moment in UTC, as short as the span allows; the number if it is no date."""
    try:
        at = datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(ms)
    if span_ms > 2 * 86_400_000:
        return at.strftime("%m-%d %H:%M")
    if span_ms > 600_000:
        return at.strftime("%H:%M")
    return at.strftime("%H:%M:%S") if span_ms > 10_000 else at.strftime("%S.%f")[:-3] + " s"


class Scale(NamedTuple):
    low: float
    high: float
    begins: float
    ends: float

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return number(self.begins + share * (self.ends - self.begins))


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def drawing(height: int, parts: Iterable[str], label: str) -> str:
    said = escape(label, quote=True)
    inner = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{said}" xmlns="http://www.w3.org/2000/svg">'
        f"\n{inner}\n</svg>"
    )


def across_of(low: float, high: float) -> Scale:
    return Scale(low, high, LEFT, WIDTH - RIGHT)


def time_axis(scale: Scale, bottom: float) -> Iterable[str]:
    span = scale.high - scale.low
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{number(bottom)}" y2="{number(bottom)}"/>'
    for i in range(TICKS + 1):
        ms = scale.low + span * i / TICKS
        anchor = {0: "start", TICKS: "end"}.get(i, "middle")
        text = escape(clock(round(ms), round(span)))
        yield f'<text class="tick" x="{scale.at(ms)}" y="{number(bottom + 18)}" text-anchor="{anchor}">{text}</text>'


def value_axis(scale: Scale, unit: tuple[str, float] = ("", 1.0)) -> Iterable[str]:
    """Lines across at round numbers of a unit, given by its name and size; without a name, numbers are shortened."""
    name, size = unit
    for ticked in round_ticks(max(scale.high, -scale.low) / size):
        for value in {ticked, -ticked} if scale.low < 0 else {ticked}:
            if not scale.low <= value * size <= scale.high:
                continue
            y = scale.at(value * size)
            text = f"{ticked:g} {name}" if name else short(ticked)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
            yield f'<text class="tick" x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{escape(text)}</text>'


def round_ticks(high: float) -> list[float]:
    """0 and up to five round numbers below `high`."""
    if high <= 0:
        return [0]
    step = 10.0 ** (len(str(int(high))) - 1) if high >= 1 else 0.1
    while high / step > 5:
        step *= 2 if str(step)[0] in "15" else 2.5
    while high / step < 2 and step > 1:
        step /= 2
    return [n * step for n in range(int(high / step) + 1)]


def short(value: float) -> str:
    """A number with k, M, G or T."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
