"""LeaderAndIsr, UpdateMetadata and StopReplica, as brokers of this process take them at their addresses, from the
active controller of any process. Each broker must ignore requests of older controllers.

* They are offered only to gateways of other controllers that logged in with the gateways' secret: any other sender
  could control the cluster.
* None of these requests names its broker: the address does. At the common address they are refused (42).
* One at a time for each broker, in the order in which they came, also over several connections.
* Each is taken in one version only, which has all fields of Kedge's controllers.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

from ...model.errors import ErrorCode
from ...model.host import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from ..apis import APIS
from ..apis.versions import with_apis
from ..calls import Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import as_uuid
from . import received
from .orders import Ordered

_THREADS: Final = 8


class Brokers(Protocol):
    def obeyed(self, request: Ordered) -> HostResponse:
        """The answer of the request's broker. Raises OSError where that is down. It may take a moment."""


def with_orders(brokers: Brokers, base: Mapping[int, Api] = APIS) -> dict[int, Api]:
    """The APIs of `base` and the controller's requests to `brokers`: LeaderAndIsr, StopReplica and UpdateMetadata. They
    are offered only to gateways that logged in with the secret of `peers` and have CLUSTER_ACTION. One table per
    gateway. The gateway of a standby answers them itself and does not forward them."""
    obeying = _Obeying(brokers)
    rows = (
        (messages_of("LeaderAndIsr", range(7, 8)), received.leader_and_isr, _by_id),
        (messages_of("StopReplica", range(4, 5)), received.stop_replica, _by_name),
        (messages_of("UpdateMetadata", range(8, 9)), received.update_metadata, _nothing_more),
    )
    orders = [Api(api, obeying.handler(read, told), is_of_logs=True, is_for_gateways=True) for api, read, told in rows]
    return with_apis(base, orders)


Told = Callable[[Any, HostResponse], Answer]


class _Obeying:
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._threads = ThreadPoolExecutor(_THREADS, "kedge-orders")  # orders wait for no other work

    def handler(
        self, read: Callable[[Request, int], Ordered], told: Told
    ) -> Callable[[Call, Request], Awaitable[Answer]]:
        async def obey(call: Call, request: Request) -> Answer:
            if call.broker_id is None:
                return {"error_code": ErrorCode.INVALID_REQUEST}
            order = read(request, call.broker_id)
            async with self._turns[call.broker_id]:
                done = asyncio.get_running_loop().run_in_executor(self._threads, self._brokers.obeyed, order)
                try:
                    response = await asyncio.shield(done)
                except asyncio.CancelledError:
                    await asyncio.wait([done])  # it is carried out all the same, and the next one must come after it
                    raise
            return {"error_code": response.error, **told(order, response)}

        return obey


def _by_id(order: LeaderAndIsrRequest, response: HostResponse) -> Answer:
    """The errors of partitions, by the ids of topics."""
    ids = {p.topic: p.topic_id for p in order.partitions}
    topics: dict[str, list[dict[str, Any]]] = {}
    for tp, code in response.errors.items():
        topics.setdefault(tp.topic, []).append({"partition_index": tp.partition, "error_code": code})
    return {"topics": [{"topic_id": as_uuid(ids[name]), "partition_errors": rows} for name, rows in topics.items()]}


def _by_name(_: StopReplicaRequest, response: HostResponse) -> Answer:
    return {
        "partition_errors": [
            {"topic_name": tp.topic, "partition_index": tp.partition, "error_code": code}
            for tp, code in response.errors.items()
        ]
    }


def _nothing_more(_: UpdateMetadataRequest, __: HostResponse) -> Answer:
    return {}
