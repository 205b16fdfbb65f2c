"""Records about throttles: marked, set, removed (KIP-179)."""

from __future__ import annotations

from ..frozen import frozen
from ..legacy import LegacyEntry
from ..throttles import MarkSlot, ThrottleMark, ThrottlePlan
from ..values import ConfigEntity
from .base import Record
from .configs import ConfigsAltered


class ThrottleSet(ConfigsAltered):
    """A topic's lists of throttled replicas, or a broker's rates, are set."""


class ThrottleRemoved(ConfigsAltered):
    """A topic's lists of throttled replicas, or a broker's rates, are removed."""


class ThrottleRestored(ConfigsAltered):
    """The values that an operator had set before are restored."""


@frozen
class ThrottleReleased(Record):
    """The owner has no throttle of this controller, though no config changed: another program changed or removed it. In
    the journal: ThrottleRemoved, so that the rows alone say when the removal ended."""

    entity: ConfigEntity
    cause: str


@frozen
class ThrottleStays(Record):
    """The owner's present throttle is to stay, though no config changed. In the journal: ThrottleSet."""

    entity: ConfigEntity
    cause: str


@frozen
class ThrottleMarkChanged(Record):
    """A mark, which lists the throttles to remove, changed; without owners its key is deleted. Not in the journal,
    which has rows for the throttles themselves."""

    slot: MarkSlot
    before: ThrottleMark
    after: ThrottleMark


@frozen
class ThrottleRequestBegan(Record):
    """A request that takes several commits has begun. Kept in memory only."""

    plan: ThrottlePlan


@frozen
class ThrottleRequestEnded(Record):
    """That request has ended. Kept in memory only."""

    plan: ThrottlePlan


@frozen
class ThrottleRemovalBegan(Record):
    """The removal of marked throttles has begun. Kept in memory only."""


@frozen
class ThrottleRemovalEnded(Record):
    """The removal has ended. `is_left_over`: some throttles remain, because their configs cannot be read.
    Kept in memory only."""

    is_left_over: bool


@frozen
class LegacyPlanWritten(Record):
    """The moves of a request are in the legacy key, which was absent. In the journal: LegacySubmitted."""

    entries: tuple[LegacyEntry, ...]
