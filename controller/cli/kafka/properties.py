"""Files of properties as Java reads them: `key=value`, `key: value`, `key value`, comments, escapes, long lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controller.cli.kafka.errors import Failed
from controller.cli.printing import one_line

_SPLIT: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAME: Final = re.compile(r"[!-~]+")
_UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")  # what no text holds
_NAMED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """What stands in the file; of a key that stands there twice, the last. Raises Failed."""
    from stores.reading import read_whole  # noqa: PLC0415 - stores are loaded where a file is read

    try:
        data = read_whole(path, mib_max=1)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or one_line(error)}") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what Java's own files were written in
    wrong = next((number for number, line in enumerate(text.split("\n"), 1) if _UNPRINTED.search(line)), None)
    if wrong is not None:
        raise Failed(f"{path}: no file of properties, line {wrong} is not text")
    found = parse_properties(text)
    strange = next((name for name in found if not _NAME.fullmatch(name)), None)
    if strange is not None:
        raise Failed(f"{path}: no file of properties, {strange!a:.80} is no name of one")
    return found


def parse_properties(text: str) -> dict[str, str]:
    """As `read_properties`, of a text."""
    found = {}
    for line in _logical_lines(text):
        matched = _SPLIT.fullmatch(line)
        if matched is not None:
            found[_unescaped(matched[1])] = _unescaped(matched[2])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and empty ones; those that end with an odd number of backslashes go on in the next."""
    begun = ""
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        whole = begun + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            begun = whole[:-1]
            continue
        begun = ""
        yield whole
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    def meant(found: re.Match[str]) -> str:
        said = found[1]
        return chr(int(said[1:], 16)) if len(said) == 5 else _NAMED.get(said, said)

    return _ESCAPE.sub(meant, text)
