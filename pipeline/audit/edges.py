"""The part of a line that its order needs, and the part of a file that its neighbours are compared with."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

import attrs

from ..journal.lines import BAD_LINE, Event
from .values import Gap, Violation


class Light(NamedTuple):
    """What the order needs of a line. `epoch` -1: the line is rejected, only its hash is known."""

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
    """What a Gap says is missing."""
    ts: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Epoch and seq."""
        return self.epoch, self.seq


class Last(NamedTuple):
    """The line before: `begun` is the first row of its commit, `ended` whether it was the last row, `is_torn` whether
    lines of the commit are missing."""

    line: Light
    begun: int
    ended: bool
    is_torn: bool


class Lost(NamedTuple):
    """Rows are missing before `line`. `epoch`, `seq`: of the commit that continues there without its beginning; -1: the
    next line begins a commit. `unended`: epoch and seq of the commit whose last row is missing. `reached_ms`: the last
    ts of the lines before."""

    line: int
    epoch: int = -1
    seq: int = -1
    unended: tuple[int, int] = (-1, -1)
    reached_ms: int = 0


@attrs.define
class Edge:
    """What is known of a file so far. `takeovers`, `seq_max`: by controller epoch; `spans`: first and last ts, by
    epoch; `ends_lost`: rows are missing after the last line; `bad_hash`: the hash of the last line, if that is
    rejected."""

    file: str
    first: Light | None = None
    last: Last | None = None
    takeovers: dict[int, int] = attrs.field(factory=dict)
    seq_max: dict[int, int] = attrs.field(factory=dict)
    spans: dict[int, tuple[int, int]] = attrs.field(factory=dict)
    violations: list[Violation] = attrs.field(factory=list)
    gaps: list[Gap] = attrs.field(factory=list)
    events: dict[str, int] = attrs.field(factory=dict)
    commits: int = 0
    ends_lost: bool = False
    bad_hash: str | None = None


TOLD_ONCE: Final = ("chain", "superseded epoch")
"""Kinds of which only the first of each term is reported."""


def light(event: Event) -> Light | None:
    """None for an event about a file as a whole, or about its tail."""
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
