"""The audit in this process: one pass over the files, in the order of the journal, without a JVM; or in several
processes, which say the same.

Memory grows with partitions and what is in flight, not with lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from controller.codec.journal import file_name
from pipeline.audit import throttles as t
from pipeline.audit.conclusion import conclude
from pipeline.audit.edges import Edge, Light, Lost, light
from pipeline.audit.following import lost_before, missing_tail
from pipeline.audit.groups import last_ts_ms
from pipeline.audit.order import FileOrder
from pipeline.audit.rest import Rest
from pipeline.audit.several import ProcessEnded, audit_in
from pipeline.audit.stitched import missing_before
from pipeline.audit.throttles import Throttles
from pipeline.audit.topics import TopicTrace
from pipeline.audit.values import Audit, Violation
from pipeline.journal.files import NoJournal, Part, read_part, read_whole, split, whole_part
from pipeline.journal.lines import Event

Told = Callable[[int, int], None]
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

    Raises NoJournal if a file cannot be read at all, or none holds a line of a journal.
    """
    parts = [part_of(path) for path in files]
    if processes > 1 and sum(part.end for part in parts) >= several_bytes:
        with suppress(ProcessEnded):  # a file went while it was read, or memory: one pass says what it was
            return conclude(*audit_in(processes, parts, told), lights_of)
    run = _Run(told)
    run.total = sum(part.end for part in parts)
    for part in parts:
        run.file(part)
    return run.result()


def lights_of(file: str) -> Iterator[Light]:
    """What the order of a file's lines needs."""
    return (now for event in read_whole(Path(file)) if (now := light(event)) is not None)


def part_of(path: Path) -> Part:
    try:
        return whole_part(path)
    except OSError as error:
        raise NoJournal(f"{path}: {error.strerror or error}") from error


class _Run:
    def __init__(self, told: Told) -> None:
        self.total = 0
        self._told = told
        self._done = 0
        self._trace = TopicTrace()
        self._throttles = Throttles()
        self._edges: list[Edge] = []
        self._found: list[Violation] = []
        self._rest = Rest()
        self._is_lost = False
        self._last: tuple[int, int] | None = None

    def file(self, part: Part) -> None:
        name = file_name(PurePath(self._edges[-1].file).name) if self._edges else None
        if missing_before(name, part.path) is not None or (self._edges and self._edges[-1].file in self._rest.gone):
            self._is_lost = True
        order = FileOrder(part.path)
        events = (event for one in split(part) for event in read_part(one))
        for number, event in enumerate(events):
            self._event(order, event)
            if number % _TELL_EVERY == 0 and part.end:
                self._told(self._done + min(part.end, number * 400), self.total)
        self._done += part.end
        self._told(self._done, self.total)
        self._note(order.last_place())
        self._edges.append(order.edge())

    def _event(self, order: FileOrder, event: Event) -> None:
        if not order.goes_on(event):
            self._note(order.last_place())
            self._apart(order, event)
        if event.row is None:
            return
        if found := self._trace.feed(event):
            self._found += found
        if event.row["event"] in t.EVENTS:
            self._found += self._throttles.feed(event)

    def _apart(self, order: FileOrder, event: Event) -> None:
        """What does not plainly follow on the line before."""
        now = light(event)
        if now is not None:
            order.feed(now)
        if event.row is None:
            self._rest.take(event)
            self._is_lost = self._is_lost or now is not None
            return
        assert now is not None
        self._before(event.file, now)

    def _note(self, place: tuple[int, int] | None) -> None:
        """Where the last line stands that no later term had superseded, of all files so far."""
        if place is not None and (self._last is None or place[0] >= self._last[0]):
            self._last = place

    def _before(self, file: str, now: Light) -> None:
        """What is missing before a line, is told before it."""
        if self._is_lost:
            place = lost_before(now)
        elif self._last is not None and missing_tail(file, self._last, now) is not None:
            place = Lost(now.line)
        else:
            return
        self._is_lost = False
        self._trace.lost(place.epoch, place.seq)
        self._throttles.lost()

    def result(self) -> Audit:
        self._found += self._trace.end()
        at_end = list(self._throttles.end(last_ts_ms(self._edges)))
        return conclude(
            self._edges,
            self._rest,
            [*self._found, *at_end],
            len(self._trace.partitions),
            lights_of,
        )
