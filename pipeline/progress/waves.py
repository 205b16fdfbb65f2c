"""Compares the expected time of a plan's waves with the time that the journal shows.

* For each move of a wave that copies data, the last reassignment in the journal with that target counts. A move that
  only changes the order takes no time, and does not count.
* The real time of a wave is from its first request to the end of its last move. It includes delays such as a failover,
  a broker that was down, or a submitter that was not running.
* `ratio` is real over expected. A wave without rates, or not finished, has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from .conclusions import COMPLETED
from .values import Move, WaveTime

if TYPE_CHECKING:
    from ..submit.exported import Exported, Wave  # needs pyarrow, which is not needed here

WITHIN: Final = "within"
EARLY: Final = "early"
LATE: Final = "late"
NOT_EXPECTED: Final = "no time expected"
NOT_OVER: Final = "not over"
NOT_BEGUN: Final = "not begun"
NOTHING_COPIED: Final = "nothing copied"

Asked: TypeAlias = tuple[str, int, tuple[int, ...]]
"""A partition and a target."""


class Summary(NamedTuple):
    """Of the finished waves with an expected time: how many were within its interval, and their ratios."""

    waves: int
    within: int
    lowest: float
    median: float
    highest: float


def wave_times(moves: Iterable[Move], exported: Exported) -> tuple[WaveTime, ...]:
    """Each wave of an exported plan, in order. `moves`: of a journal, by their start."""
    last = {(move.topic, move.partition, move.target): move for move in moves}
    return tuple(_time_of(exported.plan, wave, last) for wave in exported.waves)


def _time_of(plan: str, wave: Wave, last: Mapping[Asked, Move]) -> WaveTime:
    asked = [(move.topic, move.partition, move.after) for move in wave.moves if move.added]
    told = [last[one] for one in asked if one in last]
    ends = [move.ended_ms for move in told if move.ended == COMPLETED and move.ended_ms is not None]
    started = min((move.started_ms for move in told), default=None)
    ended = max(ends) if len(ends) == len(asked) and ends else None
    real = None if started is None or ended is None else (ended - started) / 1000
    ratio = None if real is None or not wave.eta_s else round(real / wave.eta_s, 6)
    expected = (wave.eta_s, wave.eta_low_s, wave.eta_high_s)
    counts = (len(asked), len(ends), wave.bytes)
    verdict = _verdict(wave, real, is_begun=bool(told), is_any=bool(asked))
    return WaveTime(plan, wave.number, *counts, started, ended, *expected, real, ratio, verdict)


def _verdict(wave: Wave, real_s: float | None, *, is_begun: bool, is_any: bool) -> str:
    if not is_any:
        return NOTHING_COPIED
    if real_s is None:
        return NOT_OVER if is_begun else NOT_BEGUN
    if wave.eta_s is None or wave.eta_low_s is None or wave.eta_high_s is None:
        return NOT_EXPECTED
    if real_s < wave.eta_low_s:
        return EARLY
    return LATE if real_s > wave.eta_high_s else WITHIN


def summary_of(times: Sequence[WaveTime]) -> Summary | None:
    """None if no finished wave has an expected time."""
    ratios = sorted(one.ratio for one in times if one.ratio is not None)
    if not ratios:
        return None
    within = sum(one.verdict == WITHIN for one in times)
    return Summary(len(ratios), within, ratios[0], ratios[len(ratios) // 2], ratios[-1])
