"""Where replicas lie, how large they are and how far behind, as brokers reported it (`Controller.report_log`).

Each broker has one directory, which is named after it. A request has no broker id: a broker's address answers with its
own directory, the common address with those of all live brokers. A value without a report is -1, which is Kafka's
unknown value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from ..slices import in_parts, sliced
from .answering import by_topic

UNKNOWN: Final = -1
LOG_DIR_NOT_FOUND: Final = 57
_DIRECTORY: Final = "/kedge/broker-"
NO_DIRECTORY: Final = MappingProxyType({"error_code": 0, "log_dir": NO_LOG_DIR, "topics": ()})
"""The row of a node without a disk. Java's tools take an answer without rows for a refusal."""

_Replica = tuple[TopicPartition, int]
"""A partition, and its leader."""
Placed = dict[int, list[_Replica]]
"""The replicas on each broker."""


def directory(broker_id: int) -> str:
    return f"{_DIRECTORY}{broker_id}"


async def describe_log_dirs(call: Call, request: Request) -> Answer:
    """Each directory with those wanted partitions that have a replica there, also one that is being added."""
    if call.broker_id is None and call.addresses.controller is not None:
        return {"error_code": 0, "results": [NO_DIRECTORY]}  # the address of the controller, a node without a disk
    found = await _placed(call, request.topics)
    # In a thread, because a broker may have many replicas and the loop serves other clients.
    return {"error_code": 0, "results": await call.aside(partial(_told, call.controller, found))}


def _told(controller: Controller, found: Mapping[int, list[_Replica]]) -> list[dict[str, Any]]:
    return [
        {"error_code": 0, "log_dir": directory(broker), "topics": _topics(controller, broker, replicas)}
        for broker, replicas in found.items()
    ]


async def _placed(call: Call, topics: Sequence[Any] | None) -> Placed:
    """The replicas of the partitions of `topics`; None: all."""
    if topics is None:
        found: Placed = await call.query(_all, call.broker_id)
        return found
    found = await call.query(_none, call.broker_id)
    wanted = {key: None async for key in sliced((topic.topic, p) for topic in topics for p in topic.partitions)}
    async for part in in_parts(wanted):
        for broker, replicas in (await call.query(_some, call.broker_id, part)).items():
            found.setdefault(broker, []).extend(replicas)
    return found


def _brokers(broker_id: int | None, view: ClusterView) -> list[int]:
    return sorted(view.brokers) if broker_id is None else [broker_id]


def _none(broker_id: int | None, view: ClusterView) -> Placed:
    return {broker: [] for broker in _brokers(broker_id, view)}


def _all(broker_id: int | None, view: ClusterView) -> Placed:
    return {broker: list(map(_replica, view.partitions_on(broker))) for broker in _brokers(broker_id, view)}


def _some(broker_id: int | None, wanted: Iterable[tuple[str, int]], view: ClusterView) -> Placed:
    """Each partition is looked up once, however many brokers there are."""
    found = _none(broker_id, view)
    for p in (p for key in wanted if (p := view.partition(*key)) is not None):
        for broker in found.keys() & full(p):
            found[broker].append(_replica(p))
    return found


def _replica(p: Partition) -> _Replica:
    return TopicPartition(p.topic, p.partition), p.leader


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
    asked = ((each.path, topic.name, p) for each in request.dirs for topic in each.topics for p in topic.partitions)
    results: dict[str, list[dict[str, Any]]] = {}
    async for part in in_parts(asked):
        for (_, name, partition), code in zip(part, await call.query(_moved, call.broker_id, part), strict=True):
            results.setdefault(name, []).append({"partition_index": partition, "error_code": code})
    return {"results": [{"topic_name": name, "partitions": said} for name, said in results.items()]}


def _moved(broker_id: int | None, asked: Iterable[tuple[str, str, int]], view: ClusterView) -> list[int]:
    """The error of each replica, given by path, topic and partition."""
    brokers = {directory(broker): broker for broker in _brokers(broker_id, view)}
    return [
        _of_replica(brokers[path], view.partition(topic, number)) if path in brokers else LOG_DIR_NOT_FOUND
        for path, topic, number in asked
    ]


def _of_replica(broker: int, p: Partition | None) -> int:
    return ErrorCode.NONE if p is not None and broker in full(p) else ErrorCode.REPLICA_NOT_AVAILABLE


TABLE: Final = (
    Api(messages_of("DescribeLogDirs", range(1, 6)), describe_log_dirs, on_cluster("DESCRIBE"), reads=True),
    Api(
        messages_of("AlterReplicaLogDirs", range(1, 3)), alter_replica_log_dirs, on_cluster("ALTER", "dirs", "results")
    ),
)
