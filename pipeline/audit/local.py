"""The audit in this process: one pass over the files, in the order of the journal, without a JVM; or in several
processes, which say the same.

Memory grows with partitions and what is in flight, not with lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

from pipeline.audit.conclusion import conclude
from pipeline.audit.edges import light
from pipeline.audit.fold import Found, last_ts_ms
from pipeline.audit.order import FileOrder
from pipeline.audit.pool import Told, audit_in
from pipeline.audit.rest import Rest
from pipeline.audit.stitched import Stitched
from pipeline.audit.throttles import EVENTS, Throttles
from pipeline.audit.topics import TopicTrace
from pipeline.audit.values import Audit
from pipeline.journal.files import NoJournal, Part, read_parts, whole_part
from pipeline.journal.lines import Event

_TELL_EVERY = 5_000
SEVERAL_BYTES = 2**24
"""Of less, one process is done before others have started."""


def audit(
    files: Sequence[Path],
    told: Told = lambda done, total: None,  # noqa: ARG005 - nobody looks
    *,
    processes: int = 1,
    several_bytes: int = SEVERAL_BYTES,
) -> Audit:
    """The audit of a journal, whose files stand in their order. `told`: called with how many bytes are done, of how
    many. `processes`: of how many it may make use, where there are `several_bytes` to read; the result is the same.
    A script that asks for several must be safe to import (`if __name__ == "__main__"`), as for any pool of processes.

    Raises NoJournal if a file cannot be read at all, or none holds a line of a journal.
    """
    parts = [part_of(path) for path in files]
    size = sum(part.end for part in parts)
    if processes > 1 and size >= several_bytes:
        with suppress(BrokenProcessPool, OSError, EOFError, MemoryError):  # one pass says what it was
            return conclude(*audit_in(processes, parts, told))
    one = OnePass(told, size)
    for part in parts:
        one.file(part)
    return one.result()


def part_of(path: Path) -> Part:
    try:
        return whole_part(path)
    except OSError as error:
        raise NoJournal(f"{path}: {error.strerror or error}") from error


class OnePass:
    """All rows of a journal through the order and the judges, side by side."""

    def __init__(self, told: Told, size: int) -> None:
        self._told, self._done, self._size = told, 0, size
        self._trace = TopicTrace()
        self._throttles = Throttles()
        self._order = Stitched()
        self._rest = Rest()
        self._found: Found = []

    def file(self, part: Part) -> None:
        """The next file."""
        order, feed = FileOrder(part.path), self._trace.feed
        self._order.begin(part.path)
        for number, event in enumerate(read_parts(part)):
            if not order.goes_on(event):
                self._apart(order, event)
            row = event.row
            if row is not None:
                if found := feed(event):
                    self._found += found
                if row["event"] in EVENTS:
                    self._found += self._throttles.feed(event)
            if number % _TELL_EVERY == 0:
                self._told(self._done + min(part.end, number * 400), self._size)
        self._done += part.end
        self._told(self._done, self._size)
        self._order.end(order.edge(), is_gone=part.path in self._rest.gone)

    def _apart(self, order: FileOrder, event: Event) -> None:
        """What does not plainly follow on the line before; rows that are missing before it are told before it."""
        if event.row is None:
            self._rest.take(event)
        now = light(event)
        for place in () if now is None else self._order.feed(order, now):
            self._trace.lost(place.epoch, place.seq)
            self._throttles.lost(place.epoch, place.seq)

    def result(self) -> Audit:
        """What all files come to. Raises NoJournal."""
        ends = [*self._trace.end(), *self._throttles.end(last_ts_ms(self._order.edges))]
        return conclude(self._order, self._rest, self._found + ends, len(self._trace.partitions))
