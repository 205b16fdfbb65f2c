"""Throttles: the marks as they stand or are to stand, and what is being done about them just now.

The marks are durable; that a request is between its first and last Decision, and that a removal runs, is known in
memory only: a takeover knows neither, and removes what is marked if nothing is being reassigned.
"""

from __future__ import annotations

import attrs

from controller.model.throttles import KINDS, NO_MARK, OLD, SLOTS, MarkKind, MarkSlot, ThrottleMark, ThrottlePlan


class Throttles:
    """`marks`: by slot. `request`: what is under way. `is_removing`: a removal runs. `is_left_over`: it could not give
    back what is in configs that cannot be read."""

    __slots__ = ("is_left_over", "is_removing", "marks", "request")

    def __init__(self) -> None:
        self.marks: dict[MarkSlot, ThrottleMark] = dict.fromkeys(SLOTS, NO_MARK)
        self.request: ThrottlePlan | None = None
        self.is_removing = False
        self.is_left_over = False

    def mark(self, kind: MarkKind) -> ThrottleMark:
        """Our own mark."""
        return self.marks[kind]

    def old(self, kind: MarkKind) -> ThrottleMark:
        """The one under the other name."""
        return self.marks[OLD[kind]]

    def owners(self, kind: MarkKind) -> tuple[str, ...]:
        """Whoever is marked."""
        return tuple(dict.fromkeys((*self.mark(kind).owners, *self.old(kind).owners)))

    def has_marked(self, kind: MarkKind, owner: str) -> bool:
        """Whether the owner is marked."""
        return owner in self.mark(kind).owners or owner in self.old(kind).owners

    @property
    def is_marked(self) -> bool:
        """Whether anything is marked, or a key stands there that nobody can read."""
        return any(mark.owners or mark.version for mark in self.marks.values())

    def stands(self, slot: MarkSlot, version: int) -> None:
        """A commit left the key at `version`; 0: it is absent."""
        self.marks[slot] = attrs.evolve(self.marks[slot], version=version) if version else NO_MARK

    def told(self) -> dict[str, list[str]]:
        """Who is marked, by kind; nobody: nothing."""
        return {kind: list(self.owners(kind)) for kind in KINDS if self.owners(kind)}
