"""Throttles are marked, set, taken back (KIP-179)."""

from __future__ import annotations

from controller.model.frozen import frozen
from controller.model.legacy import LegacyEntry
from controller.model.records.base import Record
from controller.model.records.configs import ConfigsAltered
from controller.model.throttles import MarkSlot, ThrottleMark, ThrottlePlan
from controller.model.values import ConfigEntity


class ThrottleSet(ConfigsAltered):
    """A topic's lists of throttled replicas, or a broker's rates, are set."""


class ThrottleRemoved(ConfigsAltered):
    """They are gone again."""


class ThrottleRestored(ConfigsAltered):
    """They are what an operator had set before."""


@frozen
class ThrottleReleased(Record):
    """The owner has no throttle of ours, though none of its configs changed: somebody had changed or removed it. In the
    journal: ThrottleRemoved, so that rows alone say when we were done with it."""

    entity: ConfigEntity
    cause: str


@frozen
class ThrottleStays(Record):
    """The throttle that the owner has is to stay, though none of its configs changed. In the journal: ThrottleSet."""

    entity: ConfigEntity
    cause: str


@frozen
class ThrottleMarkChanged(Record):
    """Which throttles are to be removed is written down; nobody's: the key goes. Not in the journal: what it is about
    has rows of its own."""

    slot: MarkSlot
    before: ThrottleMark
    after: ThrottleMark


@frozen
class ThrottleRequestBegan(Record):
    """A request that takes several commits is under way. Kept in memory only."""

    plan: ThrottlePlan


@frozen
class ThrottleRequestEnded(Record):
    """It is not any more. Kept in memory only."""

    plan: ThrottlePlan


@frozen
class ThrottleRemovalBegan(Record):
    """What is marked is being taken back. Kept in memory only."""


@frozen
class ThrottleRemovalEnded(Record):
    """That is over. `is_left_over`: some could not be, since their configs cannot be read; `was_left_over`: before the
    removal. Kept in memory only."""

    is_left_over: bool
    was_left_over: bool


@frozen
class LegacyPlanWritten(Record):
    """The moves of a request stand in the legacy key, which was absent. In the journal: LegacySubmitted."""

    entries: tuple[LegacyEntry, ...]
