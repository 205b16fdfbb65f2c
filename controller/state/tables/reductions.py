"""Records about reductions: the status and end of partitions, and the key with the request."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState
from ..reductions import Reduction
from .kinds import Table, nothing


def _purge(state: ClusterState, record: r.PartitionPurged) -> int:
    """Returns the number that the partition had."""
    assert record.before.partition == state.partition_count(record.before.topic) - 1, "only the last one can be purged"
    purged = state.purge_last_partition(record.before.topic)
    state.batch.undone_by(state.unpurge, record.before.topic, purged)
    return purged.number


def _purged_keys(state: ClusterState, record: r.PartitionPurged, number: int) -> list[DirtyKey]:
    before = record.before
    return [("state", number), ("parent", (before.topic, before.partition)), ("topic", before.topic)]


def _change(state: ClusterState, record: r.ReductionChanged) -> None:
    of, known = state.reducing.of, state.reducing.of.get(record.topic)
    if record.after or record.is_written:
        extra = record.extra or (None if known is None else known.extra)
        state.batch.put(of, record.topic, Reduction(record.after, extra))
    elif known is not None:
        state.batch.take(of, record.topic)


def _changed_key(state: ClusterState, record: r.ReductionChanged, token: object) -> list[DirtyKey]:
    return [] if record.is_written else [("reduction", record.topic)]


TABLE: Final[Table] = {
    r.PartitionPurged: (_purge, _purged_keys),
    r.ReductionChanged: (_change, _changed_key),
    r.ReductionRefused: (nothing, lambda _, record, __: [("reduction", record.topic)]),
}
