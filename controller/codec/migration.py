"""`/kedge/migration`: the marker of a move to another store (docs/store-commands.md). It names the other store, and no
controller leads over a store that has one.

    {"version":1,"migration":"5f0c..","moved_to":"etcd://h:2379/prefix"}      in the former store, for good
    {"version":1,"migration":"5f0c..","copied_from":"zookeeper://h:2181/x"}   in the new one, until the move is complete

The command holds `/controller` meanwhile, with a value that gives no id of a controller.
"""

from __future__ import annotations

import attrs

from .text import BadValue, dump, fields, number, parse, text


@attrs.frozen
class Marker:
    """`migration`: an id that is the same on both sides. `other`: the URL of the other store, without secrets.
    `is_moved`: the cluster is in the other store; otherwise this store has a copy that is not complete."""

    migration: str
    other: str
    is_moved: bool

    def __str__(self) -> str:
        """What it means for the store, as a sentence."""
        if self.is_moved:
            return f"the cluster was moved to {self.other:.200}"
        return (
            f"here is an unfinished copy of {self.other:.200}: run `kedge store migrate` with the same two stores again"
        )


def decode_marker(value: bytes) -> Marker:
    """The marker in `value`. Raises BadValue."""
    found = fields(parse(value), "marker")
    number(found.get("version", 1), "version", 1, 1)
    is_moved = "moved_to" in found
    field = "moved_to" if is_moved else "copied_from"
    return Marker(text(found.get("migration"), "migration"), text(found.get(field), field), is_moved)


def encode_marker(marker: Marker) -> bytes:
    """The inverse of `decode_marker`."""
    field = "moved_to" if marker.is_moved else "copied_from"
    return dump({"version": 1, "migration": marker.migration, field: marker.other}).encode()


def encode_holder(other: str) -> bytes:
    """The value of `/controller` while the cluster is moved to or from `other`."""
    return dump({"version": 1, "migrates": other}).encode()


def is_holder(value: bytes) -> bool:
    """Whether a move holds `/controller`, and no controller."""
    try:
        return "migrates" in fields(parse(value), "controller")
    except BadValue:
        return False
