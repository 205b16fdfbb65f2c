"""Plots as SVG text: bands over time, lines over time, bars, points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from .frame import (
    BOTTOM,
    COLOURS,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    across_of,
    drawing,
    number,
    round_ticks,
    short,
    time_axis,
    value_axis,
)


class Mark(NamedTuple):
    """A moment; `text` is shown under the pointer."""

    ms: int
    text: str


class Band(NamedTuple):
    """A time span with a name."""

    begins_ms: int
    ends_ms: int
    name: str
    text: str


def timeline(bands: Sequence[Band], marks: Mapping[str, Sequence[Mark]], label: str) -> str:
    """Bands in one row; below them a row of marks per name, which is also their CSS class."""
    moments = [ms for band in bands for ms in band[:2]] + [mark.ms for row in marks.values() for mark in row]
    if not moments:
        return ""
    scale = across_of(min(moments), max(*moments, min(moments) + 1))
    height = TOP + 34 + 26 * len(marks) + BOTTOM
    parts = list(_bands(bands, scale))
    for i, (name, row) in enumerate(marks.items()):
        y = TOP + 34 + 26 * i + 13
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{escape(name)}</text>')
        parts += [
            f'<circle class="mark {escape(name)}" cx="{scale.at(mark.ms)}" cy="{y}" r="5">'
            f"<title>{escape(mark.text)}</title></circle>"
            for mark in row
        ]
    return drawing(height, [*parts, *time_axis(scale, height - BOTTOM)], label)


def _bands(bands: Sequence[Band], scale: Scale) -> Iterable[str]:
    yield f'<text class="tick" x="{LEFT - 8}" y="{TOP + 13}" dy="4" text-anchor="end">terms</text>'
    for i, band in enumerate(bands):
        x, end = float(scale.at(band.begins_ms)), float(scale.at(band.ends_ms))
        width = max(2.0, end - x)
        yield (
            f'<rect x="{number(x)}" y="{TOP}" width="{number(width)}" height="26" rx="3" '
            f'fill="{COLOURS[4 * (i % 2)]}"><title>{escape(band.text)}</title></rect>'
        )
        if width > 12 * len(band.name):
            middle, name = number(x + width / 2), escape(band.name)
            yield f'<text class="on" x="{middle}" y="{TOP + 17}" text-anchor="middle">{name}</text>'


def lines(series: Mapping[str, Sequence[tuple[int, float]]], label: str, height: int = 240) -> str:
    """A stepped line per name, over time, with a legend above."""
    moments = [ms for points in series.values() for ms, _ in points]
    if not moments:
        return ""
    across = across_of(min(moments), max(*moments, min(moments) + 1))
    most = max(value for points in series.values() for _, value in points)
    up = Scale(0, max(most, 1e-9) * 1.05, height - BOTTOM, TOP + 18)
    parts = [*_legend(list(series)), *value_axis(up)]
    for i, (name, points) in enumerate(series.items()):
        path = _steps(points, across, up)
        parts.append(f'<path class="line" stroke="{COLOURS[i % 8]}" d="{path}"><title>{escape(name)}</title></path>')
    return drawing(height, [*parts, *time_axis(across, height - BOTTOM)], label)


def _steps(points: Sequence[tuple[int, float]], across: Scale, up: Scale) -> str:
    pieces = []
    for i, (ms, value) in enumerate(points):
        x, y = across.at(ms), up.at(value)
        pieces.append(f"M{x} {y}" if i == 0 else f"H{x}V{y}")
    return "".join(pieces)


def _legend(names: Sequence[str]) -> Iterable[str]:
    for i, name in enumerate(names):
        x = LEFT + 110 * i
        yield f'<rect x="{x}" y="4" width="12" height="12" rx="2" fill="{COLOURS[i % 8]}"/>'
        yield f'<text class="tick" x="{x + 17}" y="14">{escape(name)}</text>'


def bars(
    values: Mapping[str, float], label: str, colour: str = COLOURS[0], said: Callable[[float], str] = short
) -> str:
    """A bar per name, relative to the largest value."""
    if not values:
        return ""
    most, room = max(*values.values(), 1e-9), 190
    parts = []
    for i, (name, value) in enumerate(values.items()):
        y = 6 + 24 * i
        width = (WIDTH - room - 80) * value / most
        parts.append(f'<text class="tick" x="{room - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{room}" y="{y}" width="{number(max(1.0, width))}" height="18" rx="2" fill="{colour}"/>')
        parts.append(f'<text class="tick" x="{number(room + width + 6)}" y="{y + 13}">{escape(said(value))}</text>')
    return drawing(12 + 24 * len(values), parts, label)


def points(found: Sequence[tuple[float, float, str]], label: str, axes: tuple[str, str], height: int = 300) -> str:
    """Points, with the line on which both values are equal."""
    if not found:
        return ""
    most = max(max(x, y) for x, y, _ in found) * 1.05 or 1.0
    across, up = across_of(0, most), Scale(0, most, height - BOTTOM - 8, TOP)
    parts = list(value_axis(up))
    parts.append(f'<line class="even" x1="{across.at(0)}" y1="{up.at(0)}" x2="{across.at(most)}" y2="{up.at(most)}"/>')
    parts += [
        f'<circle class="point" cx="{across.at(x)}" cy="{up.at(y)}" r="3.5"><title>{escape(text)}</title></circle>'
        for x, y, text in found
    ]
    bottom = height - BOTTOM + 8
    for value in round_ticks(most):
        parts.append(
            f'<text class="tick" x="{across.at(value)}" y="{bottom}" text-anchor="middle">{escape(short(value))}</text>'
        )
    parts.append(f'<text class="tick" x="{WIDTH - RIGHT}" y="{height - 4}" text-anchor="end">{escape(axes[0])}</text>')
    parts.append(f'<text class="tick" x="4" y="{TOP - 2}">{escape(axes[1])}</text>')
    return drawing(height, parts, label)
