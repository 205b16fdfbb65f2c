"""The legacy key: its content in the store, and the entries in force.

An entry is in force from the moment when its plan was read until its move ends, it is dropped, or a later request
replaces it. Until it is rewritten, the key in the store may name more entries.
"""

from __future__ import annotations

from ..model.legacy import NO_KEY, LegacyEntry, LegacyKey, LegacyName


class Legacy:
    """`key`: as in the store. `entries`: those in force. `is_there`: whether the key exists after everything decided so
    far; a commit of this batch may remove or rewrite it."""

    __slots__ = ("entries", "is_there", "key")

    def __init__(self) -> None:
        self.key: LegacyKey = NO_KEY
        self.entries: dict[LegacyName, LegacyEntry] = {}
        self.is_there = False

    def load(self, key: LegacyKey) -> None:
        """Take over the key with all its entries. Of two entries for one partition, the later one counts."""
        self.key = key
        self.entries = {entry.name: entry for entry in key.entries}
        self.is_there = key.is_there

    @property
    def is_behind(self) -> bool:
        """Whether the key names entries that are no longer in force."""
        return self.is_there and self.key.problem is None and len(self.key.names) != len(self.entries)

    def committed(self, *, is_there: bool) -> None:
        """A commit wrote the key, or removed it."""
        key = self.key
        self.key = LegacyKey(tuple(self.ordered()), key.extra, key.format) if is_there else NO_KEY

    def ordered(self) -> list[LegacyEntry]:
        """The entries in force by topic and partition; the order of the dict depends on what was undone."""
        return sorted(self.entries.values(), key=lambda entry: entry.name)
