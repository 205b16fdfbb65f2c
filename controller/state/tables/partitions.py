"""Partitions: their row is put as the record says, and put back."""

from __future__ import annotations

from typing import Final

from controller.model import records as r
from controller.model.values import Partition
from controller.state.batch import Mark
from controller.state.cluster import ClusterState
from controller.state.tables.kinds import Table


def put(state: ClusterState, record: r.PartitionRecord | r.StateKeyRemoved) -> int:
    number = number_of(state, record.after)
    state.put_row(number, record.before, record.after)
    return number


def _put_back(state: ClusterState, record: r.PartitionRecord | r.StateKeyRemoved, number: object) -> None:
    assert isinstance(number, int)
    state.put_row(number, record.after, record.before)


def number_of(state: ClusterState, partition: Partition) -> int:
    number = state.number(partition.topic, partition.partition)
    assert number is not None, f"{partition.topic}-{partition.partition} is not in the state"
    return number


def _state_key(_: ClusterState, __: r.PartitionRecord, token: object) -> list[Mark]:
    return [("state", token)]  # what `put` gave back: the number


def _both_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    after = record.after
    if after.move is None or record.before.replicas != after.replicas:
        return [("state", token), ("topic", after.topic)]
    return [("state", token)]


def _isr_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """A member that R grew by and that leaves I again must stand in the topic key: the loader would lose it from R,
    which it grows by T and I only."""
    after, move = record.after, record.after.move
    if move is not None:
        left = [b for b in record.before.isr if b not in after.isr]
        if left and any(b in after.replicas and b not in move.origin for b in left):
            return [("state", token), ("topic", after.topic)]
    return [("state", token)]


def _override_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """What R grew by under the old T cannot be derived from the new one: the topic key says it. A new deadline alone
    changes nothing of that."""
    marks = _state_key(state, record, token)
    if record.before.target_replicas != record.after.target_replicas:
        marks.append(("topic", record.after.topic))
    return marks


def _late_topic_key(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """R of a moving partition can be derived from T and I: the topic key, which holds a whole topic, is written
    later (`Batch.late_topics`)."""
    return []


PARTITION: Final = (put, _put_back)

TABLE: Final[Table] = {
    r.LeaderElected: (*PARTITION, _isr_keys),
    r.IsrChanged: (*PARTITION, _isr_keys),
    r.TargetSet: (*PARTITION, _both_keys),
    r.TargetReplaced: (*PARTITION, _override_keys),
    r.ReplicasGrown: (*PARTITION, _late_topic_key),
    r.ReplicasChanged: (*PARTITION, _both_keys),
    r.TargetCleared: (*PARTITION, _both_keys),
    r.IsrShrunk: (*PARTITION, _state_key),
    r.LeaderEpochRaised: (*PARTITION, _state_key),
    r.StateFound: (*PARTITION, _isr_keys),
}
