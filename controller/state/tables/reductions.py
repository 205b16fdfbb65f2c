"""Partitions that go: their status, their end, and the key that asks for it."""

from __future__ import annotations

from typing import Final

from controller.model import records as r
from controller.state.batch import Mark
from controller.state.cluster import ClusterState, Purged
from controller.state.tables.kinds import Table, no_keys
from controller.state.tables.partitions import PARTITION, state_key


def _purge(state: ClusterState, record: r.PartitionPurged) -> Purged:
    assert record.before.partition == state.partition_count(record.before.topic) - 1, "the last one goes first"
    return state.purge_last_partition(record.before.topic)


def _unpurge(state: ClusterState, record: r.PartitionPurged, token: object) -> None:
    assert isinstance(token, Purged)
    state.unpurge(record.before.topic, token)


def _purged_keys(state: ClusterState, record: r.PartitionPurged, token: object) -> list[Mark]:
    assert isinstance(token, Purged)
    before = record.before
    return [("state", token.number), ("parent", (before.topic, before.partition)), ("topic", before.topic)]


def _change(state: ClusterState, record: r.ReductionChanged) -> None:
    state.reducing.make(record.topic).entries = record.after
    state.reducing.drop_empty(record.topic)


def _unchange(state: ClusterState, record: r.ReductionChanged, token: object) -> None:
    state.reducing.make(record.topic).entries = record.before
    state.reducing.drop_empty(record.topic)


def _changed_key(state: ClusterState, record: r.ReductionChanged, token: object) -> list[Mark]:
    return [] if record.is_written else [("reduction", record.topic)]


def _find(state: ClusterState, record: r.ReductionKeyFound) -> None:
    known = state.reducing.make(record.topic)
    known.version, known.extra = record.found, record.extra
    state.reducing.drop_empty(record.topic)


def _unfind(state: ClusterState, record: r.ReductionKeyFound, token: object) -> None:
    known = state.reducing.make(record.topic)
    known.version, known.extra = record.before, record.extra_before
    state.reducing.drop_empty(record.topic)


def _refuse(state: ClusterState, record: r.ReductionRefused) -> int:
    """Without entries the key goes."""
    known = state.reducing.make(record.topic)
    before, known.version = known.version, record.version
    return before


def _unrefuse(state: ClusterState, record: r.ReductionRefused, token: object) -> None:
    assert isinstance(token, int)
    state.reducing.of[record.topic].version = token
    state.reducing.drop_empty(record.topic)


def _unread(state: ClusterState, record: r.ReductionUnread) -> None:
    _mark_unread(state, record.topic, is_unread=record.is_unread)


def _undo_unread(state: ClusterState, record: r.ReductionUnread, token: object) -> None:
    _mark_unread(state, record.topic, is_unread=not record.is_unread)


def _mark_unread(state: ClusterState, topic: str, *, is_unread: bool) -> None:
    (state.reducing.unread.add if is_unread else state.reducing.unread.discard)(topic)


TABLE: Final[Table] = {
    r.StatusChanged: (*PARTITION, state_key),
    r.HoldersTold: (*PARTITION, state_key),
    r.PartitionPurged: (_purge, _unpurge, _purged_keys),
    r.ReductionChanged: (_change, _unchange, _changed_key),
    r.ReductionKeyFound: (_find, _unfind, no_keys),
    r.ReductionRefused: (_refuse, _unrefuse, lambda _, record, __: [("reduction", record.topic)]),
    r.ReductionUnread: (_unread, _undo_unread, no_keys),
}
