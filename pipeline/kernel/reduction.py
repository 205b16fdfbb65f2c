"""Which topics can do with fewer partitions, and with how many (KIP-694).

As many as it takes that none holds more bytes or takes more bytes per second than was said, if what comes is spread
evenly; at least one. A topic is left alone, with its reason, where the size or the rate of a partition of it is not
known (which is not 0: it may be the busiest of all), or one is moving or being reduced; and where it is internal.
"""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np

from pipeline.kernel.cluster import Cluster, Ints

NO_SIZE: Final = "the size of some of its partitions is not known"
NO_RATE: Final = "what is written to some of its partitions is not known"
HELD_BACK: Final = "a partition of it is being reassigned or reduced"


@attrs.frozen(eq=False)
class Reduction:
    """By topic: partitions now and wanted (equal: it stays), bytes and rates of the whole topic."""

    now: Ints
    wanted: Ints
    size: Ints
    write_bps: tuple[float, ...]
    reasons: tuple[tuple[int, str], ...]


def reduce_partitions(cluster: Cluster, *, bytes_max: int, bps_max: float) -> Reduction:
    """`bytes_max`, `bps_max`: of a partition afterwards."""
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
