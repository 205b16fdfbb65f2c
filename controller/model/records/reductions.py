"""Records about reductions: topics get fewer partitions (KIP-694)."""

from __future__ import annotations

import attrs

from ..reductions import Retirements
from ..values import Extra, Partition
from .base import Record


@attrs.frozen
class PartitionPurged(Record):
    """All logs of an offline partition, the last of its topic, are deleted, and so are its keys; it was `before`."""

    before: Partition


@attrs.frozen
class ReductionChanged(Record):
    """A reduction has the entries `after` (if empty, its key is deleted). `is_written`: the key is not written now.
    `gone`: partitions that a former controller purged, perhaps without notifying its host. `extra`: unknown fields that
    were read; without any, the known ones stay. Not in the journal, which has a StatusChanged and a PartitionPurged for
    each partition."""

    topic: str
    after: Retirements
    is_written: bool = False
    gone: tuple[int, ...] = ()
    extra: Extra | None = None


@attrs.frozen
class ReductionRefused(Record):
    """The key of a reduction is deleted, because it asks for something impossible or cannot be read. In the journal:
    ForeignChange."""

    topic: str
    detail: str
