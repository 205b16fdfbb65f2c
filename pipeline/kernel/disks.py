"""Levels the logs of one broker over its directories: as `level`, with directories in the place of brokers."""

from __future__ import annotations

import numpy as np

from .cluster import MOVABLE, MOVING, Bools, Cluster, Ints, max_to_mean, per_broker
from .level import level
from .outcome import Outcome, weights


def as_cluster(directory: Ints, size: Ints, moves: Bools, most: Ints) -> Cluster:
    """Logs by directory (an index) and bytes. `moves`: logs that are being moved. `most`: by directory, the bytes that
    it may hold; NO_LIMIT: unknown."""
    logs, directories = len(directory), len(most)
    none, endless, known = np.zeros(logs), np.full(directories, np.inf), np.ones(logs, np.bool_)
    return Cluster(
        topics=("",),
        topic=np.zeros(logs, np.int64),
        number=np.arange(logs),
        replicas=directory[:, None],
        leader=directory,
        size=size,
        write_bps=none,
        read_bps=none,
        held=np.where(moves, MOVING, MOVABLE),
        brokers=np.arange(directories),
        rack=np.zeros(directories, np.int64),
        racks=("",),
        alive=np.ones(directories, np.bool_),
        disk_max=most,
        in_max=endless,
        out_max=endless,
        sized=known,
        rated=known,
        takes=np.ones(directories, np.bool_),
        keeps=np.zeros(directories, np.bool_),
    )


def balance(logs: Cluster, takes: Bools, *, tolerance: float) -> Outcome:
    """No directory exceeds its share by more than `tolerance`, as far as those in `takes` can take the excess."""
    return level(logs, np.zeros(len(takes), np.bool_), takes, tolerance=tolerance)


def unevenness(logs: Cluster, replicas: Ints) -> float:
    """The ratio of the fullest directory to the mean; by what they may hold if that is known of all."""
    everywhere = np.ones(len(logs.brokers), np.bool_)
    return max_to_mean(per_broker(replicas, logs.size, len(logs.brokers)), weights(logs, everywhere))
