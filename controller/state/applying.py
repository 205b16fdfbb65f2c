"""Records are applied to the state as soon as they are decided, and undone from the last one on."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.records import Record
from .batch import Batch, DirtyKey
from .cluster import ClusterState


def apply(state: ClusterState, record: Record) -> None:
    apply_all(state, (record,))


def apply_all(state: ClusterState, records: Sequence[Record]) -> None:
    """Apply the records of one Decision to the state, in order, and add them to the batch."""
    log, dirty_keys = state.batch.log, state.batch.dirty_keys
    for record in records:
        token = record.apply(state)
        fresh: tuple[DirtyKey, ...] = ()
        for dirty_key in record.dirty(state, token):
            if dirty_key not in dirty_keys:
                dirty_keys[dirty_key] = None
                fresh = (*fresh, dirty_key)
        log.append((record, token, fresh))


def undo_to(state: ClusterState, length: int) -> None:
    """Undo the last records of the batch until `length` of them are left."""
    batch = state.batch
    batch.take_back_rest()
    while len(batch) > length:
        batch.take_back()


def start_batch(state: ClusterState) -> Batch:
    done, state.batch = state.batch, Batch()
    return done
