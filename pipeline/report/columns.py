"""Plots with a place per broker: its values before and after, and the bytes that it sends and receives.

Brokers are ordered by rack, with the rack's colour. A plot has room for PLACES_MAX; if there are more, neighbours of
one rack share a place, and the fullest of them is shown. So the size of a plot is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Final, NamedTuple, TypeVar

from ..amounts import binary_unit
from .frame import COLOURS, LEFT, RIGHT, TOP, WIDTH, Scale, drawing, number, value_axis

PLACES_MAX: Final = 400
_BOTTOM: Final = 44
_NAMES_MAX: Final = 24
_RACKS_NAMED_MAX: Final = 12


class Column(NamedTuple):
    """A broker before and after. `group`: its rack, from 0; `limit`: the most that it may have."""

    name: str
    group: int
    rack: str
    before: float
    after: float
    limit: float | None
    text: str


class Pair(NamedTuple):
    """A broker with the bytes it receives, drawn up, and those it sends, drawn down."""

    name: str
    group: int
    rack: str
    comes: float
    goes: float
    text: str


_Place = TypeVar("_Place", Column, Pair)


def columns(found: Sequence[Column], label: str, *, in_bytes: bool, height: int = 280) -> str:
    """A bar per broker for the value afterwards, a line for the value before, a dashed line for the mean afterwards, a
    red one for the limit. Empty if all values are 0."""
    shown = _thinned(found, lambda one: max(one.after, one.before))
    most = max((max(one.before, one.after) for one in shown), default=0.0)
    if not most:
        return ""
    limits = [one.limit for one in shown if one.limit is not None and one.limit <= 3 * most]
    high = max(most, *limits, 0.0) * 1.05
    up = Scale(0, high, height - _BOTTOM, TOP)
    slots = _Slots(len(shown))
    parts = [*value_axis(up, binary_unit(high) if in_bytes else ("", 1.0))]
    for i, one in enumerate(shown):
        parts.append(slots.bar(i, up, one.after, one.group, one.text))
    parts.append(f'<path class="was" d="{_steps(slots, up, [one.before for one in shown])}"/>')
    living = [one.after for one in found if one.after]
    y = up.at(sum(living) / len(living)) if living else up.at(0)
    parts.append(f'<line class="even" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
    if limits:
        shares = [one.limit if one.limit is not None and one.limit <= high else None for one in shown]
        parts.append(f'<path class="limit" d="{_steps(slots, up, shares)}"/>')
    return drawing(height, [*parts, *_below(shown, slots, height - _BOTTOM)], label)


def pairs(found: Sequence[Pair], label: str, height: int = 260) -> str:
    """A bar up and one down per broker, in bytes. Empty if all values are 0."""
    shown = _thinned(found, lambda one: max(one.comes, one.goes))
    comes = max((one.comes for one in shown), default=0.0)
    goes = max((one.goes for one in shown), default=0.0)
    if not comes and not goes:
        return ""
    up = Scale(-goes * 1.05, comes * 1.05, height - _BOTTOM, TOP)
    slots = _Slots(len(shown))
    parts = [*value_axis(up, binary_unit(max(comes, goes)))]
    for i, one in enumerate(shown):
        parts += [slots.bar(i, up, value, one.group, one.text) for value in (one.comes, -one.goes) if value]
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up.at(0)}" y2="{up.at(0)}"/>')
    return drawing(height, [*parts, *_below(shown, slots, height - _BOTTOM)], label)


def _thinned(found: Sequence[_Place], most: Callable[[_Place], float]) -> list[_Place]:
    """By rack, in their order; of neighbours that share a place the fullest."""
    ordered = sorted(found, key=lambda one: (one.group, one.rack))
    together = -(-len(ordered) // PLACES_MAX)
    if together <= 1:
        return ordered
    runs = [list(run) for _, run in groupby(ordered, key=lambda one: one.rack)]
    return [max(run[i : i + together], key=most) for run in runs for i in range(0, len(run), together)]


class _Slots:
    """The positions of `count` places."""

    def __init__(self, count: int) -> None:
        self.wide = (WIDTH - RIGHT - LEFT) / max(1, count)

    def at(self, i: int) -> float:
        return LEFT + i * self.wide

    def bar(self, i: int, up: Scale, value: float, group: int, text: str) -> str:
        zero, end = float(up.at(0)), float(up.at(value))
        gap = min(2.0, self.wide * 0.2)
        return (
            f'<rect x="{self.at(i) + gap / 2:.2f}" y="{number(min(zero, end))}" width="{self.wide - gap:.2f}" '
            f'height="{number(abs(zero - end))}" fill="{COLOURS[group % 8]}"><title>{escape(text)}</title></rect>'
        )


def _steps(slots: _Slots, up: Scale, values: Sequence[float | None]) -> str:
    """A horizontal line over each place, without connecting lines; neighbours with the same value share one."""
    pieces: list[str] = []
    at = 0
    for value, run in groupby(values):
        count = len(list(run))
        if value is not None:
            pieces.append(f"M{slots.at(at):.1f} {up.at(value)}H{slots.at(at + count):.1f}")
        at += count
    return "".join(pieces)


def _below(shown: Sequence[_Place], slots: _Slots, bottom: float) -> Iterable[str]:
    """The names of racks, and of brokers if they are few."""
    named = len(shown) <= _NAMES_MAX
    if named:
        for i, one in enumerate(shown):
            x = number(slots.at(i) + slots.wide / 2)
            y, name = number(bottom + 14), escape(one.name[:9])
            yield f'<text class="tick" x="{x}" y="{y}" text-anchor="middle">{name}</text>'
    racks = [(rack, len(list(run))) for rack, run in groupby(shown, key=lambda one: one.rack)]
    if not 1 <= len(racks) <= _RACKS_NAMED_MAX:
        return
    at = 0
    for rack, count in racks:
        left, right = slots.at(at), slots.at(at + count)
        y = number(bottom + (20 if named else 6))
        fill = COLOURS[shown[at].group % 8]
        yield f'<rect x="{left + 1:.1f}" y="{y}" width="{right - left - 2:.1f}" height="3" fill="{fill}"/>'
        room = int((right - left) / 8)
        text = rack if len(rack) <= room else rack[: max(0, room - 1)]
        middle = number((left + right) / 2)
        y = number(bottom + (34 if named else 22))
        yield f'<text class="tick" x="{middle}" y="{y}" text-anchor="middle">{escape(text)}</text>'
        at += count
