"""Generates clusters of any size to plan on: seeded, with racks, heavy-tailed sizes and hot partitions.

The same arguments give the same tables. Replicas are placed as by KIP-36, topic by topic. Sizes are drawn per topic (a
few topics hold most bytes) and vary a little per partition; one partition in a hundred is hot.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any, Final

from ..controller.model.extras import missing

try:
    import numpy as np
    import pyarrow as pa
except ImportError as error:
    raise ImportError(missing("pipeline", error)) from error

from .arguments import whole
from .errors import BadInput
from .tables.arrow import Arrow, from_columns
from .tables.declared import ALIVE, BROKER, MEASURED, PARTITION, REPLICA_LOAD

FIRST_BROKER: Final = 1001
_MEDIAN_BYTES: Final = 200e6
_TOPIC_SIGMA: Final = 0.8  # of the logarithm: the largest of ten thousand topics holds about twenty medians
_PARTITION_SIGMA: Final = 0.7
_HOT_SHARE: Final = 0.01
_HOT_FACTOR: Final = 8
_RETENTION_S: Final = 3 * 86_400
_GIB: Final = 1 << 30


def generate(
    *,
    brokers: int,
    topics: int,
    partitions: int,
    replication_factor: int = 3,
    racks: int = 3,
    empty_brokers: int = 0,
    seed: int = 0,
) -> dict[str, Arrow]:
    """Validated tables `broker`, `partition` and `replica_load` of `topics` x `partitions`. Brokers have ids from 1001
    on, alternating over `racks` racks (0: none); the last `empty_brokers` hold nothing. Raises BadInput if there are
    fewer brokers than replicas, or one of them is no whole number from 0 on."""
    given = {"brokers": brokers, "topics": topics, "partitions": partitions, "replication_factor": replication_factor}
    given |= {"racks": racks, "empty_brokers": empty_brokers, "seed": seed}
    brokers, topics, partitions, replication_factor, racks, empty_brokers, seed = starmap(_from_0, given.items())
    holding = brokers - empty_brokers
    if not 1 <= replication_factor <= holding:
        raise BadInput(f"replication factor {replication_factor} is not within 1..{holding} (brokers with replicas)")
    random = np.random.Generator(np.random.PCG64(seed))
    count = topics * partitions
    topic = np.repeat(np.arange(topics), partitions)
    number = np.tile(np.arange(partitions), topics)
    replicas = _placed(
        holding, count, replication_factor, racks, np.repeat(random.integers(0, holding, topics), partitions)
    )
    weight = np.exp(random.normal(0, _TOPIC_SIGMA, topics))[topic] * np.exp(random.normal(0, _PARTITION_SIGMA, count))
    hot = np.where(random.random(count) < _HOT_SHARE, _HOT_FACTOR, 1)
    size = (_MEDIAN_BYTES * weight * hot).astype(np.int64)
    write = np.round(size / _RETENTION_S * hot, 3)
    names = pa.array([f"topic-{i:06d}" for i in range(topics)]).take(pa.array(topic))
    lists = _lists(FIRST_BROKER + replicas)
    return {
        "broker": _brokers(brokers, racks, int(size.sum()) * replication_factor // holding),
        "partition": from_columns(
            PARTITION,
            {
                "topic": names,
                "partition": number,
                "replicas": lists,
                "isr": lists,
                "leader": FIRST_BROKER + replicas[:, 0],
                "leader_epoch": np.zeros(count, np.int64),
                "target_replicas": pa.nulls(count, pa.list_(pa.int32())),
                "status_code": np.zeros(count, np.int64),
                "retention_ms": np.full(count, _RETENTION_S * 1000),
                "write_bps": write,
            },
        ),
        "replica_load": from_columns(
            REPLICA_LOAD,
            {
                "topic": names,
                "partition": number,
                "size_bytes": size,
                "write_bps": write,
                "read_bps": np.round(write * 2, 3),
                "completeness": np.ones(count),
                "basis": pa.array([MEASURED]).take(pa.array(np.zeros(count, np.int64))),
            },
        ),
    }


def _from_0(what: str, value: Any) -> int:
    if (number := whole(value, what)) < 0:
        raise BadInput(f"{what}: expected at least 0, got {number}")
    return number


def _placed(brokers: int, count: int, factor: int, racks: int, start: Any) -> Any:
    """Indexes of brokers: the leaders in turn from `start` on, each follower one rack further, at a distance that grows
    with each round of the leaders."""
    number = np.arange(count)
    step = max(1, min(racks, brokers))
    leader = (number + start) % brokers
    turn = step * (number // brokers % max(1, brokers // step))
    found = np.empty((count, factor), np.int64)
    found[:, 0] = leader
    for j in range(1, factor):
        candidate = (leader + j + turn) % brokers
        for _ in range(brokers):  # skip brokers with a replica, in order, to keep racks apart if possible
            taken = (found[:, :j] == candidate[:, None]).any(axis=1)
            if racks > 1:
                free_racks = j < step
                taken |= free_racks & (found[:, :j] % step == candidate[:, None] % step).any(axis=1)
            if not taken.any():
                break
            candidate = np.where(taken, (candidate + 1) % brokers, candidate)
        found[:, j] = candidate
    return found


def _lists(table: Any) -> Any:
    offsets = np.arange(0, table.size + 1, table.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(table.ravel().astype(np.int32)))


def _brokers(brokers: int, racks: int, mean_bytes: int) -> Arrow:
    capacity = max(1, -(-2 * mean_bytes // _GIB)) * _GIB
    ids = range(FIRST_BROKER, FIRST_BROKER + brokers)
    return from_columns(
        BROKER,
        {
            "broker_id": list(ids),
            "host": [f"broker-{b}.example" for b in ids],
            "rack": [f"r{i % racks}" if racks else None for i in range(brokers)],
            "state": [ALIVE] * brokers,
            "disk_capacity_bytes": [capacity] * brokers,
            "nw_in_capacity_bps": [1.25e9] * brokers,
            "nw_out_capacity_bps": [1.25e9] * brokers,
        },
    )
