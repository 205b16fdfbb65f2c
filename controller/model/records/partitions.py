"""A partition is another than it was."""

from __future__ import annotations

from controller.model.records.base import PartitionRecord


class LeaderElected(PartitionRecord):
    """The leader changed or a partition got its first one; I may have shrunk with it."""


class IsrChanged(PartitionRecord):
    """I changed: as the leader told (`alter_isr`), or a dead follower was taken out."""


class TargetSet(PartitionRecord):
    """A reassignment was accepted."""


class TargetReplaced(PartitionRecord):
    """A running reassignment got another target, or another deadline."""


class ReplicasGrown(PartitionRecord):
    """R grew by members of T that entered I. The topic key is rewritten later (KIP-455)."""


class ReplicasChanged(PartitionRecord):
    """R was replaced: a completing move (R := T), or what was found in the store."""


class TargetCleared(PartitionRecord):
    """The reassignment ended. `cause`: completed, cancelled, deadline, offline, topic deleted."""


class IsrShrunk(PartitionRecord):
    """I := I and T, the last row of a completed move."""


class LeaderEpochRaised(PartitionRecord):
    """The leader epoch alone rose, since the cluster was moved to this store."""


class StateFound(PartitionRecord):
    """Somebody else wrote the state key; `cause` says what was taken over. In the journal: ForeignChange."""
