"""Events that the machine raises itself: a time has come, or a decision has consequences."""

from __future__ import annotations

import attrs

from .base import Event


@attrs.define
class PartitionDue(Event):
    """Check this partition: it may need a first leader, a new leader, or the next step of its move."""

    topic: str
    partition: int


@attrs.define
class NothingDue(Event):
    """A request concerns nothing of what is known here. That it is answered like any other makes sure that nothing else
    is known to another controller."""


@attrs.define
class MoveDeadline(Event):
    topic: str
    partition: int


@attrs.define
class TopicKeyDue(Event):
    """The topic's key has lacked the current replicas of its partitions for long enough: write it."""

    topic: str


@attrs.define
class RebalanceDue(Event):
    """Check what share of its preferred partitions each broker leads."""


@attrs.define
class PreferredDue(Event):
    """Make the preferred leader the leader, if possible. No caller waits for the answer."""

    topic: str
    partition: int


@attrs.define
class TopicDeletionDue(Event):
    """Begin the recorded deletion of a topic, or continue it after a takeover."""

    topic: str


@attrs.define
class PartitionDeletionDue(Event):
    """Stop a partition of a topic that is being deleted, and record the brokers that have to delete it."""

    topic: str
    partition: int


@attrs.define
class TopicLogsDue(Event):
    """Check whether all logs of a topic that is being deleted are deleted."""

    topic: str


@attrs.define
class StateKeyDue(Event):
    """All logs of the topic are deleted: remove the state key of this partition."""

    topic: str
    partition: int


@attrs.define
class TopicGoneDue(Event):
    """Check whether all state keys of a topic that is being deleted are removed."""

    topic: str


@attrs.define
class ChangesDue(Event):
    """These notifications of changed configs are old enough to be deleted."""

    changes: tuple[str, ...]
