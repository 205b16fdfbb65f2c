"""Recorded trees: metadata of real Kafka brokers in ZooKeeper as a file, a JSON object of path -> node.

    {"/brokers/topics/t": {"value": "{...}", "version": 0}, "/brokers/ids/1": {"value": "..", "version": 1,
     "ephemeral": true}, "/brokers": {"version": 0}}

`version` is ZooKeeper's: how often the node was written since its creation, our generation.

A node without `value` holds no data. If nodes are below it, it is a mere parent and not a key. Otherwise it is a key
with an empty value (`kept`): some keys have only a name, such as that of a topic that Kafka is deleting. An empty
parent counts as a key too, since a file does not show the difference. That is harmless: in a ZooKeeper store, a parent
that never had a child is a key as well. A list of known parents would have to be Kafka's, which stores do not know, and
would lose or invent keys where it is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any, Final

import attrs

from .base import Corrupt, InvalidKey
from .checks import check_key
from .reading import parse_json, read_whole

_MEMBERS: Final = {"value", "version", "ephemeral"}
_GENERATION_MAX: Final = 2**31 - 1  # ZooKeeper's limit


@attrs.frozen
class TreeEntry:
    """One node of a recorded tree. `value` is None if the node holds no data."""

    key: str
    value: bytes | None
    generation: int
    ephemeral: bool = False


def read_tree(path: str | PathLike[str]) -> tuple[TreeEntry, ...]:
    """All nodes of the recorded tree in the file `path`, sorted by key. Raises Corrupt naming the file and the node,
    OSError if the file cannot be read."""
    return parse_tree(read_whole(path), str(path))


def parse_tree(data: bytes, source: str = "tree") -> tuple[TreeEntry, ...]:
    """All nodes of the recorded tree in `data`, sorted by key; errors name it as `source`. Raises Corrupt."""
    try:
        document = parse_json(data)
    except ValueError as error:
        raise Corrupt(f"{source}: not JSON: {error}") from error
    return entries_of(document, source)


def entries_of(document: Any, source: str) -> tuple[TreeEntry, ...]:
    """`parse_tree` of JSON that was parsed already. Raises Corrupt."""
    if not isinstance(document, dict):
        raise Corrupt(f"{source}: a tree must be an object of path -> node, not {type(document).__name__}")
    return tuple(_entry(key, node, source) for key, node in sorted(document.items()))


def kept(entries: Iterable[TreeEntry]) -> Iterator[tuple[str, bytes, int]]:
    """Key, value and generation of the nodes that a store keeps: neither ephemeral ones nor mere parents."""
    entries = list(entries)
    parents = parents_of(entry.key for entry in entries)
    for entry in entries:
        if not entry.ephemeral and (entry.value is not None or entry.key not in parents):
            yield entry.key, entry.value or b"", entry.generation


def parents_of(keys: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for key in keys:
        above = key.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _entry(key: str, node: Any, source: str) -> TreeEntry:
    try:
        check_key(key)
    except InvalidKey as error:
        raise Corrupt(f"{source}: {error}") from error
    if not isinstance(node, dict) or not set(node) <= _MEMBERS:
        raise Corrupt(f"{source}: {key}: a node must be an object of value, version and ephemeral", key=key)
    generation, ephemeral = node.get("version"), node.get("ephemeral", False)
    if type(generation) is not int or not 0 <= generation <= _GENERATION_MAX:
        raise Corrupt(f"{source}: {key}: version must be a number, at least 0, not {generation!r}", key=key)
    if not isinstance(ephemeral, bool):
        raise Corrupt(f"{source}: {key}: ephemeral must be true or false, not {ephemeral!r}", key=key)
    return TreeEntry(key, _value(key, node, source), generation, ephemeral)


def _value(key: str, node: dict[str, Any], source: str) -> bytes | None:
    if "value" not in node:
        return None
    text = node["value"]
    if not isinstance(text, str):
        raise Corrupt(f"{source}: {key}: value must be a string, not {type(text).__name__}", key=key)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Corrupt(f"{source}: {key}: value is not Unicode: {error}", key=key) from error
