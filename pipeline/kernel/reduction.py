"""Which topics could have fewer partitions, and how many they need (KIP-694).

A topic needs so many partitions that none exceeds the given bytes or bytes per second if its load is spread evenly; at
least one. A topic is not changed, with its reason, if the size or rate of a partition is unknown (which is not 0), or a
partition is being reassigned or reduced. Internal topics are not changed.
"""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np

from .cluster import Cluster, Ints

NO_SIZE: Final = "the size of some partitions is not known"
NO_RATE: Final = "the rate of writing of some partitions is not known"
HELD_BACK: Final = "a partition is being reassigned or reduced"


@attrs.frozen(eq=False)
class Reduction:
    """By topic: partitions now and wanted (equal: no change), bytes and rates of the whole topic."""

    now: Ints
    wanted: Ints
    size: Ints
    write_bps: tuple[float, ...]
    reasons: tuple[tuple[int, str], ...]


def reduce_partitions(cluster: Cluster, *, bytes_max: int, bps_max: float) -> Reduction:
    """`bytes_max`, `bps_max`: the limits of each partition afterwards."""
    topics = len(cluster.topics)
    now = np.bincount(cluster.topic, minlength=topics)
    size = np.zeros(topics, np.int64)
    np.add.at(size, cluster.topic, cluster.size)
    write = np.bincount(cluster.topic, cluster.write_bps, topics)
    needed = np.maximum(-(-size // bytes_max), np.ceil(write / bps_max).astype(np.int64))
    wanted = np.clip(needed, 1, np.maximum(now, 1))
    internal = np.array([name.startswith("__") for name in cluster.topics], np.bool_)
    held = np.bincount(cluster.topic, cluster.held != 0, topics) > 0
    unsized = np.bincount(cluster.topic, ~cluster.sized, topics) > 0
    unrated = np.bincount(cluster.topic, ~cluster.rated, topics) > 0
    could = (wanted < now) & ~internal
    refused = np.nonzero(could & (held | unsized | unrated))[0].tolist()
    reasons = [(t, HELD_BACK if held[t] else NO_SIZE if unsized[t] else NO_RATE) for t in refused]
    wanted = np.where(could & ~held & ~unsized & ~unrated, wanted, now)
    return Reduction(now, wanted, size, tuple(write.tolist()), tuple(reasons))
