"""Order: numbers, terms and the chain of hashes of one file, line by line; what is missing, and who wrote after his
term.

* A file is checked by itself, so that files can be checked at once; `stitched` holds the first line of each against the
  last one of the file before.
* A broken chain is said once per term: what comes after the first place where it does not hold was not proved by it
  anyhow.
* After a line in quarantine, or a file that is gone, nobody knows which number comes next: it is taken as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from pipeline.audit.edges import TOLD_ONCE, Edge, Last, Light, Lost
from pipeline.audit.following import after, between, ends, lost_before, missing_tail, superseded
from pipeline.audit.values import Gap, Violation

_APART: Final = frozenset({"Takeover", "Gap"})
"""Events that always go the long way."""


class FileOrder:
    """The lines of one file, in their order, each given to `feed`."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._first: Light | None = None
        self._last: Last | None = None
        self._lost_now = False
        self._bad_hash: str | None = None
        self._takeovers: dict[int, int] = {}
        self._seq_max: dict[int, int] = {}
        self._lost: list[Lost] = []
        self._violations: list[Violation] = []
        self._gaps: list[Gap] = []
        self._told: set[tuple[str, int]] = set()
        self._rises: list[tuple[int, int]] = []
        self._events: Counter[str] = Counter()
        self._commits = 0
        self._spans: dict[int, tuple[int, int]] = {}

    def feed(self, now: Light) -> None:
        if self._goes_on(now):
            return
        if now.epoch < 0:
            self._lost_now, self._bad_hash = True, now.hash
            return
        if self._lost_now:
            self._lost.append(lost_before(now))
        self._count(now)
        if now.lost is not None:
            self._gaps.append(Gap("gap", self.file, now.line, now.epoch, f"lines are missing: {now.lost}"))
        self._seq_max[now.epoch] = max(now.seq, self._seq_max.get(now.epoch, -1))
        if now.event == "Takeover":
            self._takeovers.setdefault(now.epoch, now.seq)
        self._follow(now)

    def _goes_on(self, now: Light) -> bool:
        """Whether the line plainly follows on the one before: so do most, which then take half the time. What is not
        plain goes the long way."""
        before = self._last
        if before is None or self._lost_now or now.event in _APART:
            return False
        was, begun, ended, is_torn = before
        if now.epoch != was.epoch or now.prev != was.hash or was.event == "Resigned":
            return False
        if ended:
            if now.seq <= was.seq or now.row != 0:
                return False
            begun, is_torn = 0, False
        elif now.seq != was.seq or now.row != was.row + 1:
            return False
        if now.rows is not None:
            if now.rows != now.row - begun + 1:
                return False
            self._commits += 1
        self._events[now.event] += 1
        first, last = self._spans[now.epoch]
        if not first <= now.ts <= last:
            self._spans[now.epoch] = (min(first, now.ts), max(last, now.ts))
        if ended:
            self._seq_max[now.epoch] = max(now.seq, self._seq_max[now.epoch])
        self._last = Last(now, begun, now.rows is not None, is_torn)
        return True

    def _count(self, now: Light) -> None:
        self._events[now.event] += 1
        self._commits += now.rows is not None
        first, last = self._spans.get(now.epoch, (now.ts, now.ts))
        self._spans[now.epoch] = (min(first, now.ts), max(last, now.ts))
        if not self._rises or now.epoch > self._rises[-1][1]:
            self._rises.append((now.line, now.epoch))

    def _follow(self, now: Light) -> None:
        before = self._last
        if before is None:
            # Before the first line there may be bad ones: it is held against nothing then.
            self._first = now
            self._last = Last(now, now.row, ended=now.rows is not None, is_torn=self._lost_now)
            self._notes(ends(self.file, self._last))
        elif now.epoch < before.line.epoch:
            self._notes([superseded(self.file, now, f"at least {before.line.epoch}, which took over before")])
        else:
            self._notes(between(self.file, before, now, lost=self._lost_now, bad_hash=self._bad_hash))
            if not self._lost_now and (gap := missing_tail(self.file, before.line, now)) is not None:
                self._gaps.append(gap)
                self._lost.append(Lost(now.line))
            self._last = after(before, now, lost=self._lost_now)
            self._notes(ends(self.file, self._last))
        self._lost_now, self._bad_hash = False, None

    def _notes(self, found: Iterable[Violation]) -> None:
        for violation in found:
            key = (violation.kind, violation.controller_epoch)
            if violation.kind not in TOLD_ONCE or key not in self._told:
                self._told.add(key)
                self._violations.append(violation)

    def edge(self) -> Edge:
        """What was found, and what the files beside this one are held against."""
        return Edge(
            self.file,
            self._first,
            self._last,
            self._takeovers,
            self._seq_max,
            tuple(self._lost),
            tuple(self._violations),
            tuple(self._gaps),
            tuple(self._rises),
            dict(self._events),
            self._commits,
            self._spans,
            self._lost_now,
        )
