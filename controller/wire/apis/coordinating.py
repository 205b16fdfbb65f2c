"""FindCoordinator: the coordinator of a group, or of a transaction, is the leader of a partition of an internal topic,
chosen by the hash of its name, as Kafka's brokers choose it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from ...coordinators.partitions import partition_of
from ...model.errors import ErrorCode
from ..calls import OPEN, Access, Address, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import ClusterRow
from ..slices import sliced

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
    leaders = {} if topic is None else {p.partition: p.leader for p in topic.partitions}
    nobody = Coordinator(COORDINATOR_NOT_AVAILABLE, "no coordinator is available")
    found = {broker: Coordinator(0, None, broker, address) for broker, address in reached.items()}
    return {key: found.get(_leader(leaders, key), nobody) async for key in sliced(keys)}


def _leader(leaders: Mapping[int, int], key: str) -> int:
    """The leader of the key's partition; -1: there is none. `leaders`: of each partition of the topic."""
    return leaders.get(partition_of(key, len(leaders)), -1) if leaders else -1
