"""The trace: rows in their order, with their numbers and terms, each given to the rule of its event.

* A row that breaks a rule is reported and still taken in, so a caller can feed on to get all violations.
* A term begins with its Takeover. `lost` says that rows are missing (a file of a rotated journal is gone); a Gap row
  says the same. From there on a partition is taken as its next row describes it.
* An event without a rule here is counted in `unchecked`; the values of its partition are accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from .others import TABLE, take_over
from .partitions import check_commit, partition_row
from .standing import Broken, Illegal, PartitionState, Row, broken, detail, number
from .steps import PARTITION_EVENTS
from .term import ReplayedTerm

_RULES: Final[Mapping[str, Callable[[ReplayedTerm, Row], None]]] = {
    **dict.fromkeys(PARTITION_EVENTS, partition_row),
    **TABLE,
}

CHECKED: Final = frozenset({*_RULES, "Takeover", "Gap"})
"""Events with a rule."""


class Trace:
    """All terms of a cluster, row by row. `unchecked`: events without a rule, with their number of rows."""

    def __init__(self) -> None:
        self.unchecked: Counter[str] = Counter()
        self._term: ReplayedTerm | None = None
        self._epochs: dict[tuple[str, str, int], int] = {}
        self._rows_lost = False
        self._resigned = False
        self._seq = -1
        self._row = -1
        self._first = 0  # number of the first row of the present commit
        self._anywhere = False  # the next row may be any row of its commit
        self._ended = True  # the last row was the last of its commit

    def lost(self) -> None:
        """Say that rows are missing before the next one."""
        self._rows_lost = True

    def standing(self, topic: str, partition: int) -> PartitionState | None:
        """The state of a partition after the rows so far; None if no row was about it."""
        return None if self._term is None else self._term.partitions.get((topic, partition))

    def feed(self, row: Row) -> Illegal | None:
        """Take in the next row; returns the first rule that it breaks, None if it breaks none."""
        found: Broken | None = None
        try:
            for name in ("epoch", "seq", "row"):
                number(row, name)
        except Broken as error:
            return _illegal(row, error)  # without its numbers the row has no known predecessor
        for take in (self._begin, self._number, self._apply, self._end):
            try:
                take(row)
            except Broken as error:
                found = error if found is None else found
        return None if found is None else _illegal(row, found)

    # --- terms

    def _begin(self, row: Row) -> None:
        epoch, event = row["epoch"], row.get("event")
        before, lost = self._term, self._rows_lost
        if before is not None and before.epoch == epoch and event != "Takeover":
            if lost:
                self._lose(before)
            if self._resigned:
                broken("term", "nothing after Resigned", event)
            return
        self._rows_lost = self._resigned = False
        self._term = ReplayedTerm(epoch, self._epochs, is_whole=event == "Takeover")
        self._ended, self._row, self._anywhere = True, -1, lost
        if before is not None and epoch <= before.epoch:
            broken("term", f"a controller epoch above {before.epoch}", epoch)
        if event not in ("Takeover", "Gap") and not lost:
            broken("term", f"the Takeover of epoch {epoch}", event)

    def _lose(self, term: ReplayedTerm) -> None:
        term.lost()
        self._rows_lost, self._ended, self._anywhere = False, True, True

    def _number(self, row: Row) -> None:
        seq, n = row["seq"], row["row"]
        seq_before, row_before, ended = self._seq, self._row, self._ended
        self._seq, self._row = seq, n
        is_next = seq == seq_before and row_before >= 0
        if ended:
            self._first = n
        if seq < seq_before or (not ended and not is_next):
            broken("numbering", f"seq {seq_before}" + (" or above" if ended else ", whose commit has not ended"), seq)
        expected = row_before + 1 if is_next else 0
        anywhere, self._anywhere = self._anywhere and not is_next, False
        if n != expected and not anywhere:
            broken("numbering", f"row {expected} of seq {seq}", n)

    def _apply(self, row: Row) -> None:
        term, event = self._term, row.get("event")
        assert term is not None
        if not isinstance(event, str):
            broken("shape", "a name as event", f"{event!r:.80}")
        if event == "Takeover":
            take_over(term, row)
        elif event == "Gap":
            self._gap(term, row)
        elif event in _RULES:
            self._resigned = event == "Resigned"
            _RULES[event](term, row)
        else:
            self._unknown(term, row, event)

    def _gap(self, term: ReplayedTerm, row: Row) -> None:
        """A Gap of a former term, written after this term's Takeover, hides no rows of this term."""
        first = detail(row).get("first")
        if not isinstance(first, Mapping) or first.get("controller_epoch") == term.epoch:
            term.lost()

    def _unknown(self, term: ReplayedTerm, row: Row, event: str) -> None:
        self.unchecked[event] += 1
        if "replicas" in row and "partition" in row:
            partition_row(term, row)

    def _end(self, row: Row) -> None:
        """After the last row of a commit, check that nothing is left half done."""
        self._ended = "rows" in row
        if not self._ended or self._term is None:
            return
        rows, expected = number(row, "rows"), self._row - self._first + 1
        check_commit(self._term)
        if rows != expected:
            broken("numbering", f"{expected} rows in this commit", rows)


def _illegal(row: Row, found: Broken) -> Illegal:
    partition = row.get("partition")
    topic = row.get("topic")
    epoch, seq, n = (value if type(value := row.get(name)) is int else -1 for name in ("epoch", "seq", "row"))
    return Illegal(
        epoch,
        seq,
        n,
        str(row.get("event")),
        topic if isinstance(topic, str) else None,
        partition if type(partition) is int else None,
        found.rule,
        found.expected,
        found.got,
    )
