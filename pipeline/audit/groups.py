"""Events of a group through the rules, as both engines do it.

Events come in the order of the journal, with the places where rows are missing before them (`Marks`), which no group
can see by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.audit.edges import Edge
from pipeline.audit.stitched import Order
from pipeline.audit.throttles import Throttles
from pipeline.audit.topics import TopicTrace
from pipeline.audit.values import Gap, Violation
from pipeline.journal.lines import Event


class Marks(NamedTuple):
    """Places are (rank of the file, line). `lost`: rows are missing before them, `torn`: epoch and seq of the commit
    that goes on there; `rises`, `epochs`: from there on, this is the controller epoch."""

    rank: Mapping[str, int]
    lost: Sequence[tuple[int, int]]
    torn: Sequence[tuple[int, int]]
    rises: Sequence[tuple[int, int]]
    epochs: Sequence[int]
    last_ts_ms: int

    def is_superseded(self, event: Event) -> bool:
        """Whether a controller wrote it that was deposed: it changes nothing, and `order` tells it."""
        assert event.row is not None
        at = bisect_right(self.rises, (self.rank[event.file], event.line)) - 1
        return at >= 0 and event.row["epoch"] < self.epochs[at]


def marks_of(edges: Sequence[Edge], order: Order) -> Marks:
    rank = {edge.file: at for at, edge in enumerate(edges)}
    lost = sorted((rank[file], place) for file, place in order.lost)
    rises: list[tuple[int, int]] = []
    epochs: list[int] = []
    for at, edge in enumerate(edges):
        for line, epoch in edge.rises:
            if not epochs or epoch > epochs[-1]:
                rises.append((at, line))
                epochs.append(epoch)
    last = last_ts_ms(edges)
    places, torn = [(at, place.line) for at, place in lost], [(place.epoch, place.seq) for _, place in lost]
    return Marks(rank, places, torn, rises, epochs, last)


def last_ts_ms(edges: Sequence[Edge]) -> int:
    """Of all lines; 0 where there is none."""
    return max((last for edge in edges for _, last in edge.spans.values()), default=0)


def audit_topics(events: Iterable[Event], marks: Marks) -> tuple[list[Violation], int]:
    """The violations of a group of topics, and how many partitions it has."""
    trace = TopicTrace()
    found = [violation for event in _marked(events, marks, trace) for violation in trace.feed(event)]
    return [*found, *trace.end()], len(trace.partitions)


def audit_throttles(events: Iterable[Event], marks: Marks) -> list[Violation | Gap]:
    """What the events of `throttles.EVENTS` say of throttles."""
    throttles = Throttles()
    found: list[Violation | Gap] = []
    for event in _marked(events, marks, throttles):
        found += throttles.feed(event)
    return [*found, *throttles.end(marks.last_ts_ms)]


def _marked(events: Iterable[Event], marks: Marks, told: TopicTrace | Throttles) -> Iterator[Event]:
    done = 0
    for event in events:
        passed = bisect_right(marks.lost, (marks.rank[event.file], event.line))
        for epoch, seq in marks.torn[done:passed]:
            told.lost(epoch, seq)
        done = passed
        if not marks.is_superseded(event):
            yield event
    for epoch, seq in marks.torn[done:]:
        told.lost(epoch, seq)
