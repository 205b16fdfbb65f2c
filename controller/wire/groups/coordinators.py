"""FindCoordinator: the coordinator of a group is the leader of its partition of `__consumer_offsets`.

The active controller creates the topic at the first request. Transactions and share groups are not supported: requests
for their coordinators get an error that clients do not retry. librdkafka retries all errors except those about rights,
and uses version 2 at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import attrs

from ...groups import OFFSETS_TOPIC, partition_of
from ...groups.replies import GroupError
from ...model.requests import NewTopic
from ..apis.answering import outcomes
from ..calls import Address, Api, Call, on_groups
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import ClusterRow, TopicRow, cluster
from .hosts import NO_RIGHTS, may

GROUP_KEYS: Final = 0
NOWHERE: Final = Address("", -1)
REPLICAS: Final = 3
CONFIGS: Final = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(256 * 1024)}
"""Of the topic, as in Kafka; but segments are smaller, so that the topic is compacted early and loaded fast."""
NO_TRANSACTIONS: Final = GroupError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_LIBRDKAFKA_MAX: Final = 2
_MANY_SINCE: Final = 4
_CREATE_S: Final = 30.0
_REFUSED: Final = {
    1: "transactions are not supported: there is no transaction coordinator",
    2: "share groups are not supported: there is no share coordinator",
}


@attrs.frozen
class _Found:
    error: GroupError
    message: str | None = None
    node_id: int = -1
    address: Address = NOWHERE

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "error_code": int(self.error),
            "error_message": self.message,
            "node_id": self.node_id,
            "host": self.address.host,
            "port": self.address.port,
        }


def table(partitions: int) -> Iterator[Api]:
    """The row. `partitions`: the number of partitions if the topic has to be created."""

    async def find_coordinator(call: Call, request: Request) -> Answer:
        keys = request.coordinator_keys if call.version >= _MANY_SINCE else [request.key]
        kind = GROUP_KEYS if call.version == 0 else request.key_type
        found = await _found(call, kind, keys, partitions)
        if call.version < _MANY_SINCE:
            return found[request.key].fields
        return {"coordinators": [{"key": key, **found[key].fields} for key in found]}

    yield Api(messages_of("FindCoordinator", range(7)), find_coordinator, on_groups("DESCRIBE"))


async def _found(call: Call, kind: int, keys: list[str], partitions: int) -> dict[str, _Found]:
    if kind != GROUP_KEYS:
        message = _REFUSED.get(kind, f"there are no coordinators of type {kind}")
        refusal = GroupError.INVALID_REQUEST if call.version > _LIBRDKAFKA_MAX else NO_TRANSACTIONS
        return dict.fromkeys(keys, _Found(refusal, message))
    found = {key: _Found(NO_RIGHTS) for key in keys if not may(call, "DESCRIBE", key)}
    if len(found) == len(set(keys)):
        return found
    row = await _with_topic(call, partitions)
    topic = next(iter(row.topics), None)
    leaders = {} if topic is None else {key: _leader(topic, key) for key in keys}
    live = {broker.broker_id: broker.endpoints for broker in row.brokers}
    reached = await call.addresses.of(row.broker_ids, live)
    for key in keys:
        leader = leaders.get(key, -1)
        if key not in found:
            is_there = leader in live
            found[key] = _Found(GroupError.NONE, None, leader, reached[leader]) if is_there else _nobody(topic)
    return found


def _nobody(topic: TopicRow | None) -> _Found:
    why = "the topic of groups cannot be created" if topic is None else "the partition of the group has no leader"
    return _Found(GroupError.COORDINATOR_NOT_AVAILABLE, why)


def _leader(topic: TopicRow, group: str) -> int:
    partition = partition_of(group, len(topic.partitions))
    return next((p.leader for p in topic.partitions if p.partition == partition), -1)


async def _with_topic(call: Call, partitions: int) -> ClusterRow:
    """The cluster with the topic `__consumer_offsets`; without it if it cannot be created now."""
    row: ClusterRow = await asyncio.wrap_future(call.controller.query(cluster([OFFSETS_TOPIC])))
    if row.topics or not row.brokers:
        return row
    new = NewTopic(partitions, min(REPLICAS, len(row.brokers)), None, CONFIGS)
    await outcomes(call.controller.admin.create_topics({OFFSETS_TOPIC: new}, timeout_s=_CREATE_S))
    return await asyncio.wrap_future(call.controller.query(cluster([OFFSETS_TOPIC])))
