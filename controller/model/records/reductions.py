"""Records about reductions: topics get fewer partitions (KIP-694)."""

from __future__ import annotations

from ..frozen import frozen
from ..reductions import Retirements
from ..values import Extra, Partition
from .base import Record


@frozen
class PartitionPurged(Record):
    """All logs of an offline partition, the last of its topic, are deleted, and so are its keys; it was `before`."""

    before: Partition


@frozen
class ReductionChanged(Record):
    """A reduction has the entries `after` (if empty, its key is deleted). `is_written`: the key has them already.
    `gone`: partitions that a former controller purged, perhaps without notifying its host. Not in the journal, which
    has a StatusChanged and a PartitionPurged for each partition."""

    topic: str
    after: Retirements
    is_written: bool = False
    gone: tuple[int, ...] = ()


@frozen
class ReductionKeyFound(Record):
    """The key of a reduction is at version `found` (0: another program deleted it), with these unknown fields. Not in
    the journal."""

    topic: str
    found: int
    extra: Extra | None = None


@frozen
class ReductionRefused(Record):
    """The key of a reduction is deleted, because it asks for something impossible or cannot be read. In the journal:
    ForeignChange."""

    topic: str
    version: int
    detail: str
