"""The root of all records, and versions of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import attrs


@attrs.frozen
class Record:
    """Root of all records."""


@attrs.frozen
class KeyAt:
    """The path of a key that was read, and its version (0: it is absent)."""

    path: str
    version: int


@attrs.frozen
class KeyVersion:
    """The version of a state key (0: it is absent), and its generation: the partition epoch."""

    version: int
    generation: int


@attrs.frozen
class KeyVersions:
    """The versions of the state keys of a topic, as two columns. An absent key has version 0 and generation -1."""

    versions: Sequence[int]
    generations: Sequence[int]

    @classmethod
    def of(cls, states: Sequence[KeyVersion]) -> Self:
        """From one KeyVersion per state key."""
        return cls(tuple(at.version for at in states), tuple(at.generation for at in states))
