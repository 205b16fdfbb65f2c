"""Records about throttles: marked, set, removed (KIP-179)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ..legacy import LegacyEntry
from ..throttles import OwnerMark, ThrottlePlan
from .base import Record
from .configs import ConfigsAltered

ThrottleEvent: TypeAlias = Literal["", "ThrottleSet", "ThrottleRemoved", "ThrottleRestored"]
"""The event in the journal. Empty: none, since only the mark changed."""


@attrs.frozen
class ThrottleChanged(ConfigsAltered):
    """The mark of a topic or broker changed (None: it is not marked), and perhaps its configs, in the same commit."""

    mark_before: OwnerMark | None
    mark_after: OwnerMark | None
    event: ThrottleEvent = ""


@attrs.frozen
class ThrottlesEnded(Record):
    """The last reassignment has ended: all that is marked is to be given back. Keys without owners, or that
    cannot be read, are deleted. Not in the journal, which has rows for the throttles themselves."""


@attrs.frozen
class ThrottlePlanRuns(Record):
    """A request that takes several commits has begun, or (`is_over`) has ended. Kept in memory only."""

    plan: ThrottlePlan
    is_over: bool = False


@attrs.frozen
class LegacyPlanWritten(Record):
    """The moves of a request are in the legacy key, which was absent. In the journal: LegacySubmitted."""

    entries: tuple[LegacyEntry, ...]
