"""Records about what was found in the store: versions, foreign changes, unreadable keys."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState
from .kinds import Table, no_keys, nothing


def _set_version(state: ClusterState, record: r.KeyVersionFound) -> None:
    _move_version(state, record, record.found)
    state.batch.undone_by(_move_version, state, record, record.before)


def _move_version(state: ClusterState, record: r.KeyVersionFound, at: r.KeyVersion) -> None:
    row = state.topics[record.topic]
    if record.partition is None:
        row.version, row.generation = at.version, at.generation
    else:
        state.state_key_stands(record.topic, row.numbers[record.partition], at.version, at.generation)


def _foreign_key(state: ClusterState, record: r.ForeignChange, token: object) -> list[DirtyKey]:
    if not record.is_rewritten:
        return []
    if record.partition is None:
        return [("topic", record.topic)]
    number = state.number(record.topic, record.partition)
    return [] if number is None else [("state", number)]


def _set_problem(state: ClusterState, record: r.BadKey) -> None:
    key = (record.topic, record.partition)
    if record.problem is not None:
        state.batch.put(state.problems, key, record.problem)
    elif key in state.problems:
        state.batch.take(state.problems, key)


TABLE: Final[Table] = {
    r.KeyVersionFound: (_set_version, no_keys),
    r.ForeignChange: (nothing, _foreign_key),
    r.BadKey: (_set_problem, no_keys),
}
