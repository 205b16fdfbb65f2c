"""Moves that these tests make, and what must hold when they are over."""

from __future__ import annotations

from collections.abc import Mapping

from kedge import NewTopic, NotController, TopicPartition
from kedge.controller.model.host import LeaderAndIsrRequest
from tests.real.cluster import Cluster
from tests.real.remote import RemoteNode


def planned(count: int) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Where partitions begin and where they go, on four brokers: two thirds change one of their two replicas, the
    others both."""
    begin = [[1 + n % 4, 1 + (n + 1) % 4] for n in range(count)]
    ends = [(b[0], 1 + b[1] % 4) if n % 3 else (1 + (b[0] + 1) % 4, 1 + (b[1] + 1) % 4) for n, b in enumerate(begin)]
    return begin, ends


def asked_for(cluster: Cluster, count: int) -> dict[TopicPartition, tuple[int, int]]:
    """So many moves are asked for, some are accepted already, and none of them can end before it is let go."""
    begin, ends = planned(count)
    targets = dict(zip(cluster.create_topic("t", begin, records=1), ends, strict=True))
    cluster.hold_back(targets)
    cluster.note(targets)
    cluster.send("alter_partition_reassignments", targets)
    cluster.until(lambda: any(map(is_of_a_move, cluster.calls)), "some moves are accepted")
    return targets


def is_of_a_move(call: object) -> bool:
    """Whether a broker has heard of a move."""
    return isinstance(call, LeaderAndIsrRequest) and any(p.target_replicas for p in call.partitions)


def slept_through(cluster: Cluster, targets: Mapping[TopicPartition, tuple[int, int]]) -> RemoteNode:
    """The active controller slept while a stand-by took over and half of the moves were completed; it is awake, knows
    that it was deposed, and what it was asked before it fell asleep it has done before, or refuses."""
    tps, zombie = list(targets), cluster.leader_node
    asked = cluster.send("create_topics", {"of-the-night": NewTopic(1, 1)})
    zombie.stop()
    cluster.until(lambda: cluster.active is not None, "a stand-by has taken over")
    cluster.reassign(targets)
    cluster.let_go(tps[: len(tps) // 2])
    cluster.until(lambda: cluster.deleted() >= len(tps) // 2, "half of the moves are complete")
    zombie.go_on()
    cluster.until(lambda: asked.done() and not zombie.is_active, "the old controller knows that it was deposed")
    cluster.look()
    answer = asked.exception() or asked.result()["of-the-night"]
    assert isinstance(answer, NotController) or "of-the-night" in cluster.committed.topics
    return zombie


def finished(cluster: Cluster, targets: Mapping[TopicPartition, tuple[int, ...]]) -> None:
    """Every move is complete, nothing is left behind, nothing was lost, and no rule was broken on the way."""
    cluster.until_settled(targets)
    cluster.until_converged()
    assert {tp: cluster.partition(tp).replicas for tp in targets} == targets
    assert not any(cluster.partition(tp).move for tp in targets)
    assert cluster.findings() == ()
    assert {tp for tp in targets if cluster.producers.acknowledged(tp)} == set(targets)
