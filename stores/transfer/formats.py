"""The files that a tree may be loaded from, told apart by what stands in them.

* The snapshot of a memory store (`stores.memory.file`): what `dump` writes; it has a checksum.
* A recorded tree (`stores.tree`): path -> value, version, ephemeral; what was read from a ZooKeeper by other tools.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import attrs

from stores.base import Corrupt
from stores.memory.file import image_of
from stores.reading import parse_json
from stores.tree import entries_of, kept

SNAPSHOT: Final = "snapshot"
RECORDED: Final = "recorded tree"


@attrs.frozen
class Tree:
    """What a file holds, to be put: `values` by key, sorted. `ephemerals` and `hollow` count what was left out: keys
    that were a session's, and nodes without data that others stand below. `consistent`: whether it was one instant,
    None where the file does not say."""

    format: Literal["snapshot", "recorded tree"]
    values: dict[str, bytes]
    ephemerals: int = 0
    hollow: int = 0
    consistent: bool | None = None


def parse(data: bytes, source: str) -> Tree:
    """The tree in `data`, of either format; `source` names it in errors. Raises Corrupt for anything else."""
    try:
        document = parse_json(data, once_each)
    except TwiceError as error:
        raise Corrupt(f"{source}: {error} stands twice in one object") from None
    except ValueError as error:
        raise Corrupt(f"{source}: not a whole JSON file: {error}") from error
    if not isinstance(document, dict) or not document:
        raise Corrupt(f"{source}: neither a snapshot nor a recorded tree")
    return _snapshot(document, source) if "format" in document else _recorded(document, source)


class TwiceError(Exception):
    """An object of JSON has two members with one name, which the message gives."""


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`. Of two members with one name it takes the last, and nobody would know of the other. Raises
    TwiceError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise TwiceError(f"{next(name for name in names if names.count(name) > 1)!r:.100}")
    return found


def _snapshot(document: Any, source: str) -> Tree:
    image = image_of(document, source)
    values = {key: image.rows[key][0] for key in sorted(image.rows)}
    return Tree("snapshot", values, consistent=image.consistent)


def _recorded(document: Any, source: str) -> Tree:
    entries = entries_of(document, source)
    values = {key: value for key, value, _ in kept(entries)}
    ephemerals = sum(entry.ephemeral for entry in entries)
    return Tree("recorded tree", values, ephemerals, len(entries) - len(values) - ephemerals)
