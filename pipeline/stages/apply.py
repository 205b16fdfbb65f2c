"""The partitions of a snapshot after a plan or a wave, to look ahead and to prove a plan."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import NOBODY
from ..tables.arrow import Arrow, arrow_type, in_order
from ..tables.declared import PARTITION
from .arrays import indexed, keys_of, numbers, sorted_topics, topic_codes


def apply(partition: Arrow, moves: Arrow) -> Arrow:
    """The table partition with the targets of `moves` (plan_move or wave_move) reached: they are the replicas, all in
    sync, and the first one leads. Other rows are unchanged."""
    topics = sorted_topics(partition)
    keys = keys_of(topic_codes(partition.column("topic"), topics), numbers(partition.column("partition")))
    moved = keys_of(topic_codes(moves.column("topic"), topics), numbers(moves.column("partition")))
    order = np.argsort(moved, kind="stable")
    at = indexed(keys, moved[order])
    there = at != NOBODY
    if not there.any():
        return in_order(PARTITION, partition)
    rows = pa.array(order[at], pa.int64(), mask=~there)
    target = moves.column("target_replicas").combine_chunks().cast(arrow_type("array<int>")).take(rows)
    found = partition
    for name, value in (("replicas", target), ("isr", target), ("leader", pc.list_element(target, 0))):
        kept = partition.column(name).combine_chunks()
        chosen = pc.if_else(pa.array(there), value.cast(kept.type), kept)
        found = found.set_column(found.schema.get_field_index(name), partition.schema.field(name), chosen)
    return in_order(PARTITION, found)
