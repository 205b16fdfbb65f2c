"""Events about reductions: topics get fewer partitions (KIP-694)."""

from __future__ import annotations

import attrs

from ..records import KeyAt
from ..reductions import Retirements
from ..values import Extra
from .base import Event, KeyRead


@attrs.define
class DeletePartitions(Event):
    """Reduce the topic to `total_count` partitions, or by these `partitions` (one of the two is None). `immediate`:
    they go offline now; otherwise they are read-only first."""

    topic: str
    total_count: int | None
    partitions: tuple[int, ...] | None
    immediate: bool


@attrs.define
class ReductionKeyRead(KeyRead):
    """The key of a reduction was read. `problem`: why it is unreadable; otherwise `entries` and `extra` hold its
    content."""

    topic: str
    at: KeyAt
    entries: Retirements
    extra: Extra | None = None
    problem: str | None = None


@attrs.define
class ReductionDue(Event):
    """Begin a reduction, or continue it. `is_found`: a takeover found it, and the former controller may not have
    notified its host of all purged partitions."""

    topic: str
    is_found: bool = False


@attrs.define
class RetirementsDue(Event):
    """Check whether read-only partitions may go offline. `empty`: topic, partition and leader epoch of those whose
    leader reports, under that epoch, that its log is empty."""

    empty: frozenset[tuple[str, int, int]] = frozenset()


@attrs.define
class RetirementOver(Event):
    """A read-only partition may go offline. `empty_epoch`: the leader epoch under which its leader reports an empty
    log; None if its retention is over."""

    topic: str
    partition: int
    empty_epoch: int | None = None


@attrs.define
class PurgeDue(Event):
    """Check whether the last partitions of a topic are offline and all their logs deleted."""

    topic: str


@attrs.define
class ReductionKeyDue(Event):
    """The key of a reduction names partitions that no longer exist. `is_found`: as in ReductionDue."""

    topic: str
    is_found: bool = False
