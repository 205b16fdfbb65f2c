"""The result of an audit: violations, each with its first offending event, gaps, and lines that could not be read.

* A violation is a broken rule. A gap is a place that cannot be judged: lines lost to a crash, a full disk or the
  rotation. A gap is neither a violation nor a proof.
* Both are sorted by their place, so that two engines give the same result to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Final, NamedTuple

from ...controller.audit import RULES

KINDS: Final[Mapping[str, str]] = {
    **RULES,
    "superseded epoch": "no line is written under a controller epoch once a later one has taken over",
    "throttle": "a throttle marked for removal is removed once no reassignment runs, and not before",
    "status": "a partition goes online, readOnly, offline, gone, and never back",
}
"""The kinds of violations: the rules of a legal trace, and those over whole journals."""

GAPS: Final[Mapping[str, str]] = {
    "gap": "the writer could not write: its Gap row says what is missing",
    "missing tail": "commits between the last line of a term and the next Takeover have no lines",
    "torn tail": "lines after the last whole commit of a file: a crash, or a writer at work",
    "missing start": "older files of a term were deleted by the rotation",
    "missing file": "a file between others of its term is missing",
    "file gone": "a file was deleted by the rotation while it was read",
    "late lines": "lines came after those of a later file: the stream checked only their order",
    "bad line": "a line that cannot be read was rejected",
    "open throttle": "a throttle marked for removal is still there at the end of the journal",
}
"""The kinds of gaps."""


VIOLATION_COLUMNS: Final = ("kind", "first event", "of", "epoch", "seq", "row", "expected", "got", "line")
"""The columns of a table of violations for readers."""


class Violation(NamedTuple):
    """One row of `AUDIT_VIOLATION`: the kind (a name in KINDS), the first offending event and the place of its line."""

    kind: str
    file: str
    line: int
    controller_epoch: int
    seq: int
    row: int
    event: str
    ts_ms: int
    topic: str | None
    partition: int | None
    broker_id: int | None
    expected: str
    got: str

    @property
    def place(self) -> str:
        """The name of the file, without folders, and the line."""
        return f"{PurePath(self.file).name}:{self.line}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"

    @property
    def of(self) -> str:
        """Its partition and its broker, as far as it has them."""
        topic = "" if self.topic is None else self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        return topic if self.broker_id is None else f"{topic} broker {self.broker_id}".strip()

    @property
    def text(self) -> str:
        """The violation without its place."""
        of = f" of {self.of}" if self.topic is not None else f" {self.of}" if self.of else ""
        at = f"epoch {self.controller_epoch}, seq {self.seq}, row {self.row}, {self.event}{of}"
        return f"{self.kind}: {at}: expected {self.expected}, got {self.got}"

    @property
    def cells(self) -> tuple[object, ...]:
        """A row of a table with the columns VIOLATION_COLUMNS."""
        at = (self.controller_epoch, self.seq, self.row)
        return self.kind, self.event, self.of, *at, self.expected, self.got, self.place


class Gap(NamedTuple):
    """One row of `AUDIT_GAP`. `line` 0: the file as a whole. `kind`: a name in GAPS."""

    kind: str
    file: str
    line: int
    controller_epoch: int | None
    text: str

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}" if self.line else self.file
        return f"{at}: {self.kind}: {self.text}"


class RejectedRow(NamedTuple):
    """One row of `REJECTED_ROWS`."""

    source: str
    line: int
    raw: str
    reason: str

    def __str__(self) -> str:
        at = f"{self.source}:{self.line}" if self.line else self.source
        return f"{at}: rejected: {self.reason}"


class Counts(NamedTuple):
    """What was checked."""

    files: int = 0
    lines: int = 0
    commits: int = 0
    terms: int = 0
    partitions: int = 0
    events: tuple[tuple[str, int], ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()
    """Controller epoch, and the times of its first and last line in ms."""


class Audit(NamedTuple):
    """The result. `unchecked`: events that no rule covers, and their numbers."""

    violations: tuple[Violation, ...]
    gaps: tuple[Gap, ...]
    rejected_rows: tuple[RejectedRow, ...]
    counts: Counts
    unchecked: tuple[tuple[str, int], ...]


def in_order(rank: Mapping[str, int], found: Iterable[Violation]) -> tuple[Violation, ...]:
    """Sorted by place. Of a kind, only the first in each commit about the same thing is kept, since the others follow
    from it. `rank`: the place of each file in the journal."""
    kept: dict[tuple[object, ...], Violation] = {}
    ordered = sorted(found, key=lambda v: (rank.get(v.file, len(rank)), *map(_key, v[1:]), v.kind))
    for violation in ordered:
        kept.setdefault((violation.kind, violation[3], violation[4], *violation[8:11]), violation)
    return tuple(kept.values())


def gaps_in_order(rank: Mapping[str, int], found: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(sorted(set(found), key=lambda g: (rank.get(g.file, len(rank)), g.line, g.kind, g.text)))


def _key(value: object) -> tuple[bool, object]:
    return value is not None, value if value is not None else 0
