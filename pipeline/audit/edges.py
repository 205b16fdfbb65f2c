"""What of a line says where it stands in the order, and what of a file the files beside it are held against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from pipeline.audit.values import Gap, Violation
from pipeline.journal.lines import BAD_LINE, Event


class Light(NamedTuple):
    """What the order of a line needs. `epoch` -1: the line is in quarantine, only its hash is known."""

    line: int
    epoch: int
    seq: int = -1
    row: int = -1
    rows: int | None = None
    event: str = ""
    prev: str | None = None
    hash: str = ""
    topic: str | None = None
    partition: int | None = None
    lost: str | None = None
    """Of a Gap, what it says is missing."""
    ts: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Epoch and seq."""
        return self.epoch, self.seq


class Last(NamedTuple):
    """The line before: `begun` is the row with which its commit began, `ended` whether it was the last of it,
    `is_torn` whether lines of its commit are missing."""

    line: Light
    begun: int
    ended: bool
    is_torn: bool


class Lost(NamedTuple):
    """Rows are missing before `line`. `epoch`, `seq`: of the commit that goes on there without its beginning; -1: the
    next line begins one. `unended`: epoch and seq of the commit whose last row is among what is missing.
    `reached_ms`: the last ts of the lines before."""

    line: int
    epoch: int = -1
    seq: int = -1
    unended: tuple[int, int] = (-1, -1)
    reached_ms: int = 0


class Edge(NamedTuple):
    """What others need to know of a file. `takeovers`, `seq_max`: by controller epoch; `lost`: where rows
    are missing; `rises`: lines with which a higher epoch begins, and the last ts before; `spans`: first and last ts,
    by epoch; `ends_lost`: rows are missing after the last line; `bad_hash`: its hash, if that is a bad one."""

    file: str
    first: Light | None
    last: Last | None
    takeovers: Mapping[int, int]
    seq_max: Mapping[int, int]
    lost: tuple[Lost, ...]
    violations: tuple[Violation, ...]
    gaps: tuple[Gap, ...]
    rises: tuple[tuple[int, int, int], ...]
    events: Mapping[str, int]
    commits: int
    spans: Mapping[int, tuple[int, int]]
    ends_lost: bool = False
    bad_hash: str | None = None


TOLD_ONCE: Final = ("chain", "superseded epoch")
"""Kinds of which the first of each term is kept."""


def light(event: Event) -> Light | None:
    """None for what says something of a file as a whole, or of its tail."""
    row = event.row
    if row is None:
        return Light(event.line, -1, hash=event.hash) if event.problem == BAD_LINE and event.line else None
    lost = json.dumps(row.get("detail"), sort_keys=True) if row["event"] == "Gap" else None
    return Light(
        event.line,
        row["epoch"],
        row["seq"],
        row["row"],
        row.get("rows"),
        row["event"],
        row.get("prev"),
        event.hash,
        row.get("topic"),
        row.get("partition"),
        lost,
        row["ts"],
    )


def said(file: str, kind: str, now: Light, expected: object, got: object) -> Violation:
    at = (file, now.line, now.epoch, now.seq, now.row, now.event, now.ts)
    return Violation(kind, *at, now.topic, now.partition, None, str(expected), str(got))
