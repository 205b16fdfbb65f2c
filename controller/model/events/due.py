"""The machine's own: time has come, or something follows from what was decided."""

from __future__ import annotations

from typing import ClassVar

from controller.model.events.base import Event
from controller.model.frozen import frozen


@frozen
class PartitionDue(Event):
    """Look at this partition again: a first leader, a leader for a leaderless one, a move to go on with."""

    topic: str
    partition: int


@frozen
class MoveDeadline(Event):
    topic: str
    partition: int


@frozen
class TopicKeyDue(Event):
    """The topic's key is behind the R of its partitions for long enough."""

    topic: str


@frozen
class RebalanceDue(Event):
    """Look how many of its preferred partitions each broker leads."""


@frozen
class PreferredDue(Event):
    """Nobody waits for the answer: the preferred leader leads, if it can."""

    topic: str
    partition: int


@frozen
class TopicDeletionDue(Event):
    """Begin, or after a takeover go on, to delete a topic whose deletion is written down."""

    topic: str


@frozen
class PartitionDeletionDue(Event):
    """Stop a partition of a topic that is being deleted, and write down who has to delete it, or who else."""

    topic: str
    partition: int


@frozen
class TopicLogsDue(Event):
    """Look whether every log of a topic that is being deleted is gone."""

    topic: str


@frozen
class StateKeyDue(Event):
    """Every log of the topic is gone: remove the state key of this partition."""

    topic: str
    partition: int


@frozen
class TopicGoneDue(Event):
    """Look whether every state key of a topic that is being deleted is gone."""

    topic: str


@frozen
class LeaderEpochsDue(Event):
    """The cluster was moved to this store, where generations and epochs of brokers begin again: raise the leader epochs
    of some partitions of a topic. `partitions`: few enough for one commit."""

    is_kept: ClassVar[bool] = True

    topic: str
    partitions: tuple[int, ...]


@frozen
class MigrationDone(Event):
    """Every leader epoch is raised: the marker of the move goes."""


@frozen
class ChangesDue(Event):
    """These notifications of changed configs are old enough to go."""

    changes: tuple[str, ...]
