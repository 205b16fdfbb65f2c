"""Events that the machine raises itself: a time has come, or a decision has consequences."""

from __future__ import annotations

import enum

import attrs

from .base import Event


class Reason(enum.StrEnum):
    """Why a partition has to be looked at. The value is the cause in the journal, where no request is the cause."""

    CHECK = "partition due"
    """It may need a first leader, a new leader, or the next step of its move."""
    DIED = "replica died"
    """A replica died with its broker or its disk."""
    DEADLINE = "move deadline"
    """The deadline of its move has passed."""
    PREFERRED = "preferred due"
    """The preferred leader is to lead, if possible. No caller waits for the answer."""
    STRAY = "stray isr found"
    """The ISR has members outside R and T."""
    PLANNED = "legacy entry due"
    """The move of its entry in the legacy key begins."""
    RETIRE = "retirement due"
    """It gets the status that its reduction demands, and brokers that hold its logs get delete intents."""
    STOP = "partition deletion due"
    """Its topic is being deleted: it is stopped, and its brokers get delete intents."""
    ERASE = "state key due"
    """All logs of its topic are deleted: its state key is removed."""


@attrs.define
class PartitionDue(Event):
    topic: str
    partition: int
    reason: Reason = Reason.CHECK


@attrs.define
class NothingDue(Event):
    """A request concerns nothing of what is known here. That it is answered like any other makes sure that nothing else
    is known to another controller."""


@attrs.define
class TopicKeyDue(Event):
    """The topic's key has lacked the current replicas of its partitions for long enough: write it."""

    topic: str


@attrs.define
class RebalanceDue(Event):
    """Check what share of its preferred partitions each broker leads."""


@attrs.define
class TopicDeletionDue(Event):
    """Begin the recorded deletion of a topic, or continue it after a takeover."""

    topic: str


@attrs.define
class TopicLogsDue(Event):
    """Check whether all logs of a topic that is being deleted are deleted."""

    topic: str


@attrs.define
class TopicGoneDue(Event):
    """Check whether all state keys of a topic that is being deleted are removed."""

    topic: str


@attrs.define
class ChangesDue(Event):
    """These notifications of changed configs are old enough to be deleted."""

    changes: tuple[str, ...]
