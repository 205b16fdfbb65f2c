"""The order of a whole journal: its files one after the other, what is missing between them, and what was written late.

An audit calls `begin` for each file, feeds the lines that do not simply follow, and ends the file with its edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from ...controller.codec.journal import STARTS_CHAIN, FileName, file_name
from .edges import TOLD_ONCE, Edge, Last, Light, Lost, said
from .following import between, lost_before, missing_tail, superseded
from .order import FileOrder
from .values import Gap, Violation


class Stitched:
    """The files of a journal in order. `edges`: of the files that have ended; `reached_ms`: the last ts of their
    lines."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self.reached_ms = 0
        self._gaps: list[Gap] = []
        self._violations: list[Violation] = []
        self._before: Last | None = None
        self._name: FileName | None = None
        self._is_lost = False  # rows are missing before the next line
        self._file = ""

    @property
    def between(self) -> tuple[Last | None, str, bool, int]:
        """What the next file is compared with: the last line before, the file that began last, whether rows are missing
        after it, and the last ts."""
        return self._before, self._file, self._is_lost, self.reached_ms

    def resume(self, before: Last | None, file: str, is_lost: bool, reached_ms: int) -> None:  # noqa: FBT001 - as above
        """Restore what `between` returned."""
        self._before, self._file, self._is_lost, self.reached_ms = before, file, is_lost, reached_ms
        self._name = file_name(PurePath(file).name)

    def begin(self, file: str) -> None:
        """Begin the next file."""
        missing = missing_before(self._name, file)
        if missing is not None:
            self._gaps.append(missing)
            self._is_lost = True
        self._name, self._file = file_name(PurePath(file).name), file

    def first(self, now: Light, *, is_torn: bool) -> Lost | None:
        """Take the first line of the file; return the place before it if rows are missing there. `is_torn`: lines
        before it in its file cannot be read."""
        before, is_lost, self._is_lost = self._before, self._is_lost, False
        self._violations += _first(self._file, before, now, lost=is_lost or is_torn)
        tail: Gap | None = None
        if before is not None and not is_lost:
            tail = missing_tail(self._file, before.line.at, now)
        if tail is not None:
            self._gaps.append(tail)
        return lost_before(before, now, self.reached_ms) if tail is not None or is_lost else None

    def feed(self, order: FileOrder, now: Light) -> list[Lost]:
        """Take the next line of the file with this order; return the places before it where rows are missing."""
        is_first = order.edge.first is None
        places = order.feed(now)
        if is_first and order.edge.first is not None:
            place = self.first(now, is_torn=bool(places))
            places += [] if place is None else [place]
        return [place._replace(reached_ms=max(self.reached_ms, place.reached_ms)) for place in places]

    def end(self, edge: Edge, *, is_gone: bool) -> None:
        """End the file. `is_gone`: it could not be read to its end."""
        self.edges.append(edge)
        self._before = edge.last or self._before
        self.reached_ms = max(self.reached_ms, *(last for _, last in edge.spans.values()), 0)
        self._is_lost = self._is_lost or is_gone or edge.ends_lost

    def gaps(self) -> list[Gap]:
        """The gaps of all files and between them."""
        return [*(gap for edge in self.edges for gap in edge.gaps), *self._gaps]

    def violations(self) -> list[Violation]:
        """The violations of all files and between them."""
        return [*(v for edge in self.edges for v in edge.violations), *self._violations]


def first_of_term(
    rank: Mapping[str, int], found: Iterable[Violation], told: set[tuple[str, int]]
) -> Iterator[Violation]:
    """Those of `found` to report: of some kinds only the first of each term, in the order of the journal. `told`: kinds
    and epochs that were reported before; those reported now are added."""
    for violation in sorted(found, key=lambda v: (rank.get(v.file, len(rank)), v.line)):
        key = (violation.kind, violation.controller_epoch)
        if violation.kind not in TOLD_ONCE or key not in told:
            told.add(key)
            yield violation


def missing_before(before: FileName | None, file: str) -> Gap | None:
    """A gap if the names of two consecutive files show that one between them is missing."""
    now = file_name(PurePath(file).name)
    if now is None:
        return None
    same_term = before is not None and before[:2] == now[:2]
    expected = before.n + 1 if before is not None and same_term else 0
    if now.n == expected:
        return None
    kind = "missing file" if same_term else "missing start"
    return Gap(
        kind, file, 0, now.controller_epoch, f"expected n {expected} of epoch {now.controller_epoch}, got {now.n}"
    )


def _first(file: str, before: Last | None, now: Light, *, lost: bool) -> Iterator[Violation]:
    if before is not None:
        if now.epoch < before.line.epoch:
            yield superseded(file, now, f"at least {before.line.epoch}, which took over earlier")
            return
        yield from between(file, before, now, lost=lost)
    elif not lost:
        yield from _begins(file, now)


def _begins(file: str, now: Light) -> Iterator[Violation]:
    """The very first line, with nothing before it."""
    if now.event not in STARTS_CHAIN:
        yield said(file, "term", now, f"the Takeover of epoch {now.epoch}", now.event)
    if now.row != 0:
        yield said(file, "numbering", now, f"row 0 of seq {now.seq}", now.row)


def suspects(edges: Sequence[Edge]) -> Iterator[tuple[str, int, int]]:
    """File, epoch, and the seq from which the file's lines of this epoch were written too late."""
    taken: dict[int, int] = {}
    for edge in edges:
        for epoch, seq in edge.takeovers.items():
            taken[epoch] = min(seq, taken.get(epoch, seq))
    for edge in edges:
        for epoch, seq in sorted(edge.seq_max.items()):
            bound = taken_over(taken, epoch)
            if bound is not None and seq >= bound:
                yield edge.file, epoch, bound


def taken_over(taken: Mapping[int, int], epoch: int) -> int | None:
    """The seq with which a later term took over; None if none did. `taken`: the first seq of each term."""
    return min((seq for other, seq in taken.items() if other > epoch), default=None)


def written_late(file: str, lights: Iterable[Light], epoch: int, bound: int) -> Violation | None:
    """The first line of `epoch` whose seq is at or above `bound`, with which a later term took over."""
    for now in lights:
        if now.epoch == epoch and now.seq >= bound:
            return superseded(file, now, f"the term that took over with seq {bound}")
    return None
