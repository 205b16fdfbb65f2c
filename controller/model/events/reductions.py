"""Partitions are taken away from topics (KIP-694)."""

from __future__ import annotations

from controller.model.events.base import Event, KeyRead
from controller.model.frozen import frozen
from controller.model.reductions import Retirements
from controller.model.values import Extra


@frozen
class DeletePartitions(Event):
    """The topic is to have `total_count` partitions, or to lose just these `partitions` (one of the two is None).
    `immediate`: they go offline now; otherwise they are read-only first."""

    topic: str
    total_count: int | None
    partitions: tuple[int, ...] | None
    immediate: bool


@frozen
class ReductionKeyRead(KeyRead):
    """The key of a reduction was read; it stands at `version` (0: it is absent). `problem`:
    why it cannot be read; `entries` and `extra`: what it says where it can."""

    topic: str
    version: int
    entries: Retirements
    extra: Extra | None = None
    problem: str | None = None


@frozen
class ReductionDue(Event):
    """Begin a reduction, or go on with it. `is_found`: a takeover found it, and whoever led before may not have told
    what it had purged."""

    topic: str
    is_found: bool = False


@frozen
class RetirementDue(Event):
    """Give a partition the status that its reduction wants, and those who hold logs of it their intents."""

    topic: str
    partition: int


@frozen
class RetirementsDue(Event):
    """Look at the clocks of all read-only partitions. `empty`: topic, partition and leader epoch of those whose leader
    reports under that epoch that its log is empty."""

    empty: frozenset[tuple[str, int, int]] = frozenset()


@frozen
class RetirementOver(Event):
    """A read-only partition may go offline. `empty_epoch`: the leader epoch under which its leader reports an empty
    log, None where its time has passed."""

    topic: str
    partition: int
    empty_epoch: int | None = None


@frozen
class PurgeDue(Event):
    """Look whether the last partitions of a topic are offline, and every log of them gone."""

    topic: str


@frozen
class ReductionKeyDue(Event):
    """The key of a reduction names partitions that are gone. `is_found`: as in ReductionDue."""

    topic: str
    is_found: bool = False
