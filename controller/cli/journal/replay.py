"""`kedge journal replay`: checks the rows of a journal against the rules, and prints the table of each move.

* Every row up to --seq is checked, whatever is printed. The first illegal row ends the replay: file, line, rule,
  expected and got go to stderr, exit code 1. A broken link of the chain of hashes is an illegal row as well.
* A torn tail, a gap, files that are gone, and events without a rule are printed, and are not illegal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs
import click

from ...audit import RULES, Illegal, Trace
from ...model.plural import counted
from ...runtime.journal import JournalError, JournalProblem, Reading
from ..options import command, json_option, option
from ..printing import compact, fail, say
from .moves import Move, Moves

_ROWS_ARE_GONE: Final = ("missing start", "missing file")
EPOCHS_SAID_MAX: Final = 20


@command("replay", example="kedge journal replay journals/ --topic orders")
@click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--topic", metavar="NAME", none="all", help="Topic to print; all rows are checked.")
@option("--partition", metavar="ID", type=click.IntRange(min=0), none="all", help="Partition id in --topic.")
@option("--epoch", "--term", metavar="N", type=click.IntRange(min=0), none="all", help="Controller epoch, a number.")
@option("--seq", metavar="N", type=click.IntRange(min=0), none="the end", help="Number of the last commit to check.")
@json_option("Print one JSON line per move.")
def replay(
    paths: tuple[Path, ...],
    *,
    epoch: int | None,
    seq: int | None,
    topic: str | None,
    partition: int | None,
    as_json: bool,
) -> None:
    """Replay a journal step by step against the rules.

    JOURNAL is a file, or a folder of files. Prints the rows of each move; use it to see what led to a decision.
    Columns: R replicas, I in-sync replicas, T target replicas.

    Exit code: 0 all rows are legal; 1 a row is illegal; 2 the input cannot be used.
    """
    if partition is not None and topic is None:
        fail("--partition needs --topic")
    try:
        run = Replay(Reading(paths), Moves(topic, partition), epoch=epoch, seq=seq, as_json=as_json)
        run.run()
    except JournalError as error:
        fail(str(error))
    run.conclude()


@attrs.define
class Replay:
    """One run over a reading. `illegal`: the row that ended it, with file and line; None if all are legal."""

    reading: Reading
    moves: Moves
    epoch: int | None = None
    seq: int | None = None
    as_json: bool = False
    trace: Trace = attrs.field(factory=Trace)
    illegal: tuple[Path, int, Illegal] | None = None
    rows: int = 0
    _terms: list[int] = attrs.field(factory=list)
    _seen: list[int] = attrs.field(factory=list)
    _noted: int = 0  # findings that were looked at
    _link: JournalProblem | None = None

    def run(self) -> None:
        """Check the rows that the options choose, and print moves as they end. Raises JournalError."""
        for row in self.reading:
            if row["epoch"] not in self._seen[-1:]:
                self._seen.append(row["epoch"])
            if self.epoch not in (None, row["epoch"]):
                continue
            self._look_at_findings()
            if self._check_link(row) or (self.seq is not None and row["seq"] > self.seq):
                break
            if not self._take(row):
                break
        else:
            self._look_at_findings()
            self._check_link(None)
        self._print(self.moves.ended())
        self._print(self.moves.running())

    def _take(self, row: dict[str, Any]) -> bool:
        assert self.reading.at is not None
        if row["epoch"] not in self._terms[-1:]:
            self._terms.append(row["epoch"])
            self._print(self.moves.running())
        found = self.trace.feed(row)
        if found is not None:
            self.illegal = (*self.reading.at, found)
            return False
        self.rows += 1
        self.moves.feed(row)
        if "rows" in row:
            self._print(self.moves.ended())
        return True

    # --- what the reader found

    def _look_at_findings(self) -> None:
        fresh, self._noted = self.reading.findings[self._noted :], len(self.reading.findings)
        for finding in fresh:
            if self.epoch not in (None, finding.epoch):
                continue
            if finding.kind in _ROWS_ARE_GONE:
                self.trace.lost()
            elif finding.kind == "broken link" and self._link is None:
                self._link = finding

    def _check_link(self, row: dict[str, Any] | None) -> bool:
        """Whether the chain is broken before `row` (None: before the end), or by it."""
        link, at = self._link, self.reading.at
        if link is None or (row is not None and at is not None and at[0] == link.path and at[1] < link.line):
            return False
        epoch = -1 if link.epoch is None else link.epoch
        found = Illegal(epoch, -1, -1, "line", None, None, "chain", "the chain to hold", link.text)
        if row is not None and at == (link.path, link.line):
            found = attrs.evolve(found, seq=row["seq"], row=row["row"], event=row["event"])
        self.illegal = (link.path, link.line, found)
        return True

    # --- what is said

    def _print(self, moves: Iterable[Move]) -> None:
        for move in moves:
            for line in [move.as_json()] if self.as_json else [*move.as_text(), ""]:
                click.echo(line)

    def conclude(self) -> None:
        for finding in self.reading.findings:
            if finding.kind != "broken link" and self.epoch in (None, finding.epoch, *self._untold(finding)):
                say(str(finding))
        if self.trace.unchecked:
            counts = ", ".join(f"{event} ({count})" for event, count in sorted(self.trace.unchecked.items()))
            say(f"not checked, because no rule covers these events: {counts}")
        if self.illegal is not None:
            self._condemn(*self.illegal)
        if not self.rows:
            self._refuse()
        say(f"{counted(self.rows, 'legal row')} of {counted(len(self._terms), 'term')}")

    def _untold(self, finding: JournalProblem) -> tuple[int | None, ...]:
        return (self.epoch,) if finding.epoch is None else ()

    def _condemn(self, path: Path, line: int, found: Illegal) -> None:
        if self.as_json:
            illegal = attrs.asdict(found) | {"file": str(path), "line": line, "rule_in_words": RULES[found.rule]}
            click.echo(compact({"illegal": illegal}))
        say(f"{path}:{line}: illegal: {found}")
        sys.exit(1)

    def _refuse(self) -> None:
        if self.epoch is not None and self.epoch not in self._seen:
            there = ", ".join(map(str, self._seen[:EPOCHS_SAID_MAX])) or "none"
            fail(f"--epoch: no whole commit of epoch {self.epoch}; the journal has epochs {there}")
        fail("no whole commit to replay" if self.seq is None else f"--seq: no commit up to {self.seq}")
