"""A table keyed by record type: how a record is applied, and which keys it makes dirty.

Applying changes the state by methods of the batch, which make it undoable, and returns a token: what its dirty keys and
its publication need besides. Dirty keys are computed after applying; for a record that puts a row (`kinds.Table`) they
are those besides the state key. Every record type is in the table (a test checks it).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model import records as r
from ...model.values import Partition
from ..batch import Batch, DirtyKey
from ..cluster import ClusterState
from . import brokers, configs, foreign_writes, orders, partitions, reductions, throttles, topics
from .kinds import Table
from .partitions import late_topic_key, number_of, put_back, state_key

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

_NO_RUN: Final[DirtyKey] = ("state", None)


def apply(state: ClusterState, record: r.Record) -> None:
    """Apply one record to the state and add it to the batch."""
    apply_all(state, (record,))


def apply_all(state: ClusterState, records: Sequence[r.Record]) -> None:
    """Apply the records of one Decision to the state, in order, and add them to the batch.

    A completing move has five records of one partition: its row and indexes are updated once, after the last of them.
    Each can be undone alone all the same.
    """
    log, dirty_keys = state.batch.log, state.batch.dirty_keys
    first: Partition | None = None
    last: Partition | None = None
    number, own, is_dirty = -1, _NO_RUN, False  # of the run: its row, its state key, whether that is dirty
    record: Any
    for record in records:
        do, dirty = TABLE[type(record)]
        fresh: tuple[DirtyKey, ...] = ()
        if do is not None:
            token = do(state, record)
        else:
            if record.before is not last:
                if first is not None and last is not None:
                    state.put_row(number, first, last)
                first = record.before
                number = number_of(state, record.before)
                own = ("state", number)
                is_dirty = own in dirty_keys
            token, last = number, record.after
            if not is_dirty and dirty is not late_topic_key:
                dirty_keys[own], fresh, is_dirty = None, (own,), True
        if dirty is not state_key:
            for dirty_key in dirty(state, record, token):
                if dirty_key not in dirty_keys:
                    dirty_keys[dirty_key] = None
                    fresh = (*fresh, dirty_key)
        log.append((record, token, fresh))
    if first is not None and last is not None:
        state.put_row(number, first, last)


def undo_to(state: ClusterState, length: int) -> None:
    """Undo the last records of the batch until `length` of them are left."""
    batch = state.batch
    batch.take_back_rest()
    while len(batch) > length:
        record: Any
        record, token = batch.take_back()
        if TABLE[type(record)][0] is None:
            put_back(state, record.before, token)


def start_batch(state: ClusterState) -> Batch:
    """Begin a new batch; return the former one."""
    done, state.batch = state.batch, Batch()
    return done
