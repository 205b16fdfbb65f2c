"""Tables keyed by record type: how a record is applied, how it is undone, which keys it makes dirty.

Applying gives a token, whatever undoing needs beside the record. What a record makes dirty is read after it was
applied.
Every record type stands in the table (a test holds it to that).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.model import records as r
from controller.state.batch import Batch
from controller.state.cluster import ClusterState
from controller.state.tables import brokers, found, orders, partitions, reductions, settings, throttles, topics
from controller.state.tables.kinds import Table
from controller.state.tables.partitions import number_of

TABLE: Final[Table] = {
    **partitions.TABLE,
    **topics.TABLE,
    **settings.TABLE,
    **reductions.TABLE,
    **brokers.TABLE,
    **found.TABLE,
    **orders.TABLE,
    **throttles.TABLE,
}


def apply(state: ClusterState, record: r.Record) -> None:
    """The state is as `record` says; the batch knows it."""
    do, _, dirty = TABLE[type(record)]
    token = do(state, record)
    state.batch.note(record, token, dirty(state, record, token))


def apply_all(state: ClusterState, records: Sequence[r.Record]) -> None:
    """The state is as the records of one Decision say, in their order; the batch knows each.

    A completing move has five records of one partition: its row and indexes are put once, as the last of them leaves
    it. Each is undone alone all the same.
    """
    first: r.PartitionRecord | None = None
    last: r.PartitionRecord | None = None
    number = -1  # of the run
    for record in records:
        do, _, dirty = TABLE[type(record)]
        if not isinstance(record, r.PartitionRecord):
            token = do(state, record)
            state.batch.note(record, token, dirty(state, record, token))
            continue
        if last is None or record.before is not last.after:
            if first is not None and last is not None:
                state.put_row(number, first.before, last.after)
            first, number = record, number_of(state, record.after)
        last = record
        state.batch.note(record, number, dirty(state, record, number))
    if first is not None and last is not None:
        state.put_row(number, first.before, last.after)


def undo_to(state: ClusterState, length: int) -> None:
    """Undo the last records of the batch until `length` of them are left."""
    while len(state.batch) > length:
        record, token = state.batch.take_back()
        TABLE[type(record)][1](state, record, token)


def start_batch(state: ClusterState) -> Batch:
    """The batch so far, done with; a new one begins."""
    done, state.batch = state.batch, Batch()
    return done
