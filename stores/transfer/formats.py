"""The file formats that a tree can be loaded from; the content shows which it is.

* The snapshot of a memory store (`kedge.stores.memory.file`): written by `dump`, with a checksum.
* A recorded tree (`kedge.stores.tree`): path -> value, version, ephemeral; read from a ZooKeeper by other tools.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import attrs

from ..base import Corrupt
from ..memory.file import image_of
from ..reading import TwiceError, parse_json
from ..tree import entries_of, kept

SNAPSHOT: Final = "snapshot"
RECORDED: Final = "recorded tree"


@attrs.frozen
class Tree:
    """The content of a file. `values`: by key, sorted. `ephemerals` and `hollow` count what was left out: ephemeral
    keys, and nodes without data that are only parents. `consistent`: whether it is of one instant, None if the file
    does not say."""

    format: Literal["snapshot", "recorded tree"]
    values: dict[str, bytes]
    ephemerals: int = 0
    hollow: int = 0
    consistent: bool | None = None


def parse(data: bytes, source: str) -> Tree:
    """The tree in `data`, of either format; errors name it as `source`. Raises Corrupt for other content."""
    try:
        document = parse_json(data)
    except TwiceError as error:
        raise Corrupt(f"{source}: {error}") from None
    except ValueError as error:
        raise Corrupt(f"{source}: not a whole JSON file: {error}") from error
    if not isinstance(document, dict) or not document:
        raise Corrupt(f"{source}: neither a snapshot nor a recorded tree")
    return _snapshot(document, source) if "format" in document else _recorded(document, source)


def _snapshot(document: Any, source: str) -> Tree:
    image = image_of(document, source)
    values = {key: image.rows[key][0] for key in sorted(image.rows)}
    return Tree("snapshot", values, consistent=image.consistent)


def _recorded(document: Any, source: str) -> Tree:
    entries = entries_of(document, source)
    values = {key: value for key, value, _ in kept(entries)}
    ephemerals = sum(entry.ephemeral for entry in entries)
    return Tree("recorded tree", values, ephemerals, len(entries) - len(values) - ephemerals)
