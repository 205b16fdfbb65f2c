"""Directories that a plan names: replicas are moved there by their own brokers (KIP-113).

A broker moves a replica that it has; of one that it shall get it keeps in mind where to put it, or answers that it does
not know it yet. So the order is given again until it is taken, or the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.errors import Failed
from controller.cli.kafka.values import Description, TopicPartition

DIRS_MS: Final = 10_000
_NOT_AVAILABLE: Final = 9  # the broker does not have that replica yet
_PAUSE_S: Final = 0.1

Dirs = Mapping[tuple[TopicPartition, int], str]


def move_dirs(cluster: Cluster, wanted: Dirs, timeout_ms: int, say: Callable[[str], object]) -> None:
    """Every broker has taken its orders. Raises Failed."""
    deadline = time.monotonic() + timeout_ms / 1000
    left = dict(wanted)
    while True:
        waiting = {}
        for broker in sorted({broker for _, broker in left}):
            paths = {tp: path for (tp, at), path in left.items() if at == broker}
            refused = cluster.alter_log_dirs(broker, paths)
            for tp, path in paths.items():
                if tp not in refused:
                    say(f"Successfully started moving log directory to {path} for replica {tp} with broker {broker} ")
                elif refused[tp].code == _NOT_AVAILABLE:
                    waiting[tp, broker] = path
                else:
                    raise Failed(f"Failed to alter dir for {tp}-{broker}: {refused[tp]}")
        if not waiting:
            return
        if time.monotonic() >= deadline:
            replicas = ",".join(sorted(f"{tp}-{broker}" for tp, broker in waiting))
            several = "" if len(waiting) == 1 else "s"
            raise Failed(f"Timed out before log directory move{several} could be started for: {replicas}")
        left = waiting
        cluster.pause(_PAUSE_S)


def dir_states(cluster: Cluster, wanted: Dirs) -> tuple[list[str], bool]:
    """A line for each directory that a plan names, and whether a move between directories still runs."""
    described: dict[int, Description] = {}
    live = cluster.brokers()
    for broker in {broker for _, broker in wanted} & live.keys():
        described[broker] = cluster.log_dirs(broker, {tp for tp, at in wanted if at == broker})
    lines, runs = [], False
    for (tp, broker), path in sorted(wanted.items()):
        line, moving = _state(tp, broker, path, described.get(broker))
        lines.append(line)
        runs = runs or moving
    return lines, runs


def _state(tp: TopicPartition, broker: int, path: str, found: Description | None) -> tuple[str, bool]:
    if found is None:
        return (
            f"Partition {tp} is not found in any live log dir on broker {broker}. "
            "There is likely an offline log directory on the broker."
        ), False
    replicas = found.replicas.get(tp, ())
    present = next((replica.path for replica in replicas if not replica.is_future), None)
    future = next((replica.path for replica in replicas if replica.is_future), None)
    if present is None:
        return f"Partition {tp} cannot be found in any live log directory on broker {broker}.", False
    if future == path:
        return f"Reassignment of replica {tp}-{broker} is still in progress.", True
    if future is not None:
        return f"Partition {tp} on broker {broker} is being moved to log dir {future} instead of {path}.", True
    if present == path:
        return f"Reassignment of replica {tp}-{broker} completed successfully.", False
    return f"Partition {tp} on broker {broker} is not being moved from log dir {present} to {path}.", False
