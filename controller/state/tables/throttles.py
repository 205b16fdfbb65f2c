"""Records about throttles: marked, set and removed; and the moves that are requested with them."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import LEGACY, DirtyKey
from ..cluster import ClusterState
from .configs import ALTERED
from .kinds import Table, no_keys, nothing


def _mark(state: ClusterState, record: r.ThrottleMarkChanged) -> None:
    state.batch.put(state.throttles.marks, record.slot, record.after)


def _mark_key(state: ClusterState, record: r.ThrottleMarkChanged, token: object) -> list[DirtyKey]:
    return [("throttles", record.slot)]


def _begin(state: ClusterState, record: r.ThrottleRequestBegan) -> None:
    state.batch.set(state.throttles, "request", record.plan)


def _end(state: ClusterState, record: r.ThrottleRequestEnded) -> None:
    state.batch.set(state.throttles, "request", None)


def _remove(state: ClusterState, record: r.ThrottleRemovalBegan) -> None:
    state.batch.set(state.throttles, "is_removing", value=True)


def _removed(state: ClusterState, record: r.ThrottleRemovalEnded) -> None:
    state.batch.set(state.throttles, "is_removing", value=False)
    state.batch.set(state.throttles, "is_left_over", record.is_left_over)


def _write_plan(state: ClusterState, record: r.LegacyPlanWritten) -> None:
    assert not state.legacy.is_there, "a plan is written only if there is none"
    state.batch.set(state.legacy, "entries", {entry.name: entry for entry in record.entries})
    state.batch.set(state.legacy, "is_there", value=True)


TABLE: Final[Table] = {
    **dict.fromkeys((r.ThrottleSet, r.ThrottleRemoved, r.ThrottleRestored), ALTERED),
    **dict.fromkeys((r.ThrottleReleased, r.ThrottleStays), (nothing, no_keys)),
    r.ThrottleMarkChanged: (_mark, _mark_key),
    r.ThrottleRequestBegan: (_begin, no_keys),
    r.ThrottleRequestEnded: (_end, no_keys),
    r.ThrottleRemovalBegan: (_remove, no_keys),
    r.ThrottleRemovalEnded: (_removed, no_keys),
    r.LegacyPlanWritten: (_write_plan, lambda _, __, ___: [LEGACY]),
}
