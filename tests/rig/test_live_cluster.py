"""A live cluster as its controllers see it, and as it answers controllers of other processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import StopReplicaRequest
from kedge.controller.server import LiveCluster, LiveServer
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S


@pytest.fixture
def cluster() -> Iterator[LiveCluster]:
    with LiveCluster(LiveServer(), {1: "a", 2: None}, seed=1) as opened:
        opened.until_ready(DEADLINE_S)
        yield opened


def test_controller_of_another_process_is_answered_by_the_broker(cluster: LiveCluster) -> None:
    """Not one whose epoch does not exist yet: the broker would refuse all others after it."""
    epoch, leads = cluster.brokers[1].epoch, cluster.controller.controller_epoch
    assert leads is not None
    until(lambda: cluster.brokers[1].controller_epoch == leads)

    def answered(broker_epoch: int, controller_epoch: int) -> ErrorCode:
        return cluster.host.obeyed(StopReplicaRequest(1, broker_epoch, 999, controller_epoch, ())).error

    assert answered(epoch, leads - 1) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert answered(epoch - 1, leads) is ErrorCode.STALE_BROKER_EPOCH
    assert answered(epoch, leads + 1) is ErrorCode.INVALID_REQUEST
    assert cluster.brokers[1].controller_id != 999
    with cluster.lock:  # else the real one may follow at once
        assert answered(epoch, leads) is ErrorCode.NONE
        assert cluster.brokers[1].controller_id == 999
