"""Throttles: marked, set and taken back; the moves that are asked for with them."""

from __future__ import annotations

from typing import Final

from controller.model import records as r
from controller.model.throttles import ThrottlePlan
from controller.state.batch import LEGACY, Mark
from controller.state.cluster import ClusterState
from controller.state.tables.kinds import Table, no_keys, nothing, undo_nothing
from controller.state.tables.settings import ALTERED


def _mark(state: ClusterState, record: r.ThrottleMarkChanged) -> None:
    state.throttles.marks[record.slot] = record.after


def _unmark(state: ClusterState, record: r.ThrottleMarkChanged, token: object) -> None:
    state.throttles.marks[record.slot] = record.before


def _mark_key(state: ClusterState, record: r.ThrottleMarkChanged, token: object) -> list[Mark]:
    return [("throttles", record.slot)]


def _begin(state: ClusterState, record: r.ThrottleRequestBegan) -> ThrottlePlan | None:
    before, state.throttles.request = state.throttles.request, record.plan
    return before


def _end(state: ClusterState, record: r.ThrottleRequestEnded) -> None:
    state.throttles.request = None


def _begin_again(state: ClusterState, record: r.ThrottleRequestEnded, token: object) -> None:
    state.throttles.request = record.plan


def _end_again(state: ClusterState, record: r.ThrottleRequestBegan, token: object) -> None:
    state.throttles.request = token if isinstance(token, ThrottlePlan) else None


def _remove(state: ClusterState, record: r.ThrottleRemovalBegan) -> None:
    state.throttles.is_removing = True


def _unremove(state: ClusterState, record: r.ThrottleRemovalBegan, token: object) -> None:
    state.throttles.is_removing = False


def _removed(state: ClusterState, record: r.ThrottleRemovalEnded) -> bool:
    was, state.throttles.is_removing = state.throttles.is_removing, False
    state.throttles.is_left_over = record.is_left_over
    return was


def _unremoved(state: ClusterState, record: r.ThrottleRemovalEnded, token: object) -> None:
    state.throttles.is_removing, state.throttles.is_left_over = bool(token), record.was_left_over


def _write_plan(state: ClusterState, record: r.LegacyPlanWritten) -> None:
    assert not state.legacy.is_there, "a plan is written only where there is none"
    state.legacy.entries = {entry.name: entry for entry in record.entries}
    state.legacy.is_there = True


def _unwrite_plan(state: ClusterState, record: r.LegacyPlanWritten, token: object) -> None:
    state.legacy.entries, state.legacy.is_there = {}, False


TABLE: Final[Table] = {
    **dict.fromkeys((r.ThrottleSet, r.ThrottleRemoved, r.ThrottleRestored), ALTERED),
    **dict.fromkeys((r.ThrottleReleased, r.ThrottleStays), (nothing, undo_nothing, no_keys)),
    r.ThrottleMarkChanged: (_mark, _unmark, _mark_key),
    r.ThrottleRequestBegan: (_begin, _end_again, no_keys),
    r.ThrottleRequestEnded: (_end, _begin_again, no_keys),
    r.ThrottleRemovalBegan: (_remove, _unremove, no_keys),
    r.ThrottleRemovalEnded: (_removed, _unremoved, no_keys),
    r.LegacyPlanWritten: (_write_plan, _unwrite_plan, lambda _, __, ___: [LEGACY]),
}
