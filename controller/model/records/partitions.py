"""Records about changes of one partition."""

from __future__ import annotations

from .base import PartitionRecord


class LeaderElected(PartitionRecord):
    """The leader changed, or a partition got its first one; the ISR may have shrunk with it."""


class IsrChanged(PartitionRecord):
    """The ISR changed: the leader requested it (`alter_isr`), or a dead follower was removed."""


class TargetSet(PartitionRecord):
    """A reassignment was accepted."""


class TargetReplaced(PartitionRecord):
    """A running reassignment got another target, or another deadline."""


class ReplicasGrown(PartitionRecord):
    """R grew by members of T that joined the ISR. The topic key is rewritten later (KIP-455)."""


class ReplicasChanged(PartitionRecord):
    """R was replaced: by a completing move (R := T), or by what was found in the store."""


class TargetCleared(PartitionRecord):
    """The reassignment ended. `cause`: completed, cancelled, deadline, offline, topic deleted."""


class IsrShrunk(PartitionRecord):
    """ISR := ISR and T, the last change of a completed move."""


class StateFound(PartitionRecord):
    """Another program wrote the state key; `cause` says what was accepted. In the journal: ForeignChange."""
