"""Feeds the rows of a group, in the order of the journal, to a judge.

* A judge (`TopicTrace`, `Throttles`) gets row by row, and the places where rows are missing. In one pass over a journal
  (`local`) it gets all rows, and these places as they occur. If topics are spread over groups, it gets the rows of its
  group, and `Marks` has the places that the order of the files showed before.
* A group reads its rows once and keeps none of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..journal.lines import Event
from .edges import Lost
from .stitched import Stitched
from .throttles import EVENTS, Throttles
from .topics import TopicTrace
from .values import Gap, Violation

Found: TypeAlias = list[Violation | Gap]
Place: TypeAlias = Callable[[Event], tuple[int, int]]
"""The sort key of events of a journal."""


class Judge(Protocol):
    """Takes rows in the order of the journal, and returns their violations."""

    def feed(self, event: Event, /) -> Iterable[Violation]: ...
    def lost(self, place: Lost, /) -> Iterable[Violation]: ...
    def until(self, now_ms: int, /) -> Iterable[Violation]: ...
    def end(self, last_ts_ms: int, /) -> Iterable[Violation | Gap]: ...


class Marks(NamedTuple):
    """Places are (rank of the file, line). `before`: places before which rows are missing, and places where a term
    ends, with its last ts. `rises`, `epochs`: from this place on, this is the controller epoch."""

    rank: Mapping[str, int]
    places: Sequence[tuple[int, int]]
    before: Sequence[Lost | int]
    rises: Sequence[tuple[int, int]]
    epochs: Sequence[int]
    last_ts_ms: int

    def place(self, event: Event) -> tuple[int, int]:
        """The sort key of an event."""
        return self.rank[event.file], event.line


def marks_of(order: Stitched) -> Marks:
    edges = order.edges
    rank = {edge.file: at for at, edge in enumerate(edges)}
    reached = [0]  # before each file
    before: list[tuple[int, int, bool, Lost | int]] = []
    rises: list[tuple[int, int]] = []
    epochs: list[int] = []
    for at, edge in enumerate(edges):
        for line, epoch, here in edge.rises:
            if not epochs or epoch > epochs[-1]:
                rises.append((at, line))
                epochs.append(epoch)
                before.append((at, line, False, max(reached[at], here)))
        reached.append(max(reached[at], *(last for _, last in edge.spans.values()), 0))
    for file, lost in order.lost:
        at = rank[file]
        before.append((at, lost.line, True, lost._replace(reached_ms=max(reached[at], lost.reached_ms))))
    before.sort(key=lambda one: one[:3])
    return Marks(rank, [one[:2] for one in before], [one[3] for one in before], rises, epochs, reached[-1])


def judged(events: Iterable[Event], marks: Marks, *, throttles: bool) -> tuple[Found, int]:
    """The findings of a group whose events are in the order of the journal, and its number of partitions. `throttles`:
    the group has all events about throttles, of any topic."""
    if throttles:
        return _fold((event for event in events if _row(event)["event"] in EVENTS), marks, Throttles()), 0
    trace = TopicTrace()
    return _fold(events, marks, trace), len(trace.partitions)


def _row(event: Event) -> Mapping[str, Any]:
    assert event.row is not None
    return event.row


def _fold(events: Iterable[Event], marks: Marks, judge: Judge) -> Found:
    found: Found = []
    done = 0
    for event in events:
        place = marks.place(event)
        passed, rises = bisect_right(marks.places, place), bisect_right(marks.rises, place)
        for one in marks.before[done:passed]:
            found += judge.lost(one) if isinstance(one, Lost) else judge.until(one)
        done = passed
        if not rises or _row(event)["epoch"] >= marks.epochs[rises - 1]:  # else `order` reports it
            found += judge.feed(event)
    for one in marks.before[done:]:
        found += judge.lost(one) if isinstance(one, Lost) else judge.until(one)
    return [*found, *judge.end(marks.last_ts_ms)]


def merged(own: Iterable[Event], side: Sequence[Event], place: Place) -> Iterator[Event]:
    """The events of a group and those of every group, both in the order of the journal, as one stream."""
    left = iter(side)
    other = next(left, None)
    for event in own:
        while other is not None and place(other) < place(event):
            yield other
            other = next(left, None)
        yield event
    if other is not None:
        yield other
        yield from left
