"""FindCoordinator of groups and of transactions. The active controller creates the topic with their state at the first
request.

Share groups are not supported: requests for their coordinators get an error that clients do not retry. librdkafka
retries all errors except those about rights, and uses version 2 at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import attrs

from ..coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, CoordinatorError, partition_of
from ..coordinators.turn import Answered
from ..model.requests import NewTopic
from ..model.values import TopicPartition
from .apis.answering import outcomes
from .apis.coordinating import GROUP_KEYS, Coordinator, finding, leading
from .calls import Api, Call, on_named
from .reading import ClusterRow, cluster
from .security.acls import GROUP, TRANSACTIONAL_ID
from .slices import sliced

T = TypeVar("T")
PARTITIONS: Final = 50
"""Kafka's default of offsets.topic.num.partitions and transaction.state.log.num.partitions."""
REPLICAS: Final = 3
CONFIGS: Final = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(256 * 1024)}
"""Of the topics, as in Kafka; but segments are smaller, so that they are compacted early and loaded fast."""
TRANSACTION_KEYS: Final = 1
_LIBRDKAFKA_MAX: Final = 2
_CREATE_S: Final = 30.0
_REFUSED: Final = {
    TRANSACTION_KEYS: "transactions are not supported: there is no transaction coordinator",
    2: "share groups are not supported: there is no share coordinator",
}


@attrs.frozen
class Kind:
    """What has coordinators of a kind, which topic has their state, and which right is needed to find one. `refusal`:
    without it."""

    what: str
    topic: str
    resource: str
    refusal: CoordinatorError


GROUPS: Final = Kind("each group", OFFSETS_TOPIC, GROUP, CoordinatorError.GROUP_AUTHORIZATION_FAILED)
TRANSACTIONS: Final = Kind(
    "transactional id",
    TRANSACTIONS_TOPIC,
    TRANSACTIONAL_ID,
    CoordinatorError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


def row(partitions: int, kinds: Mapping[int, Kind]) -> Api:
    """The row for these types of keys. `partitions`: the number of partitions of a topic that has to be created."""

    async def find(call: Call, key_type: int, keys: list[str]) -> dict[str, Coordinator]:
        kind = kinds.get(key_type)
        if kind is None:
            return _unknown(call, key_type, keys)
        allowed = [key async for key in sliced(keys) if call.may("DESCRIBE", kind.resource + key)]
        found = dict.fromkeys(keys, Coordinator(int(kind.refusal)))
        return found | (await leading(call, await with_topic(call, kind.topic, partitions), allowed) if allowed else {})

    return finding(range(7), find, on_named("DESCRIBE", " or ".join(kind.what for kind in kinds.values())))


def _unknown(call: Call, key_type: int, keys: Iterable[str]) -> dict[str, Coordinator]:
    message = _REFUSED.get(key_type, f"there are no coordinators of type {key_type}")
    is_old = call.version <= _LIBRDKAFKA_MAX
    refusal = TRANSACTIONS.refusal if is_old else CoordinatorError.INVALID_REQUEST
    return dict.fromkeys(keys, Coordinator(int(refusal), message))


async def with_topic(call: Call, topic: str, partitions: int) -> ClusterRow:
    """The cluster with this topic; without it if it cannot be created now."""
    row: ClusterRow = await call.query(cluster, [topic])
    if row.topics or not row.brokers:
        return row
    new = NewTopic(partitions, min(REPLICAS, len(row.brokers)), None, CONFIGS)
    await outcomes(call.controller.admin.create_topics({topic: new}, timeout_s=_CREATE_S))
    return await call.query(cluster, [topic])


def place_of(row: ClusterRow, key: str) -> TopicPartition | None:
    """The partition that holds this key, of the only topic of the row; None without the topic."""
    topic = next(iter(row.topics), None)
    return None if topic is None else TopicPartition(topic.name, partition_of(key, len(topic.partitions)))


async def answer_of(future: Future[Any], kind: type[T]) -> T | CoordinatorError:
    """The answer of this kind, or the error of the whole request."""
    reply: Any = await asyncio.wrap_future(future)
    return reply.error if isinstance(reply, Answered) and kind is not Answered else reply


BOTH: Final = {GROUP_KEYS: GROUPS, TRANSACTION_KEYS: TRANSACTIONS}
