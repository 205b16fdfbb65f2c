"""The directories that a plan chooses: of new replicas on brokers with several, and of replicas that move within their
broker. Kafka takes them as `log_dirs` of a plan, and moves replicas within a broker by AlterReplicaLogDirs (KIP-113).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.cluster import MOVABLE, MOVING, NO_LIMIT, NOBODY, Cluster, Directories, Ints
from ..kernel.directories import named
from ..kernel.disks import as_cluster, balance, unevenness
from ..kernel.outcome import HELD, LAST_IN_RACK, REASONS, TOO_LARGE, Outcome, Reason, widened
from ..kernel.seats import NO_BROKER, NO_DISK, NO_ROOM, mean_size
from ..tables.arrow import Arrow, in_order
from ..tables.declared import LOG_DIR
from .arrays import Limits, indexed, keys_of, numbers, topic_codes
from .log_dirs import Row, capacity_of, held_in

Disks: TypeAlias = Mapping[int, list[Row]]
"""The directories of each broker that has more than one, by the broker's index, in the order of their paths."""

_WORDS: Final = {
    REASONS[NO_ROOM]: "every other directory of the broker would exceed the target level",
    REASONS[NO_DISK]: "no other directory of the broker has enough room",
    REASONS[TOO_LARGE]: "without the replica its directory would fall too far below the mean",
    REASONS[NO_BROKER]: "no other directory of the broker takes replicas",
    REASONS[LAST_IN_RACK]: "no other directory of the broker takes replicas",
    HELD[MOVING]: "the replica is being moved",
}


class Placed(NamedTuple):
    """The directory of a replica by a plan. Partition and broker by index; `before` None: the replica is new."""

    partition: int
    broker: int
    before: str | None
    after: str
    size: int = 0


@attrs.define
class Balanced:
    """Replicas that move between directories of their broker. `before`, `after`: the ratio of the fullest directory to
    the mean of its broker, of the broker where that is largest."""

    placed: list[Placed] = attrs.field(factory=list)
    reasons: list[Reason] = attrs.field(factory=list)
    bytes_bound: int = 0
    before: float = 1.0
    after: float = 1.0


def several(log_dir: Arrow | None, brokers: Ints) -> dict[int, list[Row]]:
    """The `Disks` in the table `log_dir`. `brokers`: ids, ascending."""
    found: dict[int, list[Row]] = {}
    for row in [] if log_dir is None else in_order(LOG_DIR, log_dir).to_pylist():
        found.setdefault(row["broker_id"], []).append(row)
    at = indexed(np.array(sorted(found), np.int64), brokers).tolist()
    return {i: found[b] for i, b in zip(at, sorted(found), strict=True) if i != NOBODY and len(found[b]) > 1}


def directories(disks: Disks, limits: Limits) -> dict[int, Directories]:
    """Those that take new replicas."""
    return {
        broker: Directories(tuple(map(held_in, rows)), tuple(_most(rows, limits).tolist()))
        for broker, rows in _open(disks).items()
    }


def _open(disks: Disks) -> dict[int, list[Row]]:
    return {broker: [row for row in rows if not row["is_cordoned"]] for broker, rows in disks.items()}


def _most(rows: Iterable[Row], limits: Limits) -> Ints:
    """The bytes that each directory may be filled with; NO_LIMIT: unknown."""
    sizes = map(capacity_of, rows)
    return np.array([NO_LIMIT if size is None else int(size * limits.disk_share) for size in sizes], np.int64)


def new_places(cluster: Cluster, outcome: Outcome, disks: Disks) -> list[Placed]:
    """The directory of each new replica on a broker with several."""
    sizes = np.where(cluster.sized, cluster.size, mean_size(cluster))
    before, rows = widened(cluster.replicas, outcome.replicas.shape[1]), _open(disks)
    found = named(before, outcome.replicas, sizes, outcome.added)
    return [Placed(partition, broker, None, rows[broker][i]["log_dir"]) for partition, broker, i in found]


def balanced(cluster: Cluster, replica_log: Arrow, disks: Disks, limits: Limits, tolerance: float) -> Balanced:
    """No directory exceeds its share of the bytes of its broker by more than `tolerance`, unless a reason says why."""
    found = Balanced()
    for broker, logs in _logs(cluster, replica_log, disks):
        rows = disks[broker]
        moves = np.asarray(logs.column("moves").to_numpy(), np.bool_)
        size, most = numbers(logs.column("size_bytes")), _most(rows, limits)
        mini = as_cluster(numbers(logs.column("directory")), size, moves, most)
        outcome = balance(mini, np.array([not row["is_cordoned"] for row in rows]), tolerance=tolerance)
        _add(found, broker, numbers(logs.column("at")), rows, (mini, outcome))
    found.reasons.sort()
    return found


def _add(found: Balanced, broker: int, partition: Ints, rows: list[Row], of: tuple[Cluster, Outcome]) -> None:
    """Take in the plan for the logs of one broker, of these partitions."""
    mini, outcome = of
    for i in outcome.changed(mini).tolist():
        before, after = (rows[replicas[i, 0]]["log_dir"] for replicas in (mini.replicas, outcome.replicas))
        found.placed.append(Placed(int(partition[i]), broker, before, after, int(mini.size[i])))
    found.reasons += [(int(partition[i]), broker, _WORDS[reason]) for i, _, reason in outcome.reasons]
    found.bytes_bound += outcome.bytes_bound
    found.before = max(found.before, unevenness(mini, mini.replicas))
    found.after = max(found.after, unevenness(mini, outcome.replicas))


def _logs(cluster: Cluster, replica_log: Arrow, disks: Disks) -> Iterator[tuple[int, Arrow]]:
    """The logs of each broker in `disks`, with the indexes of partition (`at`) and directory, and whether one of these
    two is being moved (`moves`)."""
    logs = replica_log.filter(pc.is_valid(replica_log.column("log_dir")))
    topic = topic_codes(logs.column("topic"), pa.array(cluster.topics, pa.string()))
    at = indexed(keys_of(topic, numbers(logs.column("partition"))), keys_of(cluster.topic, cluster.number))
    broker = indexed(numbers(logs.column("broker_id"), NOBODY), cluster.brokers)
    future = np.asarray(logs.column("is_future").to_numpy(), np.bool_)
    replica = at * len(cluster.brokers) + broker
    moves = np.isin(replica, replica[future]) | (cluster.held != MOVABLE)[at]
    logs = logs.append_column("at", pa.array(at)).append_column("moves", pa.array(moves))
    order = np.lexsort((at, broker))
    order = order[(at != NOBODY)[order] & ~future[order]]
    ends = np.searchsorted(broker[order], np.arange(len(cluster.brokers) + 1))
    for one in disks:
        mine = logs.take(pa.array(order[ends[one] : ends[one + 1]]))
        directory = topic_codes(mine.column("log_dir"), pa.array([row["log_dir"] for row in disks[one]]))
        yield one, mine.append_column("directory", pa.array(directory)).filter(pa.array(directory != NOBODY))
