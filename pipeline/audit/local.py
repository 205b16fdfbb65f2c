"""The audit: one pass over the files of a journal in their order, or over its events.

Memory grows with partitions and what is in flight, not with lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ..journal.files import NoJournal, Part, read_part, split, whole_part
from ..journal.lines import Event
from .conclusion import Again, LateLines, conclude, in_file
from .edges import Edge, light
from .order import FileOrder
from .rest import Rest
from .stitched import Stitched
from .throttles import EVENTS, Throttles
from .topics import TopicTrace
from .values import Audit, Gap, Violation


def audit(
    files: Sequence[Path],
    told: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - no progress bar
) -> Audit:
    """The audit of a journal, whose files are in their order. `told`: called with the bytes done and the total. Raises
    NoJournal if a file cannot be read at all, or none holds a line of a journal."""
    parts = [part_of(path) for path in files]
    size = sum(part.end for part in parts)
    one, done = OnePass(), 0
    for part in parts:
        order = one.begin(part.path)
        for piece in split(part):
            one.feed(order, read_part(piece))
            told(done + piece.end, size)
        one.end(order)
        done += part.end
    return one.result()


def audit_of(events: Iterable[Event], takeovers: Iterable[Event]) -> Audit:
    """The audit of a journal's events in their order, which need not come from files. `takeovers`: the Takeovers among
    them. Raises NoJournal if none of them is a line of a journal."""
    one, late = OnePass(), LateLines(takeovers)
    for file, some in groupby(events, attrgetter("file")):
        order = one.begin(file)
        one.feed(order, late.passing(some))
        one.end(order)
    return one.result(late.again)


def part_of(path: Path) -> Part:
    try:
        return whole_part(path)
    except OSError as error:
        raise NoJournal(f"{path}: {error.strerror or error}") from error


class OnePass:
    """Feeds all rows of a journal to the order and to both judges. `trace`: the judge of topics."""

    def __init__(self) -> None:
        self.trace = TopicTrace()
        self._throttles = Throttles()
        self._order = Stitched()
        self._rest = Rest()
        self._found: list[Violation | Gap] = []
        self._epoch = -1

    def begin(self, file: str) -> FileOrder:
        """Begin the next file."""
        self._order.begin(file)
        return FileOrder(Edge(file))

    def feed(self, order: FileOrder, events: Iterable[Event]) -> None:
        """Take the next events of the file with this order."""
        feed = self.trace.feed
        for event in events:
            if not order.goes_on(event):
                self._apart(order, event)
            row = event.row
            if row is not None:
                if found := feed(event):
                    self._found += found
                if row["event"] in EVENTS:
                    self._found += self._throttles.feed(event)

    def end(self, order: FileOrder) -> None:
        """End the file."""
        self._order.end(order.edge, is_gone=order.edge.file in self._rest.gone)

    def _apart(self, order: FileOrder, event: Event) -> None:
        """An event that does not simply follow the line before. Missing rows before it are reported first."""
        if event.row is None:
            self._rest.take(event)
        now = light(event)
        if now is None:
            return
        if now.epoch > self._epoch:
            self._epoch = now.epoch
            self._found += self._throttles.until(max(self._order.reached_ms, order.reached_ms))
        for place in self._order.feed(order, now):
            self._found += [*self.trace.lost(place), *self._throttles.lost(place)]

    def result(self, again: Again = in_file) -> Audit:
        """The result of all files. `again`: reads a file once more. Raises NoJournal."""
        ends = [*self.trace.end(), *self._throttles.end(self._order.reached_ms)]
        return conclude(self._order, self._rest, self._found + ends, len(self.trace.partitions), again)
