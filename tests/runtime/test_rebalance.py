"""Preferred leaders by themselves: five seconds after taking over, then once per interval."""

from __future__ import annotations

from typing import Any

from kedge import Settings
from tests.runtime.world import Cluster


def unbalanced(**settings: Any) -> Cluster:
    """Ten partitions that prefer 1, all led by 2."""
    cluster = Cluster(settings=Settings(**settings))
    cluster.join(1, 2)
    cluster.create("t", *[(1, 2)] * 10)
    unbalance(cluster)
    return cluster


def unbalance(cluster: Cluster) -> None:
    cluster.leave(1)
    cluster.join(1)
    for partition in range(10):
        cluster.done(cluster.isr([2, 1], "t", partition))
    assert led_by(cluster, 2) == 10


def led_by(cluster: Cluster, broker: int) -> int:
    return sum(cluster.state("t", partition)["leader"] == broker for partition in range(10))


def test_it_looks_5_s_after_taking_over_and_then_every_interval() -> None:
    """Not before, and without anybody asking."""
    cluster = unbalanced(leader_imbalance_check_interval_seconds=60)
    cluster.wait(4_900)
    assert led_by(cluster, 1) == 0
    cluster.wait(200)
    assert led_by(cluster, 1) == 10
    unbalance(cluster)
    cluster.wait(59_000, 1_000)
    assert led_by(cluster, 1) == 0
    cluster.wait(2_000)
    assert led_by(cluster, 1) == 10
    cluster = unbalanced(leader_imbalance_check_interval_seconds=1)  # below 5 s it holds from the beginning
    cluster.wait(1_100)
    assert led_by(cluster, 1) == 10
