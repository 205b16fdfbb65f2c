"""Throttled moves, and throttles alone (KIP-179), under private API keys.

A request replaces what earlier ones set, so leaving out a name that occurs twice would remove its throttle: such a
request is refused as a whole. An answer has errors of its parts only: if a request without parts fails, its connection
is closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from ...admin import Results
from ...model.errors import ErrorCode
from ...model.requests import BROKER_ID_MAX
from ...model.throttle_configs import FAMILIES
from ...model.throttles import ReassignPartitionsOptions, ThrottledRate, ThrottledReplicas
from ...model.values import TopicPartition
from ..calls import Api, Call, on_cluster
from ..messages import (
    messages_of,
)
from ..protocol import Answer, Request
from .answering import Outcome, by_topic, outcomes, timeout_s

K = TypeVar("K")


def _refuse(message: str) -> Outcome:
    return Outcome(None, ErrorCode.INVALID_REQUEST, message)


def _twice(names: Iterable[K]) -> K | None:
    """The first name that occurs more than once."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


async def _done(results: Results[K, Any]) -> dict[K, Outcome]:
    """The outcome of each part. Raises the error of a request without parts."""
    if not results:
        await asyncio.wrap_future(results.all())
    return await outcomes(results)


# --- moves


async def reassign_partitions(call: Call, request: Request) -> Answer:
    """All of the moves, or none while anything else moves. A topic that is named twice is not moved."""
    times = Counter(topic.topic for topic in request.topics)
    named = [(topic.topic, partition) for topic in request.topics for partition in topic.partitions]
    refused = {
        TopicPartition(name, partition.partition_id): _refuse(f"Topic {name} is named more than once.")
        for name, partition in named
        if times[name] > 1
    }
    options = ReassignPartitionsOptions(
        validate_only=request.validate_only,
        throttle=request.throttle,
        auto_remove_throttle=request.remove_throttle,
        timeout_s=timeout_s(request),
    )
    targets = [
        (TopicPartition(name, partition.partition_id), partition.brokers)
        for name, partition in named
        if times[name] == 1
    ]
    done = await outcomes(call.admin.reassign_partitions(targets, options)) if targets else {}
    return {"topics": _rows(refused | done)}


def _rows(done: dict[TopicPartition, Outcome]) -> list[dict[str, Any]]:
    rows = by_topic((tp.topic, {"partition_id": tp.partition, **said.fields}) for tp, said in done.items())
    return [{"topic": name, "partitions": partitions} for name, partitions in rows.items()]


# --- rates of brokers


async def alter_rates(call: Call, request: Request) -> Answer:
    """Each broker separately; brokers that are not named get their former rates back."""
    ids = [broker.broker_id for broker in request.brokers]
    family = request.family if call.version >= 1 else 0
    if (twice := _twice(ids)) is not None:
        return _brokers(dict.fromkeys(ids, _refuse(f"Broker {twice} is named more than once.")))
    if not 0 <= family < len(FAMILIES):
        return _brokers(dict.fromkeys(ids, _refuse(f"There is no family {family} of throttled rates.")))
    rates = {
        broker.broker_id: ThrottledRate(broker.leader_rate, broker.follower_rate)
        for broker in request.brokers
        if 0 <= broker.broker_id <= BROKER_ID_MAX
    }
    unknown = {
        broker: Outcome(None, ErrorCode.UNKNOWN_MEMBER_ID, f"there is no broker {broker} in the cluster")
        for broker in ids
        if broker not in rates
    }
    if unknown and not rates:
        return _brokers(unknown)
    results = call.admin.alter_interbroker_throttled_rates(
        rates,
        auto_remove_throttle=request.remove_throttle,
        validate_only=request.validate_only,
        family=FAMILIES[family],
        timeout_s=timeout_s(request),
    )
    return _brokers(unknown | await _done(results))


def _brokers(done: dict[int, Outcome]) -> Answer:
    return {"brokers": [{"broker_id": broker, **said.fields} for broker, said in done.items()]}


# --- replicas of topics


async def alter_replicas(call: Call, request: Request) -> Answer:
    """Each partition separately; topics that are not named lose what was added to their lists."""
    named = [(topic.topic, partition) for topic in request.topics for partition in topic.partitions]
    replicas = {
        TopicPartition(name, partition.partition_id): ThrottledReplicas(partition.leaders, partition.followers)
        for name, partition in named
    }
    if (twice := _twice((name, partition.partition_id) for name, partition in named)) is not None:
        message = f"{twice[0]}-{twice[1]} is named more than once."
        return {"topics": _rows(dict.fromkeys(replicas, _refuse(message)))}
    results = call.admin.alter_interbroker_throttled_replicas(
        replicas,
        auto_remove_throttle=request.remove_throttle,
        validate_only=request.validate_only,
        timeout_s=timeout_s(request),
    )
    return {"topics": _rows(await _done(results))}


TABLE: Final = (
    Api(messages_of("ReassignPartitions"), reassign_partitions, on_cluster("ALTER", "topics", "topics")),
    Api(messages_of("AlterInterbrokerThrottledRates"), alter_rates, on_cluster("ALTER", "brokers", "brokers")),
    Api(messages_of("AlterInterbrokerThrottledReplicas"), alter_replicas, on_cluster("ALTER", "topics", "topics")),
)
