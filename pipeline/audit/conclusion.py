"""The result of an audit: the findings of all files, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ..journal.files import NoJournal, read_whole
from ..journal.lines import FILE_GONE, Event
from .edges import Edge, light
from .rest import Rest
from .stitched import Stitched, first_of_term, suspects, taken_over, written_late
from .topics import KNOWN
from .values import Audit, Counts, Gap, Violation, gaps_in_order, in_order

Again: TypeAlias = Callable[[str], Iterable[Event]]
"""The events of a file, or those of them that may be late. Raises OSError."""


def in_file(file: str) -> Iterator[Event]:
    return read_whole(Path(file))


def conclude(
    order: Stitched,
    rest: Rest,
    found: Sequence[Violation | Gap],
    partitions: int,
    again: Again = in_file,
) -> Audit:
    """The findings of the order and of the folds as one result. `again`: reads a file once more. Raises NoJournal if
    there is no line of a journal."""
    rank = {edge.file: at for at, edge in enumerate(order.edges)}
    violations = [v for v in found if isinstance(v, Violation)]
    violations += first_of_term(rank, [*order.violations(), *late(order.edges, rest, again=again)], set())
    gaps = [gap for gap in found if isinstance(gap, Gap)] + order.gaps()
    gaps += rest.gaps
    counts = _counts(order.edges, partitions)
    if not counts.lines and not rest.rejected_rows:
        raise NoJournal("the files hold no whole commit to audit")
    unchecked = tuple((event, n) for event, n in counts.events if event not in KNOWN)
    rejected = tuple(sorted(rest.rejected_rows, key=lambda q: (rank.get(q.source, 0), q.line, q.reason)))
    return Audit(in_order(rank, violations), gaps_in_order(rank, gaps), rejected, counts, unchecked)


def late(edges: Sequence[Edge], rest: Rest, told: Container[int] = (), again: Again = in_file) -> Iterator[Violation]:
    """Lines that were written after the end of their term, for which the files are read once more. A file that was
    deleted meanwhile is a gap. `told`: epochs to skip."""
    for file, epoch, bound in (one for one in suspects(edges) if one[1] not in told):
        try:
            lights = (now for event in again(file) if (now := light(event)) is not None)
            first = written_late(file, lights, epoch, bound)
        except OSError as error:
            rest.take(Event(file, 0, "", None, FILE_GONE, f"while it was read: {error.strerror or error}"))
        else:
            if first is not None:
                yield first


class LateLines:
    """The first line of each file and term that was written after a later term had taken over, kept while the rows
    pass, so that no file is read again. `takeovers`: those of all files."""

    def __init__(self, takeovers: Iterable[Event]) -> None:
        self._taken: dict[int, int] = {}
        for row in (event.row for event in takeovers if event.row is not None):
            self._taken[row["epoch"]] = min(row["seq"], self._taken.get(row["epoch"], row["seq"]))
        self._first: dict[tuple[str, int], Event] = {}

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """The same events."""
        epoch, bound = -1, None
        for event in events:
            row = event.row
            if row is not None:
                if row["epoch"] != epoch:
                    epoch = row["epoch"]
                    bound = taken_over(self._taken, epoch)
                if bound is not None and row["seq"] >= bound:
                    self._first.setdefault((event.file, epoch), event)
            yield event

    def again(self, file: str) -> list[Event]:
        """Those of a file."""
        return [event for (of, _), event in self._first.items() if of == file]


def _counts(edges: Sequence[Edge], partitions: int) -> Counts:
    events: Counter[str] = Counter()
    for edge in edges:
        events.update(edge.events)
    spans: dict[int, tuple[int, int]] = {}
    for edge in edges:
        for epoch, (first, last) in edge.spans.items():
            begun, ended = spans.get(epoch, (first, last))
            spans[epoch] = (min(begun, first), max(ended, last))
    return Counts(
        len(edges),
        sum(events.values()),
        sum(edge.commits for edge in edges),
        len(spans),
        partitions,
        tuple(sorted(events.items())),
        tuple((epoch, *span) for epoch, span in sorted(spans.items())),
    )
