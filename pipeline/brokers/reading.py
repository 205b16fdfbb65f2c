"""Reads the snapshot of a cluster over Kafka's protocol.

It comes from several requests (Metadata, ListPartitionReassignments, DescribeConfigs, DescribeLogDirs of each broker),
so it is not atomic. A broker that does not answer, a directory or a topic's configs that cannot be read is a rejected
row. If the cluster does not answer, Failed is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from ...controller.cli.kafka.errors import Failed, Refused
from ...controller.cli.kafka.values import Description, Move, Resource, ResourceType, Setting, TopicState
from ...controller.model import numerals
from ...controller.model.values import TopicPartition
from ..collect.gathered import Gathered
from ..tables.declared import ALIVE

if TYPE_CHECKING:
    from ...controller.cli.kafka.cluster import Cluster

_RETENTION: Final = "retention.ms"
_CLEANUP: Final = "cleanup.policy"
_DELETE: Final = "delete"
_TOPICS_AT_ONCE: Final = 500


def from_cluster(cluster: Cluster, source: str, into: Gathered) -> None:
    """Read everything that a snapshot has. Raises Failed."""
    brokers = cluster.brokers()
    into.knows_alive = True
    for broker in brokers.values():
        into.broker(broker.id, host=broker.host, rack=broker.rack, state=ALIVE)
    topics, moves = cluster.topics(), cluster.reassignments()
    retention = _retentions(cluster, topics, source, into)
    for topic in topics.values():
        into.partitions += _rows(topic, moves, retention.get(topic.name))
    for broker_id in brokers:
        _sizes(cluster, broker_id, source, into)


def _rows(
    topic: TopicState, moves: Mapping[TopicPartition, Move], retention_ms: int | None
) -> Iterator[tuple[object, ...]]:
    for partition in topic.partitions:
        move = moves.get(TopicPartition(topic.name, partition.index))
        yield (
            topic.name,
            partition.index,
            partition.replicas,
            partition.isr,
            -1 if partition.leader is None else partition.leader,
            partition.leader_epoch or 0,
            None if move is None else move.target,
            partition.status,
            retention_ms,
            None,
        )


def _retentions(cluster: Cluster, topics: Iterable[str], source: str, into: Gathered) -> dict[str, int]:
    """By topic, of those that delete what is old."""
    found: dict[str, int] = {}
    left = iter(sorted(topics))
    while some := [Resource(ResourceType.TOPIC, name) for name in islice(left, _TOPICS_AT_ONCE)]:
        for resource, answer in cluster.describe_configs(some).items():
            if isinstance(answer, Refused):
                into.rejects.add(source, None, {"topic": resource.name}, f"its configs cannot be read: {answer}")
            elif (retention_ms := _retention(answer)) is not None:
                found[resource.name] = retention_ms
    return found


def _retention(settings: Mapping[str, Setting]) -> int | None:
    """Milliseconds; None where they are unknown, or nothing is deleted by its age (compacted topics)."""
    retention, policy = settings.get(_RETENTION), settings.get(_CLEANUP)
    if retention is None or retention.value is None or (policy is not None and _DELETE not in (policy.value or "")):
        return None
    return numerals.whole(retention.value.strip(), low=None)


def _sizes(cluster: Cluster, broker_id: int, source: str, into: Gathered) -> None:
    try:
        found = cluster.log_dirs(broker_id)
    except Failed as error:
        into.rejects.add(source, None, {"broker": broker_id}, f"its log dirs cannot be read: {error}")
        return
    for path, disk in sorted(found.dirs.items()):
        if disk.error:
            into.rejects.add(source, None, {"broker": broker_id, "logDir": path}, f"cannot be read: error {disk.error}")
        else:
            into.log_dirs[broker_id, path] = (disk.total_bytes, disk.usable_bytes, disk.is_cordoned)
    into.logs += _logs(broker_id, found)


def _logs(broker_id: int, found: Description) -> Sequence[tuple[object, ...]]:
    """Of replicas of which the size is known: Kedge says -1 of what no broker reported."""
    return [
        (broker_id, each.path, tp.topic, tp.partition, each.size, None if each.lag < 0 else each.lag, each.is_future)
        for tp, places in sorted(found.replicas.items())
        for each in places
        if each.size >= 0
    ]
