"""FindCoordinator: the coordinator of a group, or of a transaction, is the leader of a partition of an internal topic,
chosen by the hash of its name, as Kafka's brokers choose it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from ...groups.partitions import partition_of
from ...model.errors import ErrorCode
from ..calls import OPEN, Access, Address, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import ClusterRow, TopicRow

COORDINATOR_NOT_AVAILABLE: Final = 15
GROUP_KEYS: Final = 0
NOWHERE: Final = Address("", -1)
_MANY_SINCE: Final = 4


@attrs.frozen
class Coordinator:
    """Of one key; or the error."""

    error_code: int = ErrorCode.NONE
    error_message: str | None = None
    node_id: int = -1
    address: Address = NOWHERE

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "error_code": self.error_code,
            "error_message": self.error_message,
            "node_id": self.node_id,
            "host": self.address.host,
            "port": self.address.port,
        }


Find: TypeAlias = Callable[[Call, int, list[str]], Awaitable[Mapping[str, Coordinator]]]
"""The coordinators of keys of a kind."""


def finding(versions: range, find: Find, access: Access = OPEN, *, reads: bool = False) -> Api:
    """The row. `reads`: nothing is created."""

    async def find_coordinator(call: Call, request: Request) -> Answer:
        keys = list(request.coordinator_keys if call.version >= _MANY_SINCE else [request.key])
        found = await find(call, request.key_type if call.version else GROUP_KEYS, keys)
        if call.version < _MANY_SINCE:
            return found[request.key].fields
        return {"coordinators": [{"key": key, **found[key].fields} for key in dict.fromkeys(keys)]}

    return Api(messages_of("FindCoordinator", versions), find_coordinator, access, reads=reads)


async def leading(call: Call, row: ClusterRow, keys: Iterable[str]) -> dict[str, Coordinator]:
    """The coordinator of each key, by the topic of `row`, the only one there."""
    topic = next(iter(row.topics), None)
    reached = await call.addresses.of(row.broker_ids, {b.broker_id: b.endpoints for b in row.brokers})
    leaders = {key: -1 if topic is None else _leader(topic, key) for key in keys}
    nobody = Coordinator(COORDINATOR_NOT_AVAILABLE, "no coordinator is available")
    return {key: Coordinator(0, None, b, reached[b]) if b in reached else nobody for key, b in leaders.items()}


def _leader(topic: TopicRow, key: str) -> int:
    partition = partition_of(key, len(topic.partitions))
    return next((p.leader for p in topic.partitions if p.partition == partition), -1)
