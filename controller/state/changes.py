"""The notifications of changed configs that the batch writes below `/config/changes`, and the next number there.

Each config key that a batch writes has one notification. Numbers are assigned in the order in which keys were first
altered, and released when the records are undone; they are used up when the commit was applied.
"""

from __future__ import annotations

from ..model.values import ConfigEntity


class Changes:
    """`next_number`: above every number that was seen or used."""

    __slots__ = ("_told", "next_number")

    def __init__(self) -> None:
        self.next_number = 0
        self._told: dict[ConfigEntity, int] = {}  # notifications of the batch -> their index

    def tell(self, entity: ConfigEntity) -> bool:
        """Add a notification; return whether the batch did not have it."""
        if entity in self._told:
            return False
        self._told[entity] = len(self._told)
        return True

    def take_back(self, entity: ConfigEntity) -> None:
        """Undo the last `tell` that returned True."""
        del self._told[entity]

    def number(self, entity: ConfigEntity) -> int:
        """The number of the batch's notification."""
        return self.next_number + self._told[entity]

    def seen(self, number: int) -> None:
        """A number is in use: the next one is above it."""
        self.next_number = max(self.next_number, number + 1)

    def committed(self) -> None:
        """The numbers of the batch are used up."""
        self.next_number += len(self._told)
        self._told.clear()
