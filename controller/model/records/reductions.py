"""Partitions are taken away from a topic (KIP-694)."""

from __future__ import annotations

from controller.model.frozen import frozen
from controller.model.records.base import PartitionRecord, Record
from controller.model.reductions import Retirements
from controller.model.values import Extra, Partition


class StatusChanged(PartitionRecord):
    """A partition became read-only, or went offline."""


class HoldersTold(PartitionRecord):
    """More of those who may hold a log of an offline partition have an intent to delete it. Not in the journal, which
    has a DeleteIntended for each."""


@frozen
class PartitionPurged(Record):
    """Every log of an offline partition, the last of its topic, is gone, and so are its keys; it was `before`."""

    before: Partition


@frozen
class ReductionChanged(Record):
    """What a reduction wants is `after` (nothing: its key goes). `is_written`: the key says so already. `gone`:
    partitions that a former controller purged, perhaps without a word to its host. Not in the journal, which has a
    StatusChanged and a PartitionPurged for each partition."""

    topic: str
    before: Retirements
    after: Retirements
    is_written: bool = False
    gone: tuple[int, ...] = ()


@frozen
class ReductionKeyFound(Record):
    """The key of a reduction stands at the version `found` (0: somebody removed it), with these fields that we do not
    know. Not in the journal."""

    topic: str
    found: int
    before: int
    extra: Extra | None = None
    extra_before: Extra | None = None


@frozen
class ReductionRefused(Record):
    """The key of a reduction is removed: what it asks for cannot be done, or it cannot be read. In the journal:
    ForeignChange."""

    topic: str
    version: int
    detail: str
