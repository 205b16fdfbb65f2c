"""Records about topics: created, expanded, found, changed, deleted."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ...model.values import without_state
from ..batch import DirtyKey
from ..cluster import ClusterState
from ..columns import PartitionColumns
from .kinds import Table, no_keys, nothing


def _create_topic(state: ClusterState, record: r.TopicCreated) -> None:
    row = state.add_topic(record.topic, dict(record.configs))
    row.is_new = True
    for partition, replicas in enumerate(record.assignments):
        state.add_partition(row, without_state(record.topic.name, partition, replicas))
    state.batch.undone_by(_drop_topic, state, record.topic.name)


def _drop_topic(state: ClusterState, name: str) -> None:
    _drop_partitions(state, name, state.partition_count(name))
    state.remove_topic(name)


def _created_keys(state: ClusterState, record: r.TopicCreated, token: object) -> list[DirtyKey]:
    """Includes the keys that request a deletion or a reduction: they are checked to be absent, or deleted, so that a
    request about a former topic never applies to this one."""
    name = record.topic.name
    return [("config", name), ("topic", name), ("deletion", name), ("reduction", name)]


def _add_partitions(state: ClusterState, record: r.PartitionsAdded) -> None:
    row = state.topics[record.topic.name]
    for i, replicas in enumerate(record.assignments):
        state.add_partition(row, without_state(record.topic.name, record.first + i, replicas))
    state.batch.undone_by(_drop_partitions, state, record.topic.name, len(record.assignments))


def _drop_partitions(state: ClusterState, name: str, count: int) -> None:
    row = state.topics[name]
    for _ in range(count):
        state.remove_last_partition(row)


def _find_topic(state: ClusterState, record: r.TopicFound) -> None:
    state.load_topic(record.topic, PartitionColumns.of(record.partitions), record.configs, record.versions)
    state.batch.undone_by(_drop_topic, state, record.topic.name)


def _change_topic(state: ClusterState, record: r.TopicChanged) -> None:
    state.batch.set(state.topics[record.after.name], "topic", record.after)


def _topic_key(state: ClusterState, record: r.PartitionsAdded, token: object) -> list[DirtyKey]:
    return [("topic", record.topic.name)]


# --- topics that are deleted


def _start_deletion(state: ClusterState, record: r.TopicDeletionStarted) -> None:
    state.start_deletion(record.topic.name, record.version)
    state.batch.undone_by(state.deletions.pop, record.topic.name)


def _started_key(state: ClusterState, record: r.TopicDeletionStarted, token: object) -> list[DirtyKey]:
    return [] if record.version else [("deletion", record.topic.name)]


def _delete_topic(state: ClusterState, record: r.TopicDeleted) -> None:
    state.batch.undone_by(state.undelete_topic, state.delete_topic(record.topic.name))


def _deleted_keys(state: ClusterState, record: r.TopicDeleted, token: object) -> list[DirtyKey]:
    """In the order in which they are deleted."""
    name = record.topic.name
    reduction: list[DirtyKey] = [("reduction", name)] if state.reducing.version(name) else []
    return [("parent", (name, None)), ("topic", name), ("config", name), *reduction, ("deletion", name)]


def _find_deletion(state: ClusterState, record: r.DeletionKeyFound) -> None:
    state.batch.set(state.deletions[record.topic], "version", record.found)


def _found_key(state: ClusterState, record: r.DeletionKeyFound, token: object) -> list[DirtyKey]:
    return [] if record.found else [("deletion", record.topic)]


def _refuse_deletion(state: ClusterState, record: r.DeletionRefused) -> None:
    state.batch.put(state.refused, record.topic, record.version)


TABLE: Final[Table] = {
    r.TopicCreated: (_create_topic, _created_keys),
    r.PartitionsAdded: (_add_partitions, _topic_key),
    r.TopicFound: (_find_topic, no_keys),
    r.TopicChanged: (_change_topic, lambda _, record, __: [("topic", record.after.name)]),
    r.TopicDeletionStarted: (_start_deletion, _started_key),
    r.TopicDeleted: (_delete_topic, _deleted_keys),
    r.DeletionKeyFound: (_find_deletion, _found_key),
    r.DeletionRefused: (_refuse_deletion, lambda _, record, __: [("deletion", record.topic)]),
    r.KeysRewritten: (nothing, lambda _, record, __: [("topic", record.topic)]),
}
