"""The root of all records, what most of them are, and where keys stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from controller.model.frozen import frozen
from controller.model.values import Partition


@frozen
class Record:
    """Root of all records."""


@frozen
class PartitionRecord(Record):
    """A partition was `before` and is `after`. `cause`: why, where the name alone does not say it."""

    before: Partition
    after: Partition
    cause: str | None = None


UNREAD: Final = -1
"""In the place of a version: the key is there, and may not be read. Versions begin at 1, and 0 is absence."""


@frozen
class KeyVersion:
    """Where a key stands: its version (0: it is absent; UNREAD) and its generation."""

    version: int
    generation: int


@frozen
class KeyVersions:
    """Where the keys of a topic stand: its own, and the state key of each partition, as two columns. A key that is not
    there stands at version 0 and generation -1."""

    topic: KeyVersion
    versions: Sequence[int]
    generations: Sequence[int]
    config: int  # version of the config key, 0 where there is none

    @classmethod
    def of(cls, topic: KeyVersion, states: Sequence[KeyVersion], config: int) -> Self:
        """From the pairs of the state keys."""
        return cls(topic, tuple(at.version for at in states), tuple(at.generation for at in states), config)
