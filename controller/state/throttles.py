"""Throttles: the marks in the store, or to be written, and the running request or removal.

Marks are durable. A running request (between its first and last Decision) and a running removal are kept in memory
only: a takeover knows neither, and removes what is marked if no move runs.
"""

from __future__ import annotations

import attrs

from ..model.throttles import KINDS, NO_MARK, OLD, SLOTS, MarkKind, MarkSlot, ThrottleMark, ThrottlePlan


class Throttles:
    """`marks`: by slot. `request`: the running one. `is_removing`: a removal runs. `is_left_over`: it could not restore
    configs that cannot be read."""

    __slots__ = ("is_left_over", "is_removing", "marks", "request")

    def __init__(self) -> None:
        self.marks: dict[MarkSlot, ThrottleMark] = dict.fromkeys(SLOTS, NO_MARK)
        self.request: ThrottlePlan | None = None
        self.is_removing = False
        self.is_left_over = False

    def mark(self, kind: MarkKind) -> ThrottleMark:
        """The mark under the name that this controller writes."""
        return self.marks[kind]

    def old(self, kind: MarkKind) -> ThrottleMark:
        """The mark under the other name."""
        return self.marks[OLD[kind]]

    def owners(self, kind: MarkKind) -> tuple[str, ...]:
        """The owners in either mark."""
        return tuple(dict.fromkeys((*self.mark(kind).owners, *self.old(kind).owners)))

    def has_marked(self, kind: MarkKind, owner: str) -> bool:
        """Whether either mark names the owner."""
        return owner in self.mark(kind).owners or owner in self.old(kind).owners

    @property
    def is_marked(self) -> bool:
        """Whether throttles are marked, or a mark exists that cannot be read."""
        return any(mark.owners or mark.version for mark in self.marks.values())

    def stands(self, slot: MarkSlot, version: int) -> None:
        """A commit left the key at `version` (0: absent)."""
        self.marks[slot] = attrs.evolve(self.marks[slot], version=version) if version else NO_MARK

    def told(self) -> dict[str, list[str]]:
        """The marked owners by kind; kinds without any are left out."""
        return {kind: list(self.owners(kind)) for kind in KINDS if self.owners(kind)}
