"""The order of replicas under a limit: the one served longest ago comes first.

Without it, the first partitions of a fetch would use up the limit each time, and the last ones would never finish.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Rotation(Generic[Key]):
    """A queue: replicas that were served, and new ones, go to its end."""

    def __init__(self) -> None:
        self._since: dict[Key, int] = {}
        self._turn = 0

    def order(self, keys: Iterable[Key]) -> list[Key]:
        """The keys in the order of their waiting time, longest first; new ones follow in the given order. A key that is
        left out leaves the queue, and is new if it returns: otherwise one that keeps catching up would pass others."""
        known = self._since
        self._since = {key: known[key] if key in known else self._next() for key in keys}
        return sorted(self._since, key=self._since.__getitem__)

    def served(self, key: Key) -> None:
        """Move `key` to the end."""
        self._since[key] = self._next()

    def _next(self) -> int:
        self._turn += 1
        return self._turn
