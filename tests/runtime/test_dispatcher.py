"""Sends are level-triggered: per broker what is dirty, built from what is committed when it goes out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kedge import HostResponse, LeaderAndIsrRequest, TopicPartition, UpdateMetadataRequest
from tests.runtime.hosts import HeldCalls
from tests.runtime.world import Cluster, cluster_of_three, failing


def test_a_send_that_failed_is_repeated_after_100_ms_doubling_to_10_s() -> None:
    """It stays dirty; no other is touched; a wall clock that is set back changes nothing."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(4)
    cluster.clock.wall_ms -= 3_600_000
    cluster.done(cluster.move([4, 5, 6]))
    cluster.host.told.clear()
    tries = []
    for _ in range(0, 40_000, 50):
        before = len(cluster.host.told)
        cluster.wait(50)
        if len(cluster.host.told) > before:
            tries.append(cluster.clock.elapsed_ms)
    gaps = [b - a for a, b in pairwise(tries)]
    assert gaps[:6] == [200, 400, 800, 1600, 3200, 6400]
    assert set(gaps[6:]) == {10_000}
    assert {r.broker_id for r in cluster.host.told} == {4}
    assert "no such luck" in cluster.findings()["callbacks of broker 4"]
    cluster.done(cluster.move([5, 6, 4]))
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(10_000, 500)
    assert cluster.host.to(4, LeaderAndIsrRequest)[-1].partitions[0].target_replicas == (5, 6, 4)
    assert cluster.findings() == {}


@pytest.mark.slow
def test_broker_far_behind_gets_all_metadata_instead_of_a_log() -> None:
    """Memory for it is bounded by the size of the cluster."""
    held = HeldCalls()
    cluster = Cluster(executor=held)
    cluster.join(1, 2, 3, 4, 5, 6)
    held.drain(cluster.run)
    tps = [TopicPartition("m", p) for p in range(300)]
    cluster.create("m", *[(1, 2, 3)] * 300)
    for i in range(9):
        targets = dict.fromkeys(tps, [4, 5, 6] if i % 2 else [5, 4, 6])
        cluster.done(cluster.controller.admin.alter_partition_reassignments(targets).all())
        held.drain(cluster.run, 1, 2, 3, 5, 6)
    held.drain(cluster.run)
    told = cluster.host.to(4, UpdateMetadataRequest)
    assert told[-1].full
    assert {p.leader_epoch for p in told[-1].partitions if p.topic == "m"} == {9}


def test_interrupt_in_a_callback_reaches_the_caller_and_the_request_is_repeated() -> None:
    """A KeyboardInterrupt is not the host's error; the round counts as not delivered."""
    cluster = cluster_of_three()

    def interrupted(_: object) -> HostResponse:
        raise KeyboardInterrupt

    cluster.host.answer = interrupted
    future = cluster.move([4, 5, 6])
    with pytest.raises(KeyboardInterrupt):
        cluster.run()
    assert future.done()
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(1000)
    assert cluster.host.to(4, LeaderAndIsrRequest)[-1].partitions[0].target_replicas == (4, 5, 6)
