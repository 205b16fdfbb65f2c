"""Records about throttles: marked, set and removed; and the moves that are requested with them."""

from __future__ import annotations

from typing import Final

import attrs

from ...model import records as r
from ...model.throttles import KINDS, MarkKind
from ..batch import LEGACY, DirtyKey
from ..cluster import ClusterState
from .configs import ALTERED
from .kinds import Table, no_keys

_alter, _altered_keys = ALTERED


def _kind(record: r.ThrottleChanged) -> MarkKind:
    return "topics" if record.entity.kind == "topics" else "brokers"


def _change(state: ClusterState, record: r.ThrottleChanged) -> None:
    marks, owner = state.throttles.marks[_kind(record)], record.entity.name
    if record.mark_after is not None:
        state.batch.put(marks, owner, record.mark_after)
    elif owner in marks:
        state.batch.take(marks, owner)
    if record.after != record.before:
        _alter(state, record)


def _changed_keys(state: ClusterState, record: r.ThrottleChanged, token: object) -> list[DirtyKey]:
    found: list[DirtyKey] = [("throttles", slot) for slot in state.throttles.slots(_kind(record))]
    return found if record.after == record.before else [*found, *_altered_keys(state, record, token)]


def _end(state: ClusterState, record: r.ThrottlesEnded) -> None:
    for marks in state.throttles.marks.values():
        for owner, mark in marks.items():
            if not mark.is_ended:
                state.batch.put(marks, owner, attrs.evolve(mark, is_ended=True))


def _empty_keys(state: ClusterState, record: r.ThrottlesEnded, token: object) -> list[DirtyKey]:
    throttles = state.throttles
    empty = [slot for kind in KINDS if not throttles.listed(kind) for slot in throttles.slots(kind)]
    return [("throttles", slot) for slot in empty if throttles.keys[slot].version]


def _run(state: ClusterState, record: r.ThrottlePlanRuns) -> None:
    others = tuple(plan for plan in state.throttles.running if plan != record.plan)
    state.batch.set(state.throttles, "running", others if record.is_over else (*others, record.plan))


def _write_plan(state: ClusterState, record: r.LegacyPlanWritten) -> None:
    assert not state.legacy.is_there, "a plan is written only if there is none"
    state.batch.set(state.legacy, "entries", {entry.name: entry for entry in record.entries})
    state.batch.set(state.legacy, "is_there", value=True)


TABLE: Final[Table] = {
    r.ThrottleChanged: (_change, _changed_keys),
    r.ThrottlesEnded: (_end, _empty_keys),
    r.ThrottlePlanRuns: (_run, no_keys),
    r.LegacyPlanWritten: (_write_plan, lambda _, __, ___: [LEGACY]),
}
