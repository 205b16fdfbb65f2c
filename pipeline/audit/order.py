"""Order: numbers, terms and the hash chain of one file, line by line; missing rows, and lines written after their term.

* A file is checked by itself; `stitched` compares the first line of each with the last one of the file before.
* A broken chain is reported once per term: it proves nothing about later lines anyway.
* After a rejected line, or a deleted file, the next number is unknown, and any number is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..journal.lines import Event
from .edges import TOLD_ONCE, Edge, Last, Light, Lost, light
from .following import after, between, ends, lost_before, missing_tail, superseded
from .values import Gap, Violation

_APART: Final = frozenset({"Takeover", "Gap", "Resigned"})
"""Events that never take the fast path."""


class FileOrder:
    """The lines of one file in their order, each given to `take`, or as `Light` to `feed`."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.first: Light | None = None
        self._last: Last | None = None
        self._lost_now = False
        self._bad_hash: str | None = None
        self._takeovers: dict[int, int] = {}
        self._seq_max: dict[int, int] = {}
        self._violations: list[Violation] = []
        self._gaps: list[Gap] = []
        self._told: set[tuple[str, int]] = set()
        self._events: Counter[str] = Counter()
        self._commits = 0
        self._spans: dict[int, tuple[int, int]] = {}
        self._run: _Run | None = None

    @classmethod
    def resumed(cls, edge: Edge) -> FileOrder:
        """The state after the last line of `edge`; earlier findings are not reported again."""
        order = cls(edge.file)
        order.first, order._last = edge.first, edge.last
        order._takeovers, order._seq_max, order._spans = dict(edge.takeovers), dict(edge.seq_max), dict(edge.spans)
        order._lost_now, order._bad_hash = edge.ends_lost, edge.bad_hash
        return order

    def take(self, event: Event) -> None:
        """Take the next event of the file."""
        if not self.goes_on(event):
            now = light(event)
            if now is not None:
                self.feed(now)

    def goes_on(self, event: Event) -> bool:
        """Whether the event was taken, because it simply follows the line before."""
        run = self._run
        if run is None:
            run = self._run = self._begun()
        return run is not None and event.row is not None and run.goes_on(event, event.row)

    def _begun(self) -> _Run | None:
        """The state that the next lines are compared with on the fast path; None if they cannot take it."""
        if self._last is None or self._lost_now or self._last.line.event == "Resigned":
            return None
        return _Run(self._last, self._spans[self._last.line.epoch], self._events)

    def _end_run(self) -> None:
        """Update the state as if each line of the fast path had been fed."""
        run, self._run = self._run, None
        last = None if run is None else run.last()
        if run is None or last is None:
            return
        self._last = last
        self._spans[run.epoch] = (run.first_ts, run.last_ts)
        self._seq_max[run.epoch] = max(run.seq, self._seq_max[run.epoch])
        self._commits += run.commits

    @property
    def reached_ms(self) -> int:
        """The last ts of all lines so far."""
        self._end_run()
        return max((last for _, last in self._spans.values()), default=0)

    def feed(self, now: Light) -> list[Lost]:
        """Take the next line, whatever it is; return the places before it where rows are missing."""
        reached_ms = self.reached_ms
        if now.epoch < 0:
            self._lost_now, self._bad_hash = True, now.hash
            return []
        lost = [lost_before(self._last, now, reached_ms)] if self._lost_now else []
        self._count(now)
        if now.lost is not None:
            self._gaps.append(Gap("gap", self.file, now.line, now.epoch, f"lines are missing: {now.lost}"))
        self._seq_max[now.epoch] = max(now.seq, self._seq_max.get(now.epoch, -1))
        if now.event == "Takeover":
            self._takeovers[now.epoch] = min(now.seq, self._takeovers.get(now.epoch, now.seq))
        return [*lost, *self._follow(now, reached_ms)]

    def _count(self, now: Light) -> None:
        self._events[now.event] += 1
        self._commits += now.rows is not None
        first, last = self._spans.get(now.epoch, (now.ts, now.ts))
        self._spans[now.epoch] = (min(first, now.ts), max(last, now.ts))

    def _follow(self, now: Light, reached_ms: int) -> list[Lost]:
        """Compare it with the line before; the place between them, if the end of a term is missing there."""
        before, lost = self._last, []
        if before is None:
            # Bad lines may precede the first one, which is then compared with nothing.
            self.first = now
            self._last = Last(now, now.row, ended=now.rows is not None, is_torn=self._lost_now)
            self._notes(ends(self.file, self._last))
        elif now.epoch < before.line.epoch:
            self._notes([superseded(self.file, now, f"at least {before.line.epoch}, which took over earlier")])
        else:
            self._notes(between(self.file, before, now, lost=self._lost_now, bad_hash=self._bad_hash))
            if not self._lost_now and (gap := missing_tail(self.file, before.line.at, now)) is not None:
                self._gaps.append(gap)
                lost.append(lost_before(before, now, reached_ms))
            self._last = after(before, now, lost=self._lost_now)
            self._notes(ends(self.file, self._last))
        self._lost_now, self._bad_hash = False, None
        return lost

    def _notes(self, found: Iterable[Violation]) -> None:
        for violation in found:
            key = (violation.kind, violation.controller_epoch)
            if violation.kind not in TOLD_ONCE or key not in self._told:
                self._told.add(key)
                self._violations.append(violation)

    def edge(self) -> Edge:
        """The findings, and what the neighbouring files are compared with."""
        self._end_run()
        return Edge(
            self.file,
            self.first,
            self._last,
            self._takeovers,
            self._seq_max,
            tuple(self._violations),
            tuple(self._gaps),
            dict(self._events),
            self._commits,
            self._spans,
            self._lost_now,
            self._bad_hash,
        )


class _Run:
    """The fast path for lines of a term that simply follow each other. Most lines do, and a value for each would cost
    more. Lines are compared as dicts of the journal, and counted; any other line leaves the fast path."""

    __slots__ = (
        *("begun", "commits", "ended", "epoch", "event", "events"),
        *("first_ts", "hash", "is_torn", "last_ts", "row", "seq"),
    )

    def __init__(self, last: Last, span: tuple[int, int], events: Counter[str]) -> None:
        was, self.begun, self.ended, self.is_torn = last
        self.epoch, self.seq, self.row, self.hash = was.epoch, was.seq, was.row, was.hash
        self.first_ts, self.last_ts = span
        self.events = events
        self.event: Event | None = None
        self.commits = 0

    def goes_on(self, event: Event, row: Mapping[str, Any]) -> bool:
        """Whether the event was taken as the next one."""
        name, seq, n, ts = row["event"], row["seq"], row["row"], row["ts"]
        if row["epoch"] != self.epoch or name in _APART or row.get("prev") != self.hash:
            return False
        begins = self.ended
        if (seq <= self.seq or n != 0) if begins else (seq != self.seq or n != self.row + 1):
            return False
        ends = "rows" in row
        if ends:
            if row["rows"] != n - (0 if begins else self.begun) + 1:
                return False
            self.commits += 1
        if begins:
            self.seq, self.begun, self.is_torn = seq, 0, False
        if not self.first_ts <= ts <= self.last_ts:
            self.first_ts, self.last_ts = min(self.first_ts, ts), max(self.last_ts, ts)
        self.row, self.ended, self.hash, self.event = n, ends, event.hash, event
        self.events[name] += 1
        return True

    def last(self) -> Last | None:
        """The last line that was taken."""
        now = None if self.event is None else light(self.event)
        return None if now is None else Last(now, self.begun, self.ended, self.is_torn)
