"""Partitions: their row is put as the record says, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.model import records as r
from controller.model.values import Partition
from controller.state.batch import DirtyKey
from controller.state.cluster import ClusterState
from controller.state.tables.kinds import Table


def put_back(state: ClusterState, before: Partition, number: object) -> None:
    """In the place of what stands, which is what the record left, or not yet: where a later record of its Decision
    could not be applied, the row of the run was never put."""
    assert isinstance(number, int)
    row = state.rows[number]
    assert row is not None
    state.put_row(number, row, before)


def number_of(state: ClusterState, partition: Partition) -> int:
    number = state.number(partition.topic, partition.partition)
    assert number is not None, f"{partition.topic}-{partition.partition} is not in the state"
    return number


# --- what is dirty besides the state key


def state_key(_: ClusterState, __: r.PartitionRecord, ___: int) -> Sequence[DirtyKey]:
    """The state key alone."""
    return ()


def _topic_key(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """Of a target that is set or cleared, and of R that is another."""
    after = record.after
    if after.move is None or record.before.replicas != after.replicas:
        return (("topic", after.topic),)
    return ()


def _topic_of_isr(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """A member that R grew by and that leaves I again must stand in the topic key: the loader would lose it from R,
    which it grows by T and I only."""
    after, move = record.after, record.after.move
    if move is not None:
        for broker in record.before.isr:
            if broker not in after.isr and broker in after.replicas and broker not in move.origin:
                return (("topic", after.topic),)
    return ()


def _topic_of_override(_: ClusterState, record: r.PartitionRecord, __: int) -> Sequence[DirtyKey]:
    """What R grew by under the old T cannot be derived from the new one: the topic key says it. A new deadline alone
    changes nothing of that."""
    if record.before.target_replicas != record.after.target_replicas:
        return (("topic", record.after.topic),)
    return ()


def late_topic_key(state: ClusterState, record: r.PartitionRecord, _: int) -> Sequence[DirtyKey]:
    """Not even the state key: R of a moving partition can be derived from T and I, and the topic key, which holds a
    whole topic, is written later."""
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
    r.LeaderEpochRaised: (None, state_key),
    r.StateFound: (None, _topic_of_isr),
}
