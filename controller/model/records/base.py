"""The root of all records, what most of them are, and where keys stand."""

from __future__ import annotations

import attrs

from controller.model.values import Partition


@attrs.frozen(weakref_slot=False)
class Record:
    """Root of all records."""


@attrs.frozen(weakref_slot=False)
class PartitionRecord(Record):
    """A partition was `before` and is `after`. `cause`: why, where the name alone does not say it."""

    before: Partition
    after: Partition
    cause: str | None = None


@attrs.frozen(weakref_slot=False)
class KeyVersion:
    """Where a key stands: its version (0: it is absent) and its generation."""

    version: int
    generation: int


@attrs.frozen(weakref_slot=False)
class KeyVersions:
    """Where the keys of a topic stand: its own, and the state key of each partition."""

    topic: KeyVersion
    states: tuple[KeyVersion, ...]
    config: int  # version of the config key, 0 where there is none
