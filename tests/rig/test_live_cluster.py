"""A live cluster as its controllers see it, and as it answers controllers of other processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from kedge import TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import StopReplicaRequest
from kedge.controller.model.logs import Batch, LogError
from kedge.controller.model.values import Endpoint
from kedge.controller.server import LiveCluster, LiveServer
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.wire.living import TIME_MS, Living
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


def test_brokers_are_registered_as_they_are_given_and_leave_with_the_cluster() -> None:
    server, at = MemoryServer(), Endpoint("OWN", "127.0.0.9", 7)
    with closing(MemoryStore(server)) as store:
        with LiveCluster(LiveServer(lambda: MemoryStore(server)), {1: "a", 2: None}) as cluster:
            assert list(cluster.nodes) == [101]
            cluster.listen({2: at})
            cluster.kill_broker(2)
            cluster.restart_broker(2)
            until(lambda: cluster.controller.describe().live_brokers == (1, 2))
            found = cluster.controller.query(lambda view: view.brokers).result(DEADLINE_S)
            assert {broker: said.rack for broker, said in found.items()} == {1: "a", 2: None}
            registered = store.get(keys.broker(2), timeout_s=1)
            assert registered is not None
            assert json.loads(registered.value)["endpoints"] == ["OWN://127.0.0.9:7"]
        assert store.children(keys.BROKER_IDS, timeout_s=1) == []


def appended(living: Living, tp: TopicPartition, max_timestamp_ms: int = TIME_MS) -> LogError:
    """The error of a batch of 100 bytes, taken by the leader alone."""
    batch = Batch(b"x" * 100, 1, max_timestamp_ms)
    return living.cluster.logs.append(None, tp, batch, acks=1, timeout_ms=1_000).result(DEADLINE_S).error


def kept(living: Living, tp: TopicPartition) -> tuple[int, int]:
    """The first offset and the end of the log."""
    found = living.cluster.logs.bounds(None, tp).result(DEADLINE_S)
    return found.start_offset, found.end_offset


def test_topics_keep_what_their_own_configs_say() -> None:
    """By size, by time, and everything without either."""
    with Living() as living:
        by_size = living.topic("by-size", [[1]], retention_bytes="250")[0]
        by_time = living.topic("by-time", [[1]], retention_ms="3600000")[0]
        other = living.topic("other", [[1]])[0]
        for tp in (by_size, by_time, other):
            assert {appended(living, tp) for _ in range(4)} == {LogError.NONE}
        assert appended(living, by_time, 2**62) is LogError.NONE
        until(lambda: (kept(living, by_size), kept(living, by_time)) == ((1, 4), (4, 5)))
        assert kept(living, other) == (0, 4)


def test_partition_takes_no_batch_while_it_is_full_of_what_may_not_go() -> None:
    """Its follower has not copied what the leader has."""
    with Living(copy_rate_bytes_s=1, retention_bytes=100) as living:
        tp = living.topic("orders", [[1, 2]])[0]
        errors = [appended(living, tp) for _ in range(6)]
        assert (errors[0], errors[-1]) == (LogError.NONE, LogError.KAFKA_STORAGE_ERROR)
