"""The one fold of an audit: rows of a group, in the order of the journal, through a judge of them.

* A judge (`TopicTrace`, `Throttles`) is fed row by row and told where rows are missing. In one pass over a journal
  (`local`) it has all rows, and hears of these places as they come. Where topics are spread over groups, it has those
  of its group, and `Marks` are what the order of the files showed before.
* A group reads its rows once, as they come, and keeps none of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from pipeline.audit.edges import Edge
from pipeline.audit.stitched import Stitched
from pipeline.audit.throttles import EVENTS, Throttles
from pipeline.audit.topics import TopicTrace
from pipeline.audit.values import Gap, Violation
from pipeline.journal.lines import Event

Found: TypeAlias = list[Violation | Gap]
Place: TypeAlias = Callable[[Event], tuple[int, int]]
"""By which events of a journal are ordered."""


class Judge(Protocol):
    """Rows in the order of the journal, and what they break."""

    def feed(self, event: Event, /) -> Iterable[Violation]: ...
    def lost(self, epoch: int, seq: int, /) -> None: ...
    def end(self, last_ts_ms: int, /) -> Iterable[Violation | Gap]: ...


class Marks(NamedTuple):
    """Places are (rank of the file, line). `lost`: rows are missing before them, `torn`: epoch and seq of the commit
    that goes on there; `rises`, `epochs`: from there on, this is the controller epoch."""

    rank: Mapping[str, int]
    lost: Sequence[tuple[int, int]]
    torn: Sequence[tuple[int, int]]
    rises: Sequence[tuple[int, int]]
    epochs: Sequence[int]
    last_ts_ms: int

    def place(self, event: Event) -> tuple[int, int]:
        """By which events of a journal are ordered."""
        return self.rank[event.file], event.line

    def is_superseded(self, event: Event, place: tuple[int, int]) -> bool:
        """Whether a controller wrote it that was deposed: it changes nothing, and `order` tells it."""
        assert event.row is not None
        at = bisect_right(self.rises, place) - 1
        return at >= 0 and event.row["epoch"] < self.epochs[at]


def marks_of(order: Stitched) -> Marks:
    edges = order.edges
    rank = {edge.file: at for at, edge in enumerate(edges)}
    lost = sorted((rank[file], place) for file, place in order.lost)
    rises: list[tuple[int, int]] = []
    epochs: list[int] = []
    for at, edge in enumerate(edges):
        for line, epoch in edge.rises:
            if not epochs or epoch > epochs[-1]:
                rises.append((at, line))
                epochs.append(epoch)
    places, torn = [(at, place.line) for at, place in lost], [(place.epoch, place.seq) for _, place in lost]
    return Marks(rank, places, torn, rises, epochs, last_ts_ms(edges))


def last_ts_ms(edges: Sequence[Edge]) -> int:
    """Of all lines; 0 where there is none."""
    return max((last for edge in edges for _, last in edge.spans.values()), default=0)


def judged(events: Iterable[Event], marks: Marks, *, throttles: bool) -> tuple[Found, int]:
    """What is wrong with the events of a group, in the order of the journal, and how many partitions it has.
    `throttles`: it is the group of what says something of throttles, of whatever topic."""
    if throttles:
        return _fold((event for event in events if _name(event) in EVENTS), marks, Throttles()), 0
    trace = TopicTrace()
    return _fold(events, marks, trace), len(trace.partitions)


def _name(event: Event) -> str:
    assert event.row is not None
    name: str = event.row["event"]
    return name


def _fold(events: Iterable[Event], marks: Marks, judge: Judge) -> Found:
    found: Found = []
    for event in _marked(events, marks, judge):
        found += judge.feed(event)
    return [*found, *judge.end(marks.last_ts_ms)]


def merged(own: Iterable[Event], side: Sequence[Event], place: Place) -> Iterator[Event]:
    """The events of a group and those that are of every group, both in the order of the journal, as one."""
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


def _marked(events: Iterable[Event], marks: Marks, judge: Judge) -> Iterator[Event]:
    done = 0
    for event in events:
        place = marks.place(event)
        passed = bisect_right(marks.lost, place)
        for epoch, seq in marks.torn[done:passed]:
            judge.lost(epoch, seq)
        done = passed
        if not marks.is_superseded(event, place):
            yield event
    for epoch, seq in marks.torn[done:]:
        judge.lost(epoch, seq)
