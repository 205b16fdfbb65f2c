"""The root of all records, and versions of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from ..frozen import frozen


@frozen
class Record:
    """Root of all records."""


UNREAD: Final = -1
"""In place of a version: the key exists and cannot be read. Versions begin at 1, and 0 means absent."""


@frozen
class KeyVersion:
    """The version of a key (0: it is absent; UNREAD) and its generation."""

    version: int
    generation: int


@frozen
class KeyVersions:
    """The versions of the keys of a topic: its own key, and the state key of each partition as two columns. An absent
    key has version 0 and generation -1."""

    topic: KeyVersion
    versions: Sequence[int]
    generations: Sequence[int]
    config: int  # version of the config key, 0 where there is none

    @classmethod
    def of(cls, topic: KeyVersion, states: Sequence[KeyVersion], config: int) -> Self:
        """From one KeyVersion per state key."""
        return cls(topic, tuple(at.version for at in states), tuple(at.generation for at in states), config)
