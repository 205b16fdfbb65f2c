"""What the controller does by itself: topic keys with the replicas that grew, and preferred leaders."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import Settings
from kedge.controller.codec import keys
from kedge.controller.state import ClusterState
from tests.runtime.world import Cluster, cluster_of_three

TOPIC = keys.topic("t")


def listed(cluster: Cluster) -> list[int]:
    """R as the topic key has it."""
    replicas: list[int] = cluster.get(TOPIC)["partitions"]["0"]
    return replicas


def moving(**more: Settings) -> Cluster:
    cluster = cluster_of_three(**more)
    cluster.done(cluster.move([4, 5, 6]))
    cluster.wait(2000)
    return cluster


def grow(cluster: Cluster, *isr: int) -> None:
    cluster.done(cluster.isr(isr))
    assert cluster.partition().replicas == isr


def test_a_target_in_sync_is_in_the_topic_key_within_a_second() -> None:
    """Not at once, since every target of a move joins by itself."""
    cluster = moving()
    grow(cluster, 1, 2, 3, 4)
    assert listed(cluster) == [1, 2, 3]
    cluster.wait(1000)
    assert listed(cluster) == [1, 2, 3, 4]


def test_targets_that_join_one_after_another_do_not_put_off_the_write() -> None:
    """The second counts from the first of them; both are in one write."""
    cluster = moving()
    generation = cluster.other.get(TOPIC, timeout_s=1)
    grow(cluster, 1, 2, 3, 4)
    cluster.wait(900)
    grow(cluster, 1, 2, 3, 4, 5)
    assert listed(cluster) == [1, 2, 3]
    cluster.wait(100)
    assert listed(cluster) == [1, 2, 3, 4, 5]
    cluster.wait(3000)
    after = cluster.other.get(TOPIC, timeout_s=1)
    assert generation is not None
    assert after is not None
    assert after.generation == generation.generation + 1


def test_the_interval_is_a_setting() -> None:
    cluster = moving(settings=Settings(topic_rewrite_interval_ms=200))
    grow(cluster, 1, 2, 3, 4)
    cluster.wait(150)
    assert listed(cluster) == [1, 2, 3]
    cluster.wait(50)
    assert listed(cluster) == [1, 2, 3, 4]


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
