"""Throttles: what is marked, by owner, and the requests between their first and last Decision.

Marks are durable, requests are kept in memory only: a takeover knows none, and removes what is marked if no move runs.
"""

from __future__ import annotations

import attrs

from ..model.throttles import KINDS, OLD, SLOTS, MarkKey, MarkKind, MarkSlot, OwnerMark, ThrottlePlan, listed


class Throttles:
    """`marks`: of both names of a key, by kind and owner. `keys`: the keys, by slot. `running`: the requests."""

    __slots__ = ("keys", "marks", "running")

    def __init__(self) -> None:
        self.marks: dict[MarkKind, dict[str, OwnerMark]] = {kind: {} for kind in KINDS}
        self.keys: dict[MarkSlot, MarkKey] = dict.fromkeys(SLOTS, MarkKey())
        self.running: tuple[ThrottlePlan, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Whether throttles are marked, or a key of marks exists."""
        return any(self.marks.values()) or any(key.version for key in self.keys.values())

    def listed(self, kind: MarkKind) -> list[str]:
        """The owners that the key names."""
        return listed(kind, self.marks[kind])

    def slots(self, kind: MarkKind) -> list[MarkSlot]:
        """The keys to write when a mark changes: ours, and the one under the other name, to delete it."""
        return [kind, OLD[kind]] if self.keys[OLD[kind]].version else [kind]

    def load(self, kind: MarkKind, slot: MarkSlot, marks: dict[str, OwnerMark], key: MarkKey) -> None:
        """A takeover found a key. If both keys name an owner, the mark in this controller's own key is used."""
        self.marks[kind] = marks | self.marks[kind]
        self.keys[slot] = key

    def stands(self, slot: MarkSlot, version: int) -> None:
        """A commit left the key at `version` (0: absent)."""
        self.keys[slot] = attrs.evolve(self.keys[slot], version=version) if version else MarkKey()

    def told(self) -> dict[str, list[str]]:
        """The marked owners by kind; kinds without any are left out."""
        return {kind: found for kind in KINDS if (found := self.listed(kind))}
