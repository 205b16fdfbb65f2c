"""Changes of configs that the batch tells of below `/config/changes`, and the number of the next one there.

A key of configs that a batch writes is told once. Numbers are given out in the order in which keys were first altered,
and given back with the records; they are used up when the commit was applied.
"""

from __future__ import annotations

from controller.model.values import ConfigEntity


class Changes:
    """`next_number`: above every number that was seen or used."""

    __slots__ = ("_told", "next_number")

    def __init__(self) -> None:
        self.next_number = 0
        self._told: dict[ConfigEntity, int] = {}  # what the batch tells of -> how many it tells of before

    def tell(self, entity: ConfigEntity) -> bool:
        """The batch tells of a change; whether it did not before."""
        if entity in self._told:
            return False
        self._told[entity] = len(self._told)
        return True

    def take_back(self, entity: ConfigEntity) -> None:
        """Undo the last `tell` that said True."""
        del self._told[entity]

    def number(self, entity: ConfigEntity) -> int:
        """The number under which the batch tells of it."""
        return self.next_number + self._told[entity]

    def seen(self, number: int) -> None:
        """Somebody used a number: the next one is above it."""
        self.next_number = max(self.next_number, number + 1)

    def committed(self) -> None:
        """Numbers of the batch are used up."""
        self.next_number += len(self._told)
        self._told.clear()
