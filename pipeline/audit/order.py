"""Order: numbers, terms and the hash chain of one file, line by line; missing rows, and lines written after their term.

* A file is checked by itself; `stitched` compares the first line of each with the last one of the file before.
* A broken chain is reported once per term: it proves nothing about later lines anyway.
* After a rejected line, or a deleted file, the next number is unknown, and any number is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..journal.lines import Event
from .edges import TOLD_ONCE, Edge, Last, Light, Lost, light
from .following import after, between, ends, lost_before, missing_tail, superseded
from .values import Gap, Violation

_APART: Final = frozenset({"Takeover", "Gap", "Resigned"})
"""Events that never take the fast path."""


class FileOrder:
    """The lines of one file in their order, each given to `take`, or as `Light` to `feed`. `edge`: what is known before
    the first of them; of a file that goes on, the state after its last line."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._told: set[tuple[str, int]] = set()
        self._run: _Run | None = None

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
        edge = self._edge
        if edge.last is None or edge.ends_lost or edge.last.line.event == "Resigned":
            return None
        return _Run(edge.last, edge.spans[edge.last.line.epoch], edge.events)

    @property
    def edge(self) -> Edge:
        """The findings, and what the neighbouring files are compared with."""
        edge, run, self._run = self._edge, self._run, None
        last = None if run is None else run.last()
        if run is not None and last is not None:  # as if each line of the fast path had been fed
            edge.last = last
            edge.spans[run.epoch] = (run.first_ts, run.last_ts)
            edge.seq_max[run.epoch] = max(run.seq, edge.seq_max[run.epoch])
            edge.commits += run.commits
        return edge

    @property
    def reached_ms(self) -> int:
        """The last ts of all lines so far."""
        return max((last for _, last in self.edge.spans.values()), default=0)

    def feed(self, now: Light) -> list[Lost]:
        """Take the next line, whatever it is; return the places before it where rows are missing."""
        edge, reached_ms = self.edge, self.reached_ms
        if now.epoch < 0:
            edge.ends_lost, edge.bad_hash = True, now.hash
            return []
        lost = [lost_before(edge.last, now, reached_ms)] if edge.ends_lost else []
        edge.events[now.event] = edge.events.get(now.event, 0) + 1
        edge.commits += now.rows is not None
        first, last = edge.spans.get(now.epoch, (now.ts, now.ts))
        edge.spans[now.epoch] = (min(first, now.ts), max(last, now.ts))
        if now.lost is not None:
            edge.gaps.append(Gap("gap", edge.file, now.line, now.epoch, f"lines are missing: {now.lost}"))
        edge.seq_max[now.epoch] = max(now.seq, edge.seq_max.get(now.epoch, -1))
        if now.event == "Takeover":
            edge.takeovers[now.epoch] = min(now.seq, edge.takeovers.get(now.epoch, now.seq))
        return [*lost, *self._follow(edge, now, reached_ms)]

    def _follow(self, edge: Edge, now: Light, reached_ms: int) -> list[Lost]:
        """Compare it with the line before; the place between them, if the end of a term is missing there."""
        before, lost = edge.last, []
        if before is None:
            # Bad lines may precede the first one, which is then compared with nothing.
            edge.first = now
            edge.last = Last(now, now.row, ended=now.rows is not None, is_torn=edge.ends_lost)
            self._notes(ends(edge.file, edge.last))
        elif now.epoch < before.line.epoch:
            self._notes([superseded(edge.file, now, f"at least {before.line.epoch}, which took over earlier")])
        else:
            self._notes(between(edge.file, before, now, lost=edge.ends_lost, bad_hash=edge.bad_hash))
            if not edge.ends_lost and (gap := missing_tail(edge.file, before.line.at, now)) is not None:
                edge.gaps.append(gap)
                lost.append(lost_before(before, now, reached_ms))
            edge.last = after(before, now, lost=edge.ends_lost)
            self._notes(ends(edge.file, edge.last))
        edge.ends_lost, edge.bad_hash = False, None
        return lost

    def _notes(self, found: Iterable[Violation]) -> None:
        for violation in found:
            key = (violation.kind, violation.controller_epoch)
            if violation.kind not in TOLD_ONCE or key not in self._told:
                self._told.add(key)
                self._edge.violations.append(violation)


class _Run:
    """The fast path for lines of a term that simply follow each other. Most lines do, and a value for each would cost
    more. Lines are compared as dicts of the journal, and counted; any other line leaves the fast path."""

    __slots__ = (
        *("begun", "commits", "ended", "epoch", "event", "events"),
        *("first_ts", "hash", "is_torn", "last_ts", "row", "seq"),
    )

    def __init__(self, last: Last, span: tuple[int, int], events: dict[str, int]) -> None:
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
        self.events[name] = self.events.get(name, 0) + 1
        return True

    def last(self) -> Last | None:
        """The last line that was taken."""
        now = None if self.event is None else light(self.event)
        return None if now is None else Last(now, self.begun, self.ended, self.is_torn)
