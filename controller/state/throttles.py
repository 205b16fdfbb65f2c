"""Throttles: what is marked, by owner, and the requests between their first and last Decision.

Marks are durable, requests are kept in memory only: a takeover knows none, and removes what is marked if no move runs.
"""

from __future__ import annotations

from ..model.throttles import KINDS, OLD, MarkKey, MarkKind, MarkSlot, OwnerMark, ThrottlePlan, listed


class Throttles:
    """`marks`: of both names of a key, by kind and owner. `keys`: existing ones, by slot. `running`: the requests."""

    __slots__ = ("keys", "marks", "running")

    def __init__(self) -> None:
        self.marks: dict[MarkKind, dict[str, OwnerMark]] = {kind: {} for kind in KINDS}
        self.keys: dict[MarkSlot, MarkKey] = {}
        self.running: tuple[ThrottlePlan, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Whether throttles are marked, or a key of marks exists."""
        return bool(self.keys) or any(self.marks.values())

    def listed(self, kind: MarkKind) -> list[str]:
        return listed(kind, self.marks[kind])

    def slots(self, kind: MarkKind) -> list[MarkSlot]:
        """The keys to write when a mark changes: ours, and the one under the other name, to delete it."""
        return [kind, OLD[kind]] if OLD[kind] in self.keys else [kind]

    def load(self, kind: MarkKind, slot: MarkSlot, marks: dict[str, OwnerMark], key: MarkKey) -> None:
        """A takeover found a key. If both keys name an owner, the mark in this controller's own key is used."""
        self.marks[kind] = marks | self.marks[kind]
        self.keys[slot] = key

    def written(self, slot: MarkSlot, *, is_there: bool) -> None:
        """A commit wrote or deleted the key."""
        if is_there:
            self.keys.setdefault(slot, MarkKey())
        else:
            self.keys.pop(slot, None)

    def told(self) -> dict[str, list[str]]:
        """The marked owners by kind; kinds without any are left out."""
        return {kind: found for kind in KINDS if (found := self.listed(kind))}
