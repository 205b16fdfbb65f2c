"""FindCoordinator: which broker coordinates a group or a transaction. ListGroups, ListTransactions: the controller
coordinates none, but tools ask every node.

Clients ask any node, and the controller is one of those that they see. The coordinator is the leader of a partition of
an internal topic, chosen by the hash of the group's name or of the transactional id, as Kafka's brokers choose it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ...groups.partitions import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of
from ...model.values import Endpoint
from ...model.view import ClusterView
from ..calls import OPEN, Address, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request

COORDINATOR_NOT_AVAILABLE: Final = 15
INVALID_REQUEST: Final = 42
_TOPICS: Final = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}


@attrs.frozen
class _Led:
    """Who leads each partition of an internal topic, by partition id, and where brokers listen."""

    leaders: tuple[int, ...]
    endpoints: dict[int, tuple[Endpoint, ...]]


async def find_coordinator(call: Call, request: Request) -> Answer:
    """The coordinator of each key. Errors per key: 15 while there is none, 42 for a kind of key that is unknown."""
    keys = request.coordinator_keys if call.version >= 4 else [request.key]
    topic = _TOPICS.get(request.key_type)
    rows = [_nobody(INVALID_REQUEST)] * len(keys) if topic is None else await _found(call, topic, keys)
    if call.version < 4:
        return rows[0]
    return {"coordinators": [{"key": key, **row} for key, row in zip(keys, rows, strict=True)]}


async def _found(call: Call, topic: str, keys: Sequence[str]) -> list[Answer]:
    led = await asyncio.wrap_future(call.controller.query(_led(topic)))
    reached = await call.addresses.of(tuple(led.endpoints), led.endpoints)
    return [_row(led, reached, key) for key in keys]


def _row(led: _Led, reached: dict[int, Address], key: str) -> Answer:
    leader = led.leaders[partition_of(key, len(led.leaders))] if led.leaders else -1
    if leader not in reached:
        return _nobody(COORDINATOR_NOT_AVAILABLE)
    at = reached[leader]
    return {"node_id": leader, "host": at.host, "port": at.port, "error_code": 0, "error_message": None}


def _nobody(error_code: int) -> Answer:
    message = "no coordinator is available" if error_code == COORDINATOR_NOT_AVAILABLE else "unknown type of key"
    return {"node_id": -1, "host": "", "port": -1, "error_code": error_code, "error_message": message}


def _led(topic: str) -> Callable[[ClusterView], _Led]:
    def ask(view: ClusterView) -> _Led:
        partitions = () if view.topic(topic) is None else tuple(view.partitions_of(topic))
        endpoints = {b: view.brokers[b].registration.endpoints for b in sorted(view.brokers)}
        return _Led(tuple(p.leader for p in partitions), endpoints)

    return ask


async def list_nothing(call: Call, request: Request) -> Answer:  # noqa: ARG001 - as every handler
    """No group and no transaction: brokers coordinate them."""
    return {"error_code": 0}


TABLE: Final = (
    Api(messages_of("FindCoordinator", range(7)), find_coordinator, OPEN, reads=True),
    Api(messages_of("ListGroups", range(6)), list_nothing, OPEN, reads=True),
    Api(messages_of("ListTransactions", range(2)), list_nothing, OPEN, reads=True),
)
