"""A live cluster as its controllers see it, and as it answers controllers of other processes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from kedge import TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import StopReplicaRequest
from kedge.controller.model.logs import Batch, LogError
from kedge.controller.model.values import Endpoint
from kedge.controller.runtime.journal import Journal, MemorySink
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.server.logs import LogEnd
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
            brokers = {broker: store.get(keys.broker(broker), timeout_s=1) for broker in (1, 2)}
            said = {broker: json.loads(entry.value) for broker, entry in brokers.items() if entry is not None}
            assert {broker: one["rack"] for broker, one in said.items() if "rack" in one} == {1: "a"}
            assert said[2]["endpoints"] == ["OWN://127.0.0.9:7"]
        assert store.children(keys.BROKER_IDS, timeout_s=1) == []


def test_broker_that_is_paused_for_longer_than_its_session_registers_again() -> None:
    """Under another epoch; a short pause costs nothing."""
    with LiveCluster(LiveServer(session_timeout_s=0.5), {1: "a", 2: None}) as cluster:
        cluster.until_ready(DEADLINE_S)
        epoch = cluster.brokers[1].epoch
        cluster.pause_broker(1)
        cluster.resume_broker(1)
        assert 1 in cluster.controller.describe().live_brokers
        cluster.pause_broker(1)
        until(lambda: 1 not in cluster.controller.describe().live_brokers)
        cluster.resume_broker(1)
        until(lambda: 1 in cluster.controller.describe().live_brokers)
        assert cluster.brokers[1].epoch > epoch


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
        by_time = living.topic("by-time", [[1]], retention_ms="60000")[0]
        other = living.topic("other", [[1]])[0]
        for tp in (by_size, by_time, other):
            assert {appended(living, tp) for _ in range(4)} == {LogError.NONE}
        now_ms = time.time_ns() // 1_000_000
        for at_ms in (now_ms - 600_000, now_ms + 600_000):
            assert appended(living, by_time, at_ms) is LogError.NONE
        until(lambda: (kept(living, by_size), kept(living, by_time)) == ((1, 4), (5, 6)))
        assert kept(living, other) == (0, 4)


def test_partition_takes_no_batch_while_it_is_full_of_what_may_not_go() -> None:
    """Its follower has not copied what the leader has."""
    with Living(copy_rate_bytes_s=1, retention_bytes=100) as living:
        tp = living.topic("orders", [[1, 2]])[0]
        errors = [appended(living, tp) for _ in range(6)]
        assert (errors[0], errors[-1]) == (LogError.NONE, LogError.KAFKA_STORAGE_ERROR)


def test_logs_are_shown_by_broker_with_the_leaders_and_what_a_move_copied() -> None:
    """While a follower lags, and of a topic that is not there."""
    with Living(copy_rate_bytes_s=1) as living:
        cluster, tp = living.cluster, living.topic("orders", [[2, 1]])[0]
        assert {appended(living, tp) for _ in range(3)} == {LogError.NONE}
        assert cluster.log_ends(tp) == ({1: LogEnd(0, 0), 2: LogEnd(3, 300)}, LogEnd(3, 300))
        assert cluster.log_ends(TopicPartition("other", 0)) == ({}, None)
        assert cluster.reassignment_bytes() == 0
        cluster.copying.rate_bytes_s = None
        moved = cluster.controller.admin.alter_partition_reassignments({tp: (3, 1)})
        moved.all().result(DEADLINE_S)
        until(lambda: set(cluster.log_ends(tp)[0]) == {1, 3})
        assert cluster.reassignment_bytes() == 300


def test_cluster_that_is_not_ready_in_time_says_which_brokers_are_there() -> None:
    with LiveCluster(LiveServer(), {1: None}) as cluster:
        cluster.kill_broker(1)
        until(lambda: cluster.controller.is_active and cluster.controller.describe().live_brokers == ())
        with pytest.raises(TimeoutError, match=r"not ready within 0 s: of brokers \[1\] there are \(\)"):
            cluster.until_ready(0)


def test_journal_of_each_controller_is_written() -> None:
    sinks: dict[int, MemorySink] = {}

    def journal(node_id: int) -> Journal:
        sinks[node_id] = MemorySink()
        return Journal(sinks[node_id])

    with LiveCluster(LiveServer(), {1: None}, journal=journal) as cluster:
        cluster.until_ready(DEADLINE_S)
        until(lambda: sinks[101].lines)
