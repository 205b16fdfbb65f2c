"""The connection of a leader ends while its changes of the ISR are being decided."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from kedge.controller.wire import allow_all
from kedge.controller.wire.calls import Call
from kedge.controller.wire.messages import AlterPartitionRequest
from kedge.controller.wire.protocol import build
from kedge.controller.wire.remote.in_sync import IsrChanges
from tests.runtime.world import Cluster, cluster_of_three

TOPICS = ("t", "u", "v")


async def _no_wait(_: int) -> None: ...


async def _at_once(work: Any) -> Any:
    return work()


def call_of(cluster: Cluster, api: Any) -> Call:
    controller: Any = cluster.controller
    nowhere: Any = None  # the handler asks for no address
    return Call(
        controller,
        controller.admin,
        nowhere,
        None,
        api.messages,
        1,
        None,
        "",
        None,
        "",
        None,
        allow_all,
        _no_wait,
        _at_once,
    )


def request_of(cluster: Cluster) -> Any:
    """Broker 1 leaves itself alone in the ISR of a partition of each topic."""
    broker = cluster.done(cluster.controller.query(lambda view: view.brokers[1]))
    changes = {"partition_index": 0, "leader_epoch": 0, "new_isr": [1], "partition_epoch": 0}
    topics = [{"topic_name": name, "partitions": [changes]} for name in TOPICS]
    return build(AlterPartitionRequest, 1, {"broker_id": 1, "broker_epoch": broker.epoch, "topics": topics})


@pytest.mark.slow
def test_no_coroutine_is_left_that_nothing_awaits() -> None:
    """It would be a warning in the log of the gateway, which is an error in tests."""
    cluster = cluster_of_three()
    for name in TOPICS[1:]:
        cluster.create(name)
    handler = IsrChanges()

    async def scenario() -> None:
        answering = asyncio.ensure_future(handler.alter_partition(call_of(cluster, handler.api), request_of(cluster)))
        await asyncio.sleep(0)
        cluster.controller.poll_once()  # the question what there is; then the changes are asked for
        for _ in range(10):
            await asyncio.sleep(0)
        assert cluster.controller.describe().waiting_requests == len(TOPICS)
        answering.cancel()
        await asyncio.wait([answering])
        assert answering.cancelled()

    asyncio.run(scenario())
    gc.collect()
