"""Records that replace the row of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model import records as r
from ...model.values import Partition
from ..batch import DirtyKey
from ..cluster import ClusterState
from .kinds import Table


def put_back(state: ClusterState, before: Partition, number: object) -> None:
    """Restore the row. If a later record of the Decision failed, the row of the run was never put."""
    assert isinstance(number, int)
    row = state.rows[number]
    assert row is not None
    state.put_row(number, row, before)


def number_of(state: ClusterState, partition: Partition) -> int:
    number = state.number(partition.topic, partition.partition)
    assert number is not None, f"{partition.topic}-{partition.partition} is not in the state"
    return number


# --- dirty keys besides the state key


def state_key(_: ClusterState, __: r.PartitionRecord, ___: int) -> Sequence[DirtyKey]:
    """The state key alone."""
    return ()


def _topic_key(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """For a target that is set or cleared, and for changes of R."""
    after = record.after
    if after.move is None or record.before.replicas != after.replicas:
        return (("topic", after.topic),)
    return ()


def _topic_of_isr(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """A member by which R grew and that leaves the ISR must be in the topic key: the loader derives the growth of R
    only from T and the ISR, and would lose it."""
    after, move = record.after, record.after.move
    if move is not None:
        for broker in record.before.isr:
            if broker not in after.isr and broker in after.replicas and broker not in move.origin:
                return (("topic", after.topic),)
    return ()


def _topic_of_override(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """The growth of R under the old T cannot be derived from the new one, so the topic key must have it. A new deadline
    alone does not matter."""
    if record.before.target_replicas != record.after.target_replicas:
        return (("topic", record.after.topic),)
    return ()


def late_topic_key(state: ClusterState, record: r.PartitionRecord, _: int) -> Sequence[DirtyKey]:
    """Not even the state key: R of a moving partition can be derived from T and the ISR, and the topic key, which holds
    the whole topic, is written later."""
    state.batch.grew(record.after.topic)
    return ()


TABLE: Final[Table] = {
    r.LeaderElected: (None, _topic_of_isr),
    r.IsrChanged: (None, _topic_of_isr),
    r.TargetSet: (None, _topic_key),
    r.TargetReplaced: (None, _topic_of_override),
    r.ReplicasGrown: (None, late_topic_key),
    r.ReplicasChanged: (None, _topic_key),
    r.TargetCleared: (None, _topic_key),
    r.IsrShrunk: (None, state_key),
    r.StateFound: (None, _topic_of_isr),
}
