"""Waves one after the other: a bar from the begin to the expected end of each, and a thin line for the interval.

There is room for ROWS_MAX rows; if there are more waves, neighbours share a row, with the sum of their times and bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from ...controller.model.plural import counted
from ..amounts import amount, duration
from .frame import LEFT, WIDTH, Scale, drawing, number

ROWS_MAX: Final = 40
_RIGHT: Final = 230  # for the text about copied bytes
_TICKS: Final = 5
_STEPS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


class Wave(NamedTuple):
    """The bytes, the numbers of sending and receiving brokers, and seconds: at least, expected, at most; 0 without
    rates."""

    name: str
    size: int
    senders: int
    receivers: int
    low: float
    expected: float
    high: float


def gantt(found: Sequence[Wave], label: str) -> str:
    """A plot over time if all waves have one, else over bytes."""
    rows = _merged(found)
    timed = any(one.expected for one in rows)
    whole = sum(one.expected if timed else one.size for one in rows)
    if not whole:
        return ""
    begun, most = 0.0, 0.0
    for one in rows:
        most = max(most, begun + (one.high if timed else one.size))
        begun += one.expected if timed else one.size
    scale = Scale(0, most, LEFT, WIDTH - _RIGHT)
    tall = 22 if len(rows) <= 20 else 16
    height = 12 + tall * len(rows) + 30
    parts = list(_grid(scale, height - 26, timed=timed))
    begun = 0.0
    for i, one in enumerate(rows):
        parts += _row(one, scale, begun, 8 + tall * i, tall, timed=timed)
        begun += one.expected if timed else one.size
    return drawing(height, parts, label)


def _merged(found: Sequence[Wave]) -> list[Wave]:
    together = -(-len(found) // ROWS_MAX)
    if together <= 1:
        return list(found)
    return [_one_of(found[i : i + together]) for i in range(0, len(found), together)]


def _one_of(run: Sequence[Wave]) -> Wave:
    name = run[0].name if len(run) == 1 else f"{run[0].name} to {run[-1].name}"
    most = max(one.senders for one in run), max(one.receivers for one in run)
    low, expected = sum(one.low for one in run), sum(one.expected for one in run)
    high = sum(one.high for one in run)
    return Wave(name, sum(one.size for one in run), *most, low, expected, high)


def _grid(scale: Scale, bottom: float, *, timed: bool) -> Iterable[str]:
    if timed:
        step = next((one for one in _STEPS_S if scale.high / one <= _TICKS), 0) or _days(scale.high)
        ticks = [n * step for n in range(int(scale.high / step) + 1)]
    else:
        ticks = [scale.high * n / _TICKS for n in range(_TICKS + 1)]
    for value in ticks:
        x = scale.at(value)
        text = ("0" if not value else duration(value)) if timed else amount(int(value))
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="4" y2="{number(bottom)}"/>'
        yield f'<text class="tick" x="{x}" y="{number(bottom + 18)}" text-anchor="middle">{escape(text)}</text>'


def _days(high: float) -> float:
    return 86_400.0 * max(2, -(-high // (86_400 * _TICKS)))


def _row(one: Wave, scale: Scale, begun: float, y: float, tall: int, *, timed: bool) -> Iterable[str]:
    middle, thick = y + tall / 2, tall - 6
    begins, ends = float(scale.at(begun)), float(scale.at(begun + (one.expected if timed else one.size)))
    said = f"{amount(one.size)}, {one.senders} to {counted(one.receivers, 'broker')}"
    time = f", {duration(one.expected)} ({duration(one.low)} to {duration(one.high)})" if timed else ""
    yield f'<text class="tick" x="{LEFT - 8}" y="{number(middle)}" dy="4" text-anchor="end">{escape(one.name)}</text>'
    yield (
        f'<rect x="{number(begins)}" y="{number(y + 3)}" width="{number(max(1.0, ends - begins))}" height="{thick}" '
        f'rx="2" fill="var(--s1)"><title>wave {escape(one.name)}: {escape(said + time)}</title></rect>'
    )
    if timed:
        low, high = scale.at(begun + one.low), scale.at(begun + one.high)
        yield (
            f'<path class="between" d="M{low} {number(middle)}H{high}M{low} {number(middle - 4)}v8'
            f'M{high} {number(middle - 4)}v8"/>'
        )
    yield f'<text class="tick" x="{WIDTH - _RIGHT + 12}" y="{number(middle)}" dy="4">{escape(said)}</text>'
