"""Whose the lines of a file are, a byte for each: so that a process decodes what it has to judge, and passes over the
rest without looking at it.

Rows of a topic are all of one group, rows without one are of every group, and what says something of throttles is of
those who judge throttles, too. Lines that cannot be read are nobody's.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final
from zlib import compress, crc32, decompress

from pipeline.audit import throttles as t

GROUPS_MAX: Final = 100

_EVERY: Final = GROUPS_MAX  # of every group
_NOBODY: Final = _EVERY + 1
_THROTTLES: Final = 128  # added where it says something of throttles
_FAST: Final = 1


class Shares:
    """The lines of a file, from its first one on."""

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._of_lines = bytearray()
        self._of_topics: dict[str | None, int] = {None: _EVERY}

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """The line of this number, from 1, is an event; those between it and the one before are none."""
        missing = line - 1 - len(self._of_lines)
        if missing:
            self._of_lines += bytes((_NOBODY,)) * missing
        topic = row.get("topic")
        group = self._of_topics.get(topic)
        if group is None:
            group = self._of_topics[topic] = crc32(str(topic).encode()) % self._groups
        self._of_lines.append(group | _THROTTLES if row["event"] in t.EVENTS else group)

    def text(self) -> str:
        """As it travels between processes."""
        return b64encode(compress(self._of_lines, _FAST)).decode()


def shared(text: str, group: int | None) -> bytes:
    """Of what `Shares.text` gave, 1 for each line of a group, of throttles where it is None; else 0."""
    of_lines = decompress(b64decode(text))
    if group is None:
        return of_lines.translate(bytes(value >= _THROTTLES for value in range(256)))
    return of_lines.translate(bytes(value % _THROTTLES in (group, _EVERY) for value in range(256)))
