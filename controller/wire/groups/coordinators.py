"""FindCoordinator of groups. The active controller creates `__consumer_offsets` at the first request.

Transactions and share groups are not supported: requests for their coordinators get an error that clients do not retry.
librdkafka retries all errors except those about rights, and uses version 2 at most.
"""

from __future__ import annotations

from typing import Final

from ...groups import OFFSETS_TOPIC
from ...groups.replies import GroupError
from ...model.requests import NewTopic
from ..apis.answering import outcomes
from ..apis.coordinating import GROUP_KEYS, Coordinator, finding, leading
from ..calls import Api, Call, on_groups
from ..reading import ClusterRow, cluster
from ..slices import sliced
from .hosts import NO_RIGHTS, may

REPLICAS: Final = 3
CONFIGS: Final = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(256 * 1024)}
"""Of the topic, as in Kafka; but segments are smaller, so that the topic is compacted early and loaded fast."""
NO_TRANSACTIONS: Final = GroupError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_LIBRDKAFKA_MAX: Final = 2
_CREATE_S: Final = 30.0
_REFUSED: Final = {
    1: "transactions are not supported: there is no transaction coordinator",
    2: "share groups are not supported: there is no share coordinator",
}


def row(partitions: int) -> Api:
    """The row. `partitions`: the number of partitions if the topic has to be created."""

    async def find(call: Call, kind: int, keys: list[str]) -> dict[str, Coordinator]:
        if kind != GROUP_KEYS:
            message = _REFUSED.get(kind, f"there are no coordinators of type {kind}")
            refusal = GroupError.INVALID_REQUEST if call.version > _LIBRDKAFKA_MAX else NO_TRANSACTIONS
            return dict.fromkeys(keys, Coordinator(int(refusal), message))
        allowed = [key async for key in sliced(keys) if may(call, "DESCRIBE", key)]
        found = dict.fromkeys(keys, Coordinator(int(NO_RIGHTS)))
        return found | (await leading(call, await _with_topic(call, partitions), allowed) if allowed else {})

    return finding(range(7), find, on_groups("DESCRIBE"))


async def _with_topic(call: Call, partitions: int) -> ClusterRow:
    """The cluster with the topic `__consumer_offsets`; without it if it cannot be created now."""
    row: ClusterRow = await call.query(cluster, [OFFSETS_TOPIC])
    if row.topics or not row.brokers:
        return row
    new = NewTopic(partitions, min(REPLICAS, len(row.brokers)), None, CONFIGS)
    await outcomes(call.controller.admin.create_topics({OFFSETS_TOPIC: new}, timeout_s=_CREATE_S))
    return await call.query(cluster, [OFFSETS_TOPIC])
