"""What the controller does by itself: topic keys with the replicas that grew, and preferred leaders."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import Settings
from kedge.controller.state import ClusterState
from tests.runtime.world import Cluster, cluster_of_three


def moving(**more: Settings) -> Cluster:
    cluster = cluster_of_three(**more)
    cluster.done(cluster.move([4, 5, 6]))
    cluster.wait(2000)
    return cluster


def grow(cluster: Cluster, *isr: int) -> None:
    cluster.done(cluster.isr(isr))
    assert cluster.partition().replicas == isr


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


def test_partitions_are_walked_over_once_per_interval_only(monkeypatch: pytest.MonkeyPatch) -> None:
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


# --- how long a loop with threads of its own sleeps, which no public call shows


def sleeps_ms(cluster: Cluster) -> int | None:
    term = cluster.controller._loop.term  # noqa: SLF001
    assert term is not None
    due_ms = term.next_due_ms()
    return None if due_ms is None else due_ms - cluster.clock.elapsed_ms


def test_loop_wakes_for_grown_replicas_and_for_preferred_leaders() -> None:
    cluster = moving()
    grow(cluster, 1, 2, 3, 4)
    assert 0 < (sleeps_ms(cluster) or 0) <= 1000
    assert 0 < (sleeps_ms(unbalanced(leader_imbalance_check_interval_seconds=1)) or 0) <= 1000


def test_loop_goes_on_at_once_after_the_death_of_a_broker() -> None:
    """Its commit may have hidden a newer registration, which is looked at in the next pass."""
    cluster = cluster_of_three()
    assert (sleeps_ms(cluster) or 0) > 0
    cluster.leave(1, run=False)
    assert any(cluster.controller.poll_once() and sleeps_ms(cluster) == 0 for _ in range(50))
