"""Records about what was found in the store: adopted keys, foreign changes, unreadable keys."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState
from .kinds import Table, no_keys, nothing


def _adopt(state: ClusterState, record: r.KeyAdopted) -> None:
    at, versions = record.at, state.versions
    state.batch.undone_by(versions.put, at.path, versions.of(at.path))
    versions.put(at.path, at.version)


def _adopt_state(state: ClusterState, record: r.StateKeyAdopted) -> None:
    number, at = state.topics[record.topic].numbers[record.partition], record.at
    known = state.key_version(record.topic, record.partition)
    state.batch.undone_by(state.put_state_version, record.topic, number, known.version, known.generation)
    state.put_state_version(record.topic, number, at.version, at.generation)


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
    r.KeyAdopted: (_adopt, no_keys),
    r.StateKeyAdopted: (_adopt_state, no_keys),
    r.ForeignChange: (nothing, _foreign_key),
    r.BadKey: (_set_problem, no_keys),
}
