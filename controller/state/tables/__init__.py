"""A table keyed by record type: how a record is applied, and which keys it makes dirty.

Applying changes the state by methods of the batch, which make it undoable, and returns a token: what its dirty keys and
its publication need besides. Dirty keys are computed after applying. Every record type is in the table (a test checks
it).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model import records as r
from ..batch import Batch, DirtyKey
from ..cluster import ClusterState
from . import brokers, configs, foreign_writes, orders, partitions, reductions, throttles, topics
from .kinds import Table

TABLE: Final[Table] = {
    **partitions.TABLE,
    **topics.TABLE,
    **configs.TABLE,
    **reductions.TABLE,
    **brokers.TABLE,
    **foreign_writes.TABLE,
    **orders.TABLE,
    **throttles.TABLE,
}


def apply(state: ClusterState, record: r.Record) -> None:
    """Apply one record to the state and add it to the batch."""
    apply_all(state, (record,))


def apply_all(state: ClusterState, records: Sequence[r.Record]) -> None:
    """Apply the records of one Decision to the state, in order, and add them to the batch."""
    log, dirty_keys = state.batch.log, state.batch.dirty_keys
    record: Any
    for record in records:
        do, dirty = TABLE[type(record)]
        token = do(state, record)
        fresh: tuple[DirtyKey, ...] = ()
        for dirty_key in dirty(state, record, token):
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
    """Begin a new batch; return the former one."""
    done, state.batch = state.batch, Batch()
    return done
