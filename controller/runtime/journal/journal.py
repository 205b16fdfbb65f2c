"""The writer: turns rows into numbered and chained lines, and passes them to a sink, commit by commit.

* The lines of one commit are written together, all or none. The last has `rows`, their number, so that a file alone
  shows where its last whole commit ends.
* `prev` is the sha256 of the line before (its bytes without the line end). The first line of a term, its Takeover, has
  none: the chain begins again there.
* Errors of a sink end here. The journal then stops: it counts the lost commits, logs the error once, and tries again
  with every commit; the first that succeeds begins with a Gap row.
* No locks: only the thread that drives the loop calls it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final

import attrs

from ...model.records import Record
from ...model.values import Partition
from ...records import LineContext
from ...state import ClusterState
from . import unrecorded
from .sinks import Sink

_log = logging.getLogger(__name__)

CONFLICTS_MAX: Final = 1000  # keys with conflicts that are kept until the next commit


@attrs.frozen
class Decided:
    """The records of one Decision, and what they do not contain: its cause, its request, and how many bytes the move
    that ends here copied (None: unknown)."""

    records: Sequence[Record]
    cause: str | None = None
    request: str | None = None
    bytes_copied: int | None = None


@attrs.define
class _Gap:
    """What the sink has not written since its first error."""

    controller_epoch: int
    seq: int
    why: str
    commits: int = 0
    rows: int = 0

    def row(self) -> str:
        first = {"controller_epoch": self.controller_epoch, "seq": self.seq}
        return unrecorded.gap({"first": first, "commits": self.commits, "rows": self.rows, "why": self.why})


class Journal:
    """The journal of one controller over all its terms. Without a `sink`, nothing is built or written.

    `lines_written`, `commits_lost` and `rows_lost` only grow.
    """

    def __init__(self, sink: Sink | None = None) -> None:
        if sink is not None and not isinstance(sink, Sink):
            raise TypeError(f"sink must have begin, write and close (FolderSink, CallableSink, ...), not {sink!r:.200}")
        self.lines_written = 0
        self.commits_lost = 0
        self.rows_lost = 0
        self._sink = sink
        self._state: ClusterState | None = None  # of the running term
        self._epoch = 0
        self._seq = 0
        self._next_row = 0  # within the commit `seq`
        self._prev: str | None = None
        self._conflicts: dict[str, int] = {}
        self._gap: _Gap | None = None

    @property
    def is_kept(self) -> bool:
        """Whether there is a sink; without one no rows are needed."""
        return self._sink is not None

    @property
    def stopped(self) -> str | None:
        """Why nothing is written, None while it writes."""
        gap = self._gap  # read once: other threads may call this
        return None if gap is None else gap.why

    def takeover(self, state: ClusterState, seq: int, ts_ms: int) -> None:
        """A term begins. `seq`: of the commit that claimed the token. `state`: as loaded; it gives the ids of topics
        until the term ends."""
        if self._sink is None:
            return
        self._state, self._epoch, self._prev = state, state.controller_epoch, None
        self._conflicts = {}
        self._sink.begin(self._epoch)
        missed = [] if self._gap is None else [self._gap.row()]
        self._number(seq)
        self._write(ts_ms, [unrecorded.takeover(state), *missed])

    def commit(
        self, seq: int, ts_ms: int, decided: Iterable[Decided], partition_epoch: Callable[[Partition], int]
    ) -> None:
        """Write the rows of a commit, in the order of its decisions. `partition_epoch`: of a partition after the
        commit. Rows of earlier conflicts come first."""
        if self._sink is None or self._state is None:
            return
        rows = self._rows(ts_ms, decided, partition_epoch)
        if not rows:
            return
        if self._conflicts:
            rows[:0] = [unrecorded.conflict(key, count) for key, count in self._conflicts.items()]
            self._conflicts = {}
        self._number(seq)
        self._append(ts_ms, rows)

    def _rows(self, ts_ms: int, decided: Iterable[Decided], partition_epoch: Callable[[Partition], int]) -> list[str]:
        """A text per row of a commit, in the order of the records. Records without any row give one KeysRewritten, so
        that a missing seq means that nothing happened or lines were lost."""
        rows: list[str] = []
        first: LineContext | None = None
        for one in decided:
            context = LineContext(ts_ms, partition_epoch, self._topic_id, one.cause, one.request, one.bytes_copied)
            first = context if first is None and one.records else first
            for record in one.records:
                rows += record.lines(context)
        return [first.line("KeysRewritten")] if not rows and first is not None else rows

    def conflict(self, key: str, count: int) -> None:
        """Another program changed `key` first, for the `count`th time: a row of the next commit, or of the term's
        end."""
        if self._state is not None and (key in self._conflicts or len(self._conflicts) < CONFLICTS_MAX):
            self._conflicts[key] = count

    def resigned(self, ts_ms: int, why: str) -> None:
        """The term has ended. Outside a term nothing is written."""
        if self._sink is None or self._state is None:
            return
        rows = [unrecorded.conflict(key, count) for key, count in self._conflicts.items()]
        self._append(ts_ms, [*rows, unrecorded.resigned(why)])
        self._state, self._conflicts = None, {}
        self._sink.close()

    def close(self) -> None:
        """Close the sink, which makes its content as safe as it can. May be repeated."""
        self._state = None
        if self._sink is not None:
            self._sink.close()

    def _topic_id(self, name: str) -> str | None:
        return None if self._state is None else unrecorded.topic_id(self._state, name)

    def _number(self, seq: int) -> None:
        self._seq, self._next_row = seq, 0

    def _append(self, ts_ms: int, rows: list[str]) -> None:
        """Write within a term; a Gap row comes first if rows were lost."""
        self._write(ts_ms, rows if self._gap is None else [self._gap.row(), *rows])

    def _write(self, ts_ms: int, rows: list[str]) -> None:
        """Chain the rows and pass them to the sink; the chain advances only if it took them."""
        assert self._sink is not None
        prev, built = self._prev, []
        head = f'{{"epoch":{self._epoch},"seq":{self._seq},"row":'
        last = self._next_row + len(rows) - 1
        for row, text in enumerate(rows, self._next_row):
            link = "" if prev is None else f',"prev":"{prev}"'
            whole = f',"rows":{len(rows)}' if row == last else ""
            line = f'{head}{row},"ts":{ts_ms},{text}{whole}{link}}}'.encode("ascii")
            prev = sha256(line).hexdigest()
            built.append(line)
        try:
            self._sink.write(built)
        except Exception as error:  # noqa: BLE001 - a full disk, or a host's function, must not end the controller
            self._missed(error, len(rows))
        else:
            self._prev = prev
            self._next_row = last + 1
            self._goes_on(len(rows))

    def _missed(self, error: Exception, rows: int) -> None:
        why = f"{type(error).__name__}: {error}"
        gap = self._gap
        if gap is None:
            gap = self._gap = _Gap(self._epoch, self._seq, why[:500])
            _log.error("the journal stopped at epoch %d, seq %d: %s", self._epoch, self._seq, why)
        else:
            rows -= 1  # the Gap row itself is not lost content
        gap.commits += 1
        gap.rows += rows
        self.commits_lost += 1
        self.rows_lost += rows

    def _goes_on(self, rows: int) -> None:
        self.lines_written += rows
        if self._gap is not None:
            _log.warning("the journal continues; %d commits are missing", self._gap.commits)
            self._gap = None
