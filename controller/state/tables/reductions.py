"""Records about reductions: the status and end of partitions, and the key with the request."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState
from ..reductions import Reduction
from .kinds import Table, no_keys


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
    known = state.reducing.known(record.topic)
    _stands(state, record.topic, Reduction(known.version, record.after, known.extra))


def _changed_key(state: ClusterState, record: r.ReductionChanged, token: object) -> list[DirtyKey]:
    return [] if record.is_written else [("reduction", record.topic)]


def _find(state: ClusterState, record: r.ReductionKeyFound) -> None:
    known = state.reducing.known(record.topic)
    _stands(state, record.topic, Reduction(record.found, known.entries, record.extra))
    """Without entries the key is deleted."""


def _refuse(state: ClusterState, record: r.ReductionRefused) -> None:
    """Without entries the key goes."""
    known = state.reducing.known(record.topic)
    state.batch.put(state.reducing.of, record.topic, Reduction(record.version, known.entries, known.extra))
    """Without a key and entries there is no reduction."""


def _stands(state: ClusterState, topic: str, reduction: Reduction) -> None:
    """Without a key and without entries there is none."""
    if reduction.version or reduction.entries:
        state.batch.put(state.reducing.of, topic, reduction)
    elif topic in state.reducing.of:
        state.batch.take(state.reducing.of, topic)


TABLE: Final[Table] = {
    r.PartitionPurged: (_purge, _purged_keys),
    r.ReductionChanged: (_change, _changed_key),
    r.ReductionKeyFound: (_find, no_keys),
    r.ReductionRefused: (_refuse, lambda _, record, __: [("reduction", record.topic)]),
}
