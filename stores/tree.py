"""Metadata trees that real Kafka brokers left in ZooKeeper, as files: a JSON object of path -> node.

    {"/brokers/topics/t": {"value": "{...}", "version": 0}, "/brokers/ids/1": {"value": "..", "version": 1,
     "ephemeral": true}, "/brokers": {"version": 0}}

`version` is ZooKeeper's, that is how often the node was written since it was created: our generation. A node without
`value` holds no data (a mere parent, mostly).
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, Final

import attrs

from stores.base import Corrupt, InvalidKey
from stores.checks import check_key

_MEMBERS: Final = {"value", "version", "ephemeral"}
_GENERATION_MAX: Final = 2**31 - 1  # ZooKeeper's own


@attrs.frozen
class TreeEntry:
    """One node of a recorded tree. `value` is None where the node holds no data."""

    key: str
    value: bytes | None
    generation: int
    ephemeral: bool = False


def read_tree(path: str | PathLike[str]) -> tuple[TreeEntry, ...]:
    """All nodes of the recorded tree in the file `path`, sorted by key. Raises Corrupt naming the file and the node,
    OSError if the file cannot be read."""
    return parse_tree(Path(path).read_bytes(), str(path))


def parse_tree(data: bytes, source: str = "tree") -> tuple[TreeEntry, ...]:
    """All nodes of the recorded tree in `data`, sorted by key; `source` names it in the error. Raises Corrupt."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{source}: not JSON: {error}") from error
    return entries_of(document, source)


def entries_of(document: Any, source: str) -> tuple[TreeEntry, ...]:
    """`parse_tree`, of JSON that was read already. Raises Corrupt."""
    if not isinstance(document, dict):
        raise Corrupt(f"{source}: a tree is an object of path -> node, found {type(document).__name__}")
    return tuple(_entry(key, node, source) for key, node in sorted(document.items()))


def _entry(key: str, node: Any, source: str) -> TreeEntry:
    try:
        check_key(key)
    except InvalidKey as error:
        raise Corrupt(f"{source}: {error}") from error
    if not isinstance(node, dict) or not set(node) <= _MEMBERS:
        raise Corrupt(f"{source}: {key}: a node is an object of value, version and ephemeral", key=key)
    generation, ephemeral = node.get("version"), node.get("ephemeral", False)
    if type(generation) is not int or not 0 <= generation <= _GENERATION_MAX:
        raise Corrupt(f"{source}: {key}: version should be a number of 0 and above, found {generation!r}", key=key)
    if not isinstance(ephemeral, bool):
        raise Corrupt(f"{source}: {key}: ephemeral should be true or false, found {ephemeral!r}", key=key)
    return TreeEntry(key, _value(key, node, source), generation, ephemeral)


def _value(key: str, node: dict[str, Any], source: str) -> bytes | None:
    if "value" not in node:
        return None
    text = node["value"]
    if not isinstance(text, str):
        raise Corrupt(f"{source}: {key}: value should be a text, found {type(text).__name__}", key=key)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Corrupt(f"{source}: {key}: value is not Unicode: {error}", key=key) from error
