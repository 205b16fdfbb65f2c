"""The controller's requests as messages to a broker, in a version that it supports, and its answers back. Values only.

* `replicas` on the wire is R followed by what only T has, as brokers of Kafka know it: `adding_replicas` is T without
  R, `removing_replicas` R without T. So R is `replicas` without `adding_replicas`. T itself, in its order, is in the
  tag `target_replicas` from LeaderAndIsr 4 up; version 3 expresses a move by adding and removing alone. Version 2 and
  less have R and no move.
* A partition that an answer does not name succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...model.errors import ErrorCode
from ...model.host import (
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import TARGETS_SINCE, TopicPartition
from ..reading import as_text, as_uuid

Fields = dict[str, Any]
Ordered = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest

INCREMENTAL: Final = 1
FULL: Final = 2
# Kafka's SecurityProtocol ids.
PROTOCOLS: Final[Mapping[str, int]] = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


def leader_and_isr(request: LeaderAndIsrRequest, version: int) -> Fields:
    states = [(p.topic, p.topic_id, _member(p, request.controller_epoch, version)) for p in request.partitions]
    partitions = _states(states, "ungrouped_partition_states", grouped=version >= 2)
    return partitions | leader_and_isr_besides(request)


def leader_and_isr_besides(request: LeaderAndIsrRequest) -> Fields:
    return {
        **_from_controller(request, full=request.full),
        "live_leaders": [
            {"broker_id": peer.broker_id, "host_name": peer.host, "port": peer.port} for peer in request.live_leaders
        ],
    }


def _member(p: LeaderAndIsrPartition, controller_epoch: int, version: int) -> Fields:
    replicas, adding, removing = lists_of(p, None if version < TARGETS_SINCE else p.target_replicas)
    return {
        **_common(p, controller_epoch),
        "partition_epoch": p.partition_epoch,
        "replicas": replicas,
        "adding_replicas": adding,
        "removing_replicas": removing,
        "is_new": p.is_new,
        "leader_recovery_state": p.leader_recovery_state,
        "target_replicas": None if p.target_replicas is None else list(p.target_replicas),
    }


def lists_of(p: LeaderAndIsrPartition, target: Sequence[int] | None) -> tuple[list[int], list[int], list[int]]:
    """Replicas, adding and removing replicas, as the rule at the top says. `target`: T as far as it is sent."""
    target = p.replicas if target is None else target
    adding = [b for b in target if b not in p.replicas]
    return [*p.replicas, *adding], adding, [b for b in p.replicas if b not in target]


def before_partitions(request: LeaderAndIsrRequest | UpdateMetadataRequest) -> Fields:
    """The fields that come before the partitions, up to the broker epoch."""
    return _from_controller(request)


def update_metadata(request: UpdateMetadataRequest, version: int) -> Fields:
    states = [(p.topic, p.topic_id, _known(p, request.controller_epoch)) for p in request.partitions]
    partitions = _states(states, "ungrouped_partition_states", grouped=version >= 5)
    return partitions | update_metadata_besides(request)


def update_metadata_besides(request: UpdateMetadataRequest) -> Fields:
    return {
        **_from_controller(request, full=request.full),
        "live_brokers": [_broker(peer) for peer in request.live_brokers],
    }


def _known(p: PartitionMetadata, controller_epoch: int) -> Fields:
    return {
        **_common(p, controller_epoch),
        "zk_version": p.partition_epoch,
        "replicas": list(p.replicas),
        "offline_replicas": list(p.offline_replicas),
    }


def _common(p: LeaderAndIsrPartition | PartitionMetadata, controller_epoch: int) -> Fields:
    """The fields of a partition that both messages have."""
    return {
        "partition_index": p.partition,
        "controller_epoch": controller_epoch,
        "leader": p.leader,
        "leader_epoch": p.leader_epoch,
        "isr": list(p.isr),
        "status_code": p.status_code,
    }


def _broker(peer: LivePeer) -> Fields:
    named = [(e.listener, e.host, e.port, PROTOCOLS.get(e.protocol, 0)) for e in peer.endpoints]
    endpoints = named or [("PLAINTEXT", peer.host, peer.port, 0)]
    return {
        "id": peer.broker_id,
        "v0_host": peer.host,
        "v0_port": peer.port,
        "rack": peer.rack,
        "endpoints": [
            {"listener": listener, "host": host, "port": port, "security_protocol": protocol}
            for listener, host, port, protocol in endpoints
        ],
    }


def stop_replica(request: StopReplicaRequest, version: int) -> list[Fields]:
    """The fields of StopReplica: one request for the partitions that are deleted and one for the others, because before
    version 3 a request has one flag for all of its partitions."""
    made = []
    for delete in (True, False):
        partitions = [p for p in request.partitions if p.delete is delete]
        if not partitions:
            continue
        states = [
            (p.topic, p.topic_id, {"partition_index": p.partition, "leader_epoch": p.leader_epoch, "delete": delete})
            for p in partitions
        ]
        made.append({**_from_controller(request), **_stopped(states, version), "delete_partitions": delete})
    return made


def _stopped(states: list[tuple[str, str, Fields]], version: int) -> Fields:
    if version == 0:
        return {
            "ungrouped_partitions": [
                {"topic_name": topic, "partition_index": state["partition_index"]} for topic, _, state in states
            ]
        }
    topics = _grouped(states)
    if version < 3:
        return {
            "topics": [
                {"name": topic, "partition_indexes": [state["partition_index"] for state in inner]}
                for (topic, _), inner in topics.items()
            ]
        }
    return {
        "topic_states": [
            {
                "topic_name": topic,
                "topic_id": as_uuid(topic_id),
                "partition_states": [
                    {
                        "partition_index": state["partition_index"],
                        "leader_epoch": state["leader_epoch"],
                        "delete_partition": state["delete"],
                    }
                    for state in inner
                ],
            }
            for (topic, topic_id), inner in topics.items()
        ]
    }


def answered(response: Any, request: Ordered) -> HostResponse:
    """A broker's answer to the request: the error of the whole, and of each partition that it names."""
    names = {p.topic_id: p.topic for p in request.partitions}
    errors = {}
    for row in getattr(response, "partition_errors", None) or ():
        errors[TopicPartition(row.topic_name, row.partition_index)] = row.error_code
    for topic in getattr(response, "topics", None) or ():  # LeaderAndIsr from version 5 up
        name = names.get(as_text(topic.topic_id) if topic.topic_id else "", "")
        for row in topic.partition_errors:
            errors[TopicPartition(name, row.partition_index)] = row.error_code
    wrong = {tp: _code(code) for tp, code in errors.items() if code}
    return HostResponse(_code(response.error_code), wrong)


def _code(number: int) -> ErrorCode:
    """An unknown number is an error as well."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _from_controller(request: Ordered, *, full: bool | None = None) -> Fields:
    fields = {
        "controller_id": request.controller_id,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
    }
    return fields if full is None else fields | {"request_type": FULL if full else INCREMENTAL}


def _states(states: Iterable[tuple[str, str, Fields]], ungrouped: str, *, grouped: bool) -> Fields:
    """Partitions by topic, or, in old versions, each with its topic's name."""
    if not grouped:
        return {ungrouped: [{"topic_name": topic, **state} for topic, _, state in states]}
    return {
        "topic_states": [
            {"topic_name": topic, "topic_id": as_uuid(topic_id), "partition_states": inner}
            for (topic, topic_id), inner in _grouped(states).items()
        ]
    }


def _grouped(states: Iterable[tuple[str, str, Fields]]) -> dict[tuple[str, str], list[Fields]]:
    topics: dict[tuple[str, str], list[Fields]] = {}
    for topic, topic_id, state in states:
        topics.setdefault((topic, topic_id), []).append(state)
    return topics
