"""FindCoordinator: which broker coordinates a group or a transaction. ListGroups, ListTransactions: the controller
coordinates none, but tools ask every node, and the controller is one of those that they see."""

from __future__ import annotations

from typing import Final

from ...coordinators.partitions import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from ...model.errors import ErrorCode
from ..apis.coordinating import Coordinator, finding, leading
from ..calls import OPEN, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import cluster

_TOPICS: Final = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}


async def find(call: Call, kind: int, keys: list[str]) -> dict[str, Coordinator]:
    """Errors per key: 15 while there is none, 42 for a kind of key that is unknown."""
    topic = _TOPICS.get(kind)
    if topic is None:
        return dict.fromkeys(keys, Coordinator(ErrorCode.INVALID_REQUEST, "unknown type of key"))
    return await leading(call, await call.query(cluster, [topic]), keys)


async def list_nothing(call: Call, request: Request) -> Answer:  # noqa: ARG001 - as every handler
    """No group and no transaction: brokers coordinate them."""
    return {"error_code": 0}


TABLE: Final = (
    finding(range(7), find, reads=True),
    Api(messages_of("ListGroups", range(6)), list_nothing, OPEN, reads=True),
    Api(messages_of("ListTransactions", range(2)), list_nothing, OPEN, reads=True),
)
