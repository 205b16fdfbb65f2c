"""The first requests of a client: the brokers, topics and leaders. Also FindCoordinator, which finds none."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any, Final

import attrs

from ...model.errors import ErrorCode, NotController
from ...model.values import NO_LEADER
from ..calls import OPEN, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import ClusterRow, PartitionRow, TopicRow, cluster, names_of
from ..security.acls import CLUSTER, TOPIC
from ..slices import in_parts, sliced
from .answering import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, failed
from .coordinating import COORDINATOR_NOT_AVAILABLE, Coordinator, finding

UNKNOWN_TOPIC: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_TOPIC_ID: Final = 100
TOPIC_REFUSED: Final = 29


async def metadata(call: Call, request: Request) -> Answer:
    """Brokers with racks, and topics: all, none, or the named ones. A request creates nothing. "All" means all topics
    that the client may describe; for a named one that it may not describe, the answer says only that."""
    asked = request.topics
    everything = asked is None or (call.version == 0 and not asked)
    of_names = () if everything else asked
    names = {topic.name: None async for topic in sliced(of_names) if topic.name is not None and not topic.topic_id}
    ids = [topic.topic_id async for topic in sliced(of_names) if topic.topic_id]  # with an empty name from Java
    named = await names_of(call, ids)
    row = await _clusters_row(call, None if everything else names | dict.fromkeys(named.values()))
    rights = request.include_topic_authorized_operations
    shown = {topic.name: topic async for topic in sliced(row.topics) if _may_describe(call, topic.name)}
    topics = [await _topic(call, topic, rights=rights) async for topic in sliced(shown.values())]
    topics += [_missing(call, name) async for name in sliced(names) if name not in shown]
    topics += [
        {"error_code": _missing_id(call, named.get(i)), "name": None, "topic_id": i}
        async for i in sliced(ids)
        if (topic := shown.get(named.get(i, ""))) is None or topic.topic_id != i
    ]
    return {
        "brokers": await _brokers(call, row, "node_id"),
        "cluster_id": call.cluster_id,
        "controller_id": _controller_id(call, row),
        "topics": topics,
        "authorized_operations": _cluster_rights(call, request),
    }


async def _clusters_row(call: Call, names: Iterable[str] | None) -> ClusterRow:
    """The brokers and topics (None: every topic), by distinct names."""
    if names is None:
        return await call.query(cluster, None)
    rows = [await call.query(cluster, part) async for part in in_parts(names)] or [await call.query(cluster, ())]
    return attrs.evolve(rows[0], topics=tuple(topic for row in rows for topic in row.topics))


def _cluster_rights(call: Call, request: Request) -> set[int] | None:
    return call.rights(CLUSTER_OPERATIONS, CLUSTER) if request.include_cluster_authorized_operations else None


def _may_describe(call: Call, name: str) -> bool:
    return call.may("DESCRIBE", TOPIC + name)


def _missing(call: Call, name: str) -> dict[str, Any]:
    """A named topic that is not in the answer: a client without the right learns only that it has none."""
    return {"error_code": UNKNOWN_TOPIC if _may_describe(call, name) else TOPIC_REFUSED, "name": name}


def _missing_id(call: Call, name: str | None) -> int:
    return UNKNOWN_TOPIC_ID if name is None or _may_describe(call, name) else TOPIC_REFUSED


async def _topic(call: Call, topic: TopicRow, *, rights: bool) -> dict[str, Any]:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": [_partition(p) | {"status_code": p.status_code} async for p in sliced(topic.partitions)],
        "authorized_operations": call.rights(TOPIC_OPERATIONS, TOPIC + topic.name) if rights else None,
    }


def _partition(p: PartitionRow) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.LEADER_NOT_AVAILABLE if p.leader == NO_LEADER else 0,
        "partition_index": p.partition,
        "leader_id": p.leader,
        "leader_epoch": p.leader_epoch,
        "replica_nodes": p.replicas,
        "isr_nodes": p.isr,
        "offline_replicas": p.offline,
    }


def _controller_id(call: Call, row: ClusterRow) -> int:
    return row.controller_id if call.addresses.controller is None else row.leading_id


async def _brokers(call: Call, row: ClusterRow, name_of_id: str) -> list[dict[str, Any]]:
    reached = await call.addresses.of(row.broker_ids, {b.broker_id: b.endpoints for b in row.brokers})
    at = call.addresses.controller
    rack = min((broker.rack for broker in row.brokers if broker.rack is not None), default=None)
    controller = [] if at is None else [{name_of_id: row.leading_id, "host": at.host, "port": at.port, "rack": rack}]
    return controller + [
        {
            name_of_id: broker.broker_id,
            "host": reached[broker.broker_id].host,
            "port": reached[broker.broker_id].port,
            "rack": broker.rack,
        }
        for broker in row.brokers
    ]


async def describe_cluster(call: Call, request: Request) -> Answer:
    """The brokers. Metadata has no place for the reason where the store does not answer, so commands ask here."""
    try:
        row = await call.query(cluster, ())
    except NotController as error:
        if not call.controller.is_cut_off:
            raise
        return {**failed(error).fields, "cluster_id": call.cluster_id or ""}
    return {
        "endpoint_type": 1,
        "cluster_id": call.cluster_id or "",
        "controller_id": _controller_id(call, row),
        "brokers": await _brokers(call, row, "broker_id"),
        "authorized_operations": _cluster_rights(call, request),
    }


async def describe_topic_partitions(call: Call, request: Request) -> Answer:
    """The named topics (none named: all) by name, from the cursor on, with at most as many partitions as requested."""
    names = await _ordered({topic.name async for topic in sliced(request.topics)})
    row = await _clusters_row(call, names or None)
    found = {topic.name: topic async for topic in sliced(row.topics) if _may_describe(call, topic.name)}
    room = max(request.response_partition_limit, 1)
    start = (request.cursor.topic_name, request.cursor.partition_index) if request.cursor is not None else ("", 0)
    topics: list[dict[str, Any]] = []
    async for name in sliced(names or await _ordered(found)):
        if name < start[0]:
            continue
        if name not in found:
            topics.append({**_missing(call, name), "partitions": []})
            continue
        rest = [p for p in found[name].partitions if name != start[0] or p.partition >= start[1]]
        if room == 0 and rest:
            return {"topics": topics, "next_cursor": _cursor(name, rest[0])}
        topics.append(await _page(call, found[name], rest[:room]))
        if len(rest) > room:
            return {"topics": topics, "next_cursor": _cursor(name, rest[room])}
        room -= len(rest)
    return {"topics": topics, "next_cursor": None}


async def _ordered(names: Iterable[str]) -> list[str]:
    """The names in order. They are sorted in parts: a sort holds up the whole process, also one in a thread."""
    parts = [sorted(part) async for part in in_parts(names)]
    return [name async for name in sliced(heapq.merge(*parts))]


async def _page(call: Call, topic: TopicRow, partitions: list[PartitionRow]) -> dict[str, Any]:
    """Eligible leader replicas exist in KRaft only, so their lists are empty."""
    fields = await _topic(call, topic, rights=False)
    del fields["authorized_operations"]  # the codec expects the number itself here
    no_elr: dict[str, Any] = {"eligible_leader_replicas": [], "last_known_elr": []}
    return fields | {
        "topic_authorized_operations": sum(1 << code for code in call.rights(TOPIC_OPERATIONS, TOPIC + topic.name)),
        "partitions": [_partition(p) | no_elr for p in partitions],
    }


def _cursor(name: str, p: PartitionRow) -> dict[str, Any]:
    return {"topic_name": name, "partition_index": p.partition}


async def find_no_coordinator(_: Call, __: int, keys: list[str]) -> dict[str, Coordinator]:
    """Groups are not coordinated here; consumers assign their partitions themselves."""
    message = "groups and transactions are not coordinated here"
    return dict.fromkeys(keys, Coordinator(COORDINATOR_NOT_AVAILABLE, message))


TABLE: Final = (
    Api(messages_of("Metadata", range(14)), metadata, OPEN, address_field="node_id", is_shared=True, reads=True),
    Api(messages_of("DescribeCluster", range(2)), describe_cluster, OPEN, address_field="broker_id", reads=True),
    Api(messages_of("DescribeTopicPartitions", range(1)), describe_topic_partitions, OPEN, reads=True),
    finding(range(5), find_no_coordinator, reads=True),
)
