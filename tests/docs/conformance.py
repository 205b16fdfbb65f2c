"""The last column of docs/conformance.md: the tests that carry the number of a row in `@pytest.mark.checklist`.

`python -m tests.docs.conformance` rewrites the page. Markers are read from the sources, so that no test is imported and
one process sees those of all parts.

Rules
* A row that is `open` has no test; as soon as one names it, the tests stand there instead.
* A row without a test that does not say `open` stops the writing: a marker was lost, or the row has to be opened by
  hand.
* A marker with a number that is not on the page is refused.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
OPEN: Final = "open"
_ROW: Final = re.compile(r"^\| (\d+) \| (.+?) \|(?: (.*?))? \|$")


class Row(NamedTuple):
    """One line of the page: the number that tests name, the point in a sentence, and the tests or `open`."""

    number: int
    sentence: str
    shown_by: str


def row_of(line: str) -> Row | None:
    """The row that stands in a line of the page."""
    found = _ROW.match(line)
    return None if found is None else Row(int(found[1]), found[2], found[3] or "")


ROWS: Final = {row.number: row for line in PAGE.read_text(encoding="utf-8").splitlines() if (row := row_of(line))}
DUE: Final = frozenset(number for number, row in ROWS.items() if row.shown_by != OPEN)
TESTS: Final = PAGE.parents[1] / "tests"
WHOLE_FILE: Final = "*"
"""Stands for the name of a test where all tests of a file carry the marker, or the row of a table does."""


class StaleMarker(ValueError):
    """A marker and the page contradict each other; the message names the rows."""


def markers(folder: Path = TESTS) -> dict[int, dict[str, list[str]]]:
    """The tests of each row: their names by file."""
    found: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if ".checklist(" not in text:
            continue
        for row, name in _marked(ast.parse(text), ()):
            names = found[row][file.relative_to(folder).as_posix()]
            if name not in names:
                names.append(name)
    return {row: dict(files) for row, files in found.items()}


def _marked(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    for child in ast.iter_child_nodes(node):
        below = names
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            below = (*names, child.name)
        elif isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr == "checklist":
            for argument in child.args:
                yield ast.literal_eval(argument), "::".join(names) or WHOLE_FILE
        yield from _marked(child, below)


def cell(files: Mapping[str, Sequence[str]]) -> str:
    """What the page prints: each file with its tests; the file alone where it carries the marker as a whole."""
    parts = []
    for file, names in files.items():
        named = ", ".join(f"`{name}`" for name in names if name != WHOLE_FILE)
        parts.append(f"`{file}`" if WHOLE_FILE in names else f"`{file}`: {named}")
    return "; ".join(parts)


def rewritten(page: str, found: Mapping[int, Mapping[str, Sequence[str]]]) -> str:
    """The page with the tests of today. Raises StaleMarker."""
    lines, bare, seen = [], [], set()
    for line in page.splitlines():
        row = row_of(line)
        if row is None:
            lines.append(line)
            continue
        seen.add(row.number)
        files = found.get(row.number)
        if not files and row.shown_by != OPEN:
            bare.append(row.number)
        lines.append(f"| {row.number} | {row.sentence} | {cell(files) if files else OPEN} |")
    if unknown := sorted(found.keys() - seen):
        raise StaleMarker(f"tests name rows that {PAGE.name} does not have: {unknown}")
    if bare:
        raise StaleMarker(f"no test names these rows any more, and they are not {OPEN!r}: {bare}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Exit code 1, and the reason on stderr, where a marker and the page contradict each other."""
    try:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), markers()), encoding="utf-8")
    except StaleMarker as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{PAGE.name}: {len(ROWS)} rows\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
