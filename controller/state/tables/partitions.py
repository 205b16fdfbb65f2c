"""The record that replaces the row of a partition."""

from __future__ import annotations

from typing import Final

from ...model.records import PartitionChanged
from ...model.values import LEADER_DURING_DELETE
from ..batch import DirtyKey
from ..cluster import ClusterState
from .kinds import Table


def _change(state: ClusterState, record: PartitionChanged) -> int:
    """Returns the number of the partition."""
    before, after = record.before, record.after
    number = state.number(before.topic, before.partition)
    assert number is not None, f"{before.topic}-{before.partition} is not in the state"
    state.put_row(number, before, after)
    state.batch.undone_by(state.put_row, number, after, before)
    if record.grew:
        state.batch.grew(after.topic)
    return number


def _changed_keys(state: ClusterState, record: PartitionChanged, number: int) -> list[DirtyKey]:
    after = record.after
    dirty: list[DirtyKey] = [("state", number)] if record.needs_state_key else []
    if record.needs_topic_key:
        dirty.append(("topic", after.topic))
    if not after.has_state and after.leader == LEADER_DURING_DELETE:
        # A partition without a state key is checked to have none; its empty parent, if any, is deleted.
        dirty.append(("parent", (after.topic, after.partition)))
    return dirty


TABLE: Final[Table] = {PartitionChanged: (_change, _changed_keys)}
