"""Where replicas lie, how large they are and how far behind, as brokers reported it (`Controller.report_log`).

Each broker has one directory, which is named after it. A request has no broker id: a broker's address answers with its
own directory, the common address with those of all live brokers. A value without a report is -1, which is Kafka's
unknown value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from ...host import Controller
from ...model.errors import ErrorCode
from ...model.values import Partition, TopicPartition
from ...model.view import ClusterView
from ..calls import Api, Call, on_cluster
from ..messages import NO_LOG_DIR, messages_of
from ..protocol import Answer, Request
from ..reading import full
from .answering import by_topic

UNKNOWN: Final = -1
LOG_DIR_NOT_FOUND: Final = 57
_DIRECTORY: Final = "/kedge/broker-"
NO_DIRECTORY: Final = MappingProxyType({"error_code": 0, "log_dir": NO_LOG_DIR, "topics": ()})
"""The row of a node without a disk. Java's tools take an answer without rows for a refusal."""

Wanted = Mapping[str, frozenset[int]] | None
"""Partitions by topic; None: every one."""


_Replica = tuple[TopicPartition, int]
"""A partition, and its leader."""


def directory(broker_id: int) -> str:
    return f"{_DIRECTORY}{broker_id}"


async def describe_log_dirs(call: Call, request: Request) -> Answer:
    """Each directory with those wanted partitions that have a replica there, also one that is being added."""
    wanted = None if request.topics is None else {each.topic: frozenset(each.partitions) for each in request.topics}
    if call.broker_id is None and call.addresses.controller is not None:
        return {"error_code": 0, "results": [NO_DIRECTORY]}  # the address of the controller, a node without a disk
    found = await call.query(_placed, call.broker_id, wanted)
    # In a thread, because a broker may have many replicas and the loop serves other clients.
    return {"error_code": 0, "results": await call.aside(partial(_told, call.controller, found))}


def _told(controller: Controller, found: Mapping[int, list[_Replica]]) -> list[dict[str, Any]]:
    return [
        {"error_code": 0, "log_dir": directory(broker), "topics": _topics(controller, broker, replicas)}
        for broker, replicas in found.items()
    ]


def _placed(broker_id: int | None, wanted: Wanted, view: ClusterView) -> dict[int, list[_Replica]]:
    brokers = sorted(view.brokers) if broker_id is None else [broker_id]
    return {broker: list(_replicas(view, broker, wanted)) for broker in brokers}


def _replicas(view: ClusterView, broker: int, wanted: Wanted) -> Iterable[_Replica]:
    if wanted is None:
        rows: Iterable[Partition] = view.partitions_on(broker)
    else:
        named = (p for topic in wanted for p in view.partitions_of(topic) if p.partition in wanted[topic])
        rows = (p for p in named if broker in full(p))
    return ((TopicPartition(p.topic, p.partition), p.leader) for p in rows)


def _topics(controller: Controller, broker: int, replicas: Iterable[_Replica]) -> list[dict[str, Any]]:
    ordered = sorted(replicas, key=lambda each: (each[0].topic, each[0].partition))
    topics = by_topic((tp.topic, _partition(controller, broker, tp, leader)) for tp, leader in ordered)
    return [{"name": name, "partitions": partitions} for name, partitions in topics.items()]


def _partition(controller: Controller, broker: int, tp: TopicPartition, leader: int) -> dict[str, Any]:
    """The reported values of the replica."""
    own = controller.reported_log(tp, broker)
    size = None if own is None else own.size_bytes
    lag = UNKNOWN if own is None else own.lag_behind(controller.reported_log(tp, leader))
    return {
        "partition_index": tp.partition,
        "partition_size": UNKNOWN if size is None else size,
        "offset_lag": lag,
        "is_future_key": False,
    }


async def alter_replica_log_dirs(call: Call, request: Request) -> Answer:
    """Moves nothing: the path is already the replica's directory, or it is an error."""
    found = await call.query(_placed, call.broker_id, None)
    there = {directory(broker): {(tp.topic, tp.partition) for tp, _ in replicas} for broker, replicas in found.items()}
    results: dict[str, list[dict[str, Any]]] = {}
    for asked in request.dirs:
        for topic in asked.topics:
            results.setdefault(topic.name, []).extend(
                {"partition_index": each, "error_code": _moved(there.get(asked.path), topic.name, each)}
                for each in topic.partitions
            )
    return {"results": [{"topic_name": name, "partitions": said} for name, said in results.items()]}


def _moved(there: set[tuple[str, int]] | None, topic: str, partition: int) -> int:
    if there is None:
        return LOG_DIR_NOT_FOUND
    return ErrorCode.NONE if (topic, partition) in there else ErrorCode.REPLICA_NOT_AVAILABLE


TABLE: Final = (
    Api(messages_of("DescribeLogDirs", range(1, 6)), describe_log_dirs, on_cluster("DESCRIBE"), reads=True),
    Api(
        messages_of("AlterReplicaLogDirs", range(1, 3)), alter_replica_log_dirs, on_cluster("ALTER", "dirs", "results")
    ),
)
