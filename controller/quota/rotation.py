"""Whose turn it is where not all can be served: who was served longest ago is first.

Without it the first partitions of a fetch take all that a limit gives, time and again, and the last ones never end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Rotation(Generic[Key]):
    """A line: who was served, and who comes, stands at the end of it."""

    def __init__(self) -> None:
        self._since: dict[Key, int] = {}
        self._turn = 0

    def order(self, keys: Iterable[Key]) -> list[Key]:
        """The keys, who waits longest first; those that are new, in the order given, behind those that waited already.
        Who is not among them leaves the line, and is new if it comes back: one that catches up time and again must not
        pass one that never does."""
        known = self._since
        self._since = {key: known[key] if key in known else self._next() for key in keys}
        return sorted(self._since, key=self._since.__getitem__)

    def served(self, key: Key) -> None:
        """`key` goes to the end."""
        self._since[key] = self._next()

    def _next(self) -> int:
        self._turn += 1
        return self._turn
