"""Where in a TOML file a value stands: `tomllib` keeps no lines, and a message with the line is found at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_TABLE: Final = re.compile(r"\s*\[([^\[\]]+)\]")
_KEY: Final = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")


def line_of(text: str, path: Sequence[str]) -> int | None:
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
