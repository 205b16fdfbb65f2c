"""Records about throttles: marked, set, removed (KIP-179)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import attrs

from ..model.records import Record
from ..model.throttles import KINDS, MarkKind, OwnerMark, ThrottlePlan
from ..model.values import TOPICS
from ..state import ClusterState, DirtyKey
from .configs import ConfigsAltered
from .line import LineContext
from .publication import Publication

ThrottleEvent: TypeAlias = Literal["", "ThrottleSet", "ThrottleRemoved", "ThrottleRestored"]
"""The event in the journal. Empty: none, since only the mark changed."""


@attrs.define
class ThrottleChanged(ConfigsAltered):
    """The mark of a topic or broker changed (None: it is not marked), and perhaps its configs, in the same commit."""

    EVENTS = ("ThrottleSet", "ThrottleRemoved", "ThrottleRestored")

    mark_after: OwnerMark | None
    event: ThrottleEvent = ""

    @property
    def _kind(self) -> MarkKind:
        return "topics" if self.entity.kind == TOPICS else "brokers"

    def apply(self, state: ClusterState) -> None:
        marks, owner = state.throttles.marks[self._kind], self.entity.name
        if self.mark_after is not None:
            state.batch.put(marks, owner, self.mark_after)
        elif owner in marks:
            state.batch.take(marks, owner)
        if self.after != self.before:
            ConfigsAltered.apply(self, state)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        marks: list[DirtyKey] = [("throttles", slot) for slot in state.throttles.slots(self._kind)]
        return marks if self.after == self.before else [*marks, *ConfigsAltered.dirty(self, state, token)]

    def lines(self, context: LineContext) -> Iterable[str]:
        """As other configs, but only those that changed."""
        if self.event:
            before, after = self.before, self.after
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            changed = ({n: configs[n] for n in names if n in configs} for configs in (before, after))
            yield self.line(context, self.event, *changed)

    def publish(self, to: Publication, token: object) -> None:
        to.throttled()
        if self.after != self.before:
            ConfigsAltered.publish(self, to, token)


@attrs.define
class ThrottlesEnded(Record):
    """The last reassignment has ended: all that is marked is to be given back. Keys without owners, or that
    cannot be read, are deleted. Not in the journal, which has rows for the throttles themselves."""

    def apply(self, state: ClusterState) -> None:
        for marks in state.throttles.marks.values():
            for owner, mark in marks.items():
                if not mark.is_ended:
                    state.batch.put(marks, owner, attrs.evolve(mark, is_ended=True))

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        throttles = state.throttles
        empty = [slot for kind in KINDS if not throttles.listed(kind) for slot in throttles.slots(kind)]
        return [("throttles", slot) for slot in empty if slot in throttles.keys]


@attrs.define
class ThrottlePlanRuns(Record):
    """A request that takes several commits has begun, or (`is_over`) has ended. Kept in memory only."""

    plan: ThrottlePlan
    is_over: bool = False

    def apply(self, state: ClusterState) -> None:
        others = tuple(plan for plan in state.throttles.running if plan != self.plan)
        state.batch.set(state.throttles, "running", others if self.is_over else (*others, self.plan))
