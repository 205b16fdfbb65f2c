"""The files that a user may hand to the demo. What cannot be used is one line that says what, where and why."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from stores.base import Corrupt
from stores.reading import parse_json, read_whole
from stores.transfer.formats import TwiceError, once_each
from stores.tree import TreeEntry, parse_tree

BROKERS_MAX: Final = 100
_RECORDED: Final = "kafka_3_9_tree_moving.json"

JUMBO: Final[Mapping[int, str | None]] = {
    1010: "E", 1011: "E", 1012: "E", 1013: "F", 1014: "F", 1015: "F", 1016: "E", 1017: "F", 1018: "A",
}  # fmt: skip
"""Nine brokers in racks of four, four and one: the shape of a published production cluster."""


class BadInput(Exception):
    """A file that cannot be used."""


def _read(path: Path) -> bytes:
    try:
        return read_whole(path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from None


def read_layout(path: Path) -> dict[int, str | None]:
    """`{"<broker id>": "<rack>"}`, null for no rack."""
    content = _read(path)
    try:
        found = parse_json(content, once_each)
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}") from None
    except TwiceError as error:
        raise BadInput(f"{path}: {error} stands in it twice") from None
    if not isinstance(found, dict) or not found:
        raise BadInput(f'{path}: expected {{"<broker id>": "<rack>" or null}}, got {found!r:.80}')
    layout: dict[int, str | None] = {}
    for name, rack in found.items():
        if not (name.isdecimal() and name.isascii()) or not 0 <= int(name[:12]) <= 2**31 - 1:
            raise BadInput(f"{path}: {name!r:.80} is not a broker id")
        if rack is not None and not isinstance(rack, str):
            raise BadInput(f"{path}: the rack of broker {name} must be a text or null, not {rack!r:.80}")
        if int(name) in layout:
            raise BadInput(f"{path}: broker {int(name)} stands in it twice")
        layout[int(name)] = rack or None
    if not 3 <= len(layout) <= BROKERS_MAX:
        raise BadInput(f"{path}: {len(layout)} brokers; a drain is shown with 3 to {BROKERS_MAX}")
    return layout


def recorded_tree() -> tuple[TreeEntry, ...]:
    """What real Kafka 3.9.1 brokers left in ZooKeeper while four moves were running."""
    return parse_tree(files("controller.cli").joinpath(_RECORDED).read_bytes(), _RECORDED)


def read_tree_file(path: Path) -> tuple[TreeEntry, ...]:
    """A recorded tree: path -> {"value": text, "version": int, "ephemeral": bool}."""
    try:
        return parse_tree(_read(path), str(path))
    except Corrupt as error:
        raise BadInput(str(error)) from None
