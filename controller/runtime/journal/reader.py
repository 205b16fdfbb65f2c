"""The reader: the rows of journal files in the order in which they were written, and problems of the files.

* Only whole commits are returned. What follows the last one of a file is a torn tail: after a crash, or while it is
  written.
* Findings do not stop the reading: a broken link or a commit with missing lines (the first of each term), a torn tail,
  a Gap row of the writer, a term whose first files were deleted or one of whose files is missing.
* A file that is not a journal, or has other content between whole commits, raises JournalError.
* The chain cannot show that the whole end is missing, nor that the very last line was changed: no line follows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import attrs

from ...codec.journal import FIRST_BYTES, STARTS_CHAIN, ends_commit, in_order, row_of
from ...model.plural import counted
from .files import Named, files_in, named

Kind: TypeAlias = Literal["broken link", "torn tail", "gap", "missing start", "missing file"]
FINDINGS_MAX: Final = 1000


class JournalError(ValueError):
    """The given path cannot be read as a journal. The message names the file and the line."""


@attrs.frozen
class JournalProblem:
    """`line`: number of the line in `path`, from 1; 0 for the whole file. `epoch`: the term, None if unknown."""

    kind: Kind
    path: Path
    line: int
    text: str
    epoch: int | None = None

    def __str__(self) -> str:
        at = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{at}: {self.kind}: {self.text}"


class Reading:
    """The rows of all journal files in `paths` (files and folders), as dicts; can be iterated once. Meanwhile
    `findings` fills, and `at` is the file and line of the latest row.

    Files are read by controller epoch, then n; files with other names follow in the given order. Raises JournalError if
    there is nothing to read, or a path cannot be read.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.findings: list[JournalProblem] = []
        self.at: tuple[Path, int] | None = None
        self._files = _in_order(paths)
        self._epoch: int | None = None
        self._hash: str | None = None  # of the line before
        self._broken_epochs: set[int] = set()

    @property
    def broken_link(self) -> JournalProblem | None:
        """The first broken link of the chain, among the lines read so far."""
        return next((finding for finding in self.findings if finding.kind == "broken link"), None)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        before: Named | None = None
        for path in self._files:
            file = named(path)
            self._between(before, file)
            before = file
            try:
                yield from self._rows(path)
            except OSError as error:
                raise JournalError(f"{path}: {error.strerror or error}") from error

    def _between(self, before: Named | None, file: Named | None) -> None:
        """Check by the names of two consecutive files whether one is missing between them."""
        if file is None:
            return
        same_term = before is not None and before[:2] == file[:2]
        expected = before.n + 1 if before is not None and same_term else 0
        if file.n == expected:
            return
        self._hash = None
        text = f"expected n {expected}, got {file.n}"
        if same_term:
            text = f"{text}: files of epoch {file.controller_epoch} are missing"
            self._note("missing file", file.path, 0, text, file.controller_epoch)
        else:
            text = f"{text}: older files of epoch {file.controller_epoch} are gone"
            self._note("missing start", file.path, 0, text, file.controller_epoch)

    def _rows(self, path: Path) -> Iterator[dict[str, Any]]:
        """The whole commits of a file."""
        held: list[tuple[int, bytes]] = []  # lines of a commit that may not be whole
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1 and not FIRST_BYTES.startswith(line[: len(FIRST_BYTES)]):
                    raise JournalError(f"{path}:1: not a line of a journal: {line[:60]!r}")
                held.append((number, line.removesuffix(b"\n")))
                size = ends_commit(held[-1][1]) if line.endswith(b"\n") else None
                if size is not None:
                    for (at, _), row in zip(held[-size:], self._commit(path, held, size), strict=False):
                        self.at = (path, at)
                        yield row
                    held = []
        if held:
            self._note(
                "torn tail", path, held[0][0], f"{counted(len(held), 'line')} left out after the last whole commit"
            )

    def _commit(self, path: Path, held: list[tuple[int, bytes]], size: int) -> list[dict[str, Any]]:
        """The `size` rows of the commit that the last of `held` ends; none if lines are missing."""
        rows = [self._row(path, number, line) for number, line in held]
        commit = rows[-size:] if size else []
        first = commit[0]["row"] if commit else 0
        numbered = [(row["seq"], row["row"]) for row in commit]
        whole = bool(commit) and numbered == [(rows[-1]["seq"], first + i) for i in range(size)]
        if not whole or len(rows) > size:
            got = f"seq and row {numbered[:20]} of {counted(len(rows), 'line')}"
            text = f"expected a commit of {counted(size, 'row')}, got {got}"
            self._broken(path, held[-1][0], rows[-1]["epoch"], text)
        return commit if whole else []

    def _row(self, path: Path, number: int, line: bytes) -> dict[str, Any]:
        try:
            row = row_of(line)
        except ValueError as error:
            raise JournalError(f"{path}:{number}: {error}: {line[:60]!r}") from error
        self._check_link(path, number, row)
        self._hash = sha256(line).hexdigest()
        if row["event"] == "Gap":
            self._note("gap", path, number, f"lines are missing: {json.dumps(row.get('detail'))}", row["epoch"])
        return row

    def _check_link(self, path: Path, number: int, row: dict[str, Any]) -> None:
        before, epoch = self._hash, row["epoch"]
        same_term, self._epoch = epoch == self._epoch, epoch
        if "prev" not in row:
            if row["event"] not in STARTS_CHAIN:
                self._broken(path, number, epoch, f"{row['event']} has no prev, as only the first line of a term may")
        elif before is None or not same_term:
            # Nothing to compare with: earlier files or the first line are missing, and the former was reported.
            file = named(path)
            if file is None or file.n == 0 or number > 1:
                self._broken(path, number, epoch, f"{row['event']} begins epoch {epoch}, expected its Takeover")
        elif row["prev"] != before:
            self._broken(
                path, number, epoch, f"prev is {str(row['prev'])[:12]}..., the line before has {before[:12]}..."
            )

    def _broken(self, path: Path, number: int, epoch: int, text: str) -> None:
        if epoch not in self._broken_epochs:
            self._broken_epochs.add(epoch)
            self._note("broken link", path, number, text, epoch)

    def _note(self, kind: Kind, path: Path, line: int, text: str, epoch: int | None = None) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(JournalProblem(kind, path, line, text, epoch))


def _in_order(paths: Iterable[Path]) -> list[Path]:
    try:
        return in_order(one for path in paths for one in _expand(path))
    except JournalError:
        raise
    except ValueError as error:
        raise JournalError(str(error)) from None


def _expand(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        found = [file.path for file in files_in(path)]
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror or error}") from error
    if not found:
        raise JournalError(f"{path}: no journal files (<cluster>-<controller_epoch>-<n>.jsonl) in this folder")
    return found
