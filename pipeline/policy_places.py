"""Where in a TOML file a value stands: `tomllib` keeps no lines, and a message with the line is found at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TABLE: Final = re.compile(r"\s*\[([^\[\]]+)\]")
_KEY: Final = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")


def at(file: Path, names: Sequence[str]) -> str:
    """The file, and the line in it of the value or table with these names, if that is found."""
    line = _line_of(file.read_text(encoding="utf-8"), names)
    return f"{file}" if line is None else f"{file}:{line}"


def _line_of(text: str, path: Sequence[str]) -> int | None:
    """The number of the line of the value at `path`, else of its table; None if there is neither, as in an inline
    table."""
    table: tuple[str, ...] = ()
    own: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if found := _TABLE.match(line):
            table = tuple(word.strip().strip("\"'") for word in found[1].split("."))
            own = number if table == tuple(path[: len(table)]) else own
        elif (found := _KEY.match(line)) and (*table, found[1]) == tuple(path):
            return number
    return own
