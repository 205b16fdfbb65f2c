"""What one broker holds: its replicas, the partitions that it leads, and those that are being moved to it."""

from __future__ import annotations

import numpy as np

from .cluster import NOBODY, Bools, Ints


def holding(broker: int, replicas: Ints, targets: Ints, leader: Ints) -> tuple[Bools, Bools, Bools]:
    """Of each partition whether the broker is a replica, whether it leads, and whether it is a target and no replica
    yet. `replicas`, `targets`: P x W, brokers or NOBODY; `leader`: P. NOBODY holds nothing."""
    if broker == NOBODY:
        return (np.zeros(len(leader), np.bool_),) * 3
    is_replica = (replicas == broker).any(axis=1)
    return is_replica, leader == broker, (targets == broker).any(axis=1) & ~is_replica
