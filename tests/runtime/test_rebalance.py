"""Preferred leaders by themselves: five seconds after taking over, then once per interval."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import ElectionType, Settings, TopicPartition
from kedge.controller.state import ClusterState
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


def test_an_interval_below_5_s_holds_from_the_beginning() -> None:
    """One second is one second."""
    cluster = unbalanced(leader_imbalance_check_interval_seconds=1)
    cluster.wait(1_100)
    assert led_by(cluster, 1) == 10


def test_it_is_switched_off() -> None:
    """Then only who asks elects."""
    cluster = unbalanced(auto_leader_rebalance_enable=False)
    cluster.wait(400_000, 50_000)
    assert led_by(cluster, 1) == 0


@pytest.mark.parametrize("away, expected", [(1, 9), (2, 10)])
def test_a_tenth_is_borne(away: int, expected: int) -> None:
    """More than ten per cent of what a broker is to lead, not just as much."""
    cluster = unbalanced()
    others = [TopicPartition("t", partition) for partition in range(away, 10)]
    cluster.done(cluster.controller.admin.elect_leaders(ElectionType.PREFERRED, others))
    assert led_by(cluster, 1) == 10 - away
    cluster.wait(5_100)
    assert led_by(cluster, 1) == expected


def test_partitions_are_walked_over_once_per_interval_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk costs time; nothing else asks for it."""
    walks = 0
    right = ClusterState.partitions

    def counted(self: ClusterState) -> Any:
        nonlocal walks
        walks += 1
        return right(self)

    monkeypatch.setattr(ClusterState, "partitions", counted)
    cluster = unbalanced(leader_imbalance_check_interval_seconds=10)
    cluster.wait(36_000, 100)
    assert walks == 4  # at 5, 15, 25, 35 s


def test_a_loop_that_has_nothing_to_do_wakes_for_it() -> None:
    """The driver of the loop learns when it is due."""
    cluster = unbalanced(leader_imbalance_check_interval_seconds=1)
    term = cluster.controller._loop.term  # noqa: SLF001
    assert term is not None
    due_ms = term.next_due_ms()
    assert due_ms is not None
    assert due_ms <= cluster.clock.elapsed_ms + 1_000
