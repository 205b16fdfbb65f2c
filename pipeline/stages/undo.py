"""The order of replicas as it was before a plan that copied nothing, such as one that demotes a broker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import BadInput
from ..kernel.cluster import NOBODY, Bools, Cluster, Ints
from ..kernel.demotion import put_back
from ..kernel.outcome import Outcome, widened
from ..tables.arrow import Arrow
from .arrays import flat, indexed, keys_of, matrix, numbers, topic_codes
from .requests import Undo


def undo(cluster: Cluster, moves: Arrow, request: Undo, usable: Bools) -> Outcome:
    """`moves`: the rows of the plan in the table plan_move; partitions that were deleted since do not count. `usable`:
    the brokers that may lead. Raises BadInput if the plan copied data."""
    topics = pa.array(cluster.topics, pa.string())
    keys = keys_of(topic_codes(moves.column("topic"), topics), numbers(moves.column("partition")))
    at = indexed(keys, keys_of(cluster.topic, cluster.number))
    there = at != NOBODY
    before, produced = (matrix(*flat(moves.column(name))) for name in ("replicas", "target_replicas"))
    if before.shape != produced.shape or (np.sort(before, axis=1) != np.sort(produced, axis=1)).any():
        raise BadInput(f"plan {request.undo} copies data: export it, and undo it by `kedge plan submit --rollback`")
    return put_back(cluster, at[there], _as_wide(produced[there], cluster), _as_wide(before[there], cluster), usable)


def _as_wide(ids: Ints, cluster: Cluster) -> Any:
    """Rows of indexes as wide as those of the cluster; a row that it cannot have, of NOBODY alone."""
    width = cluster.replicas.shape[1]
    rows = widened(np.where(ids == NOBODY, NOBODY, indexed(ids, cluster.brokers)), width)
    known = ((rows != NOBODY) == (widened(ids, width) != NOBODY)).all(axis=1) & (rows[:, width:] == NOBODY).all(axis=1)
    return np.where(known[:, None], rows[:, :width], NOBODY)
