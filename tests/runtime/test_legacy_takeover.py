"""The legacy key that a takeover finds in the middle of a plan."""

from __future__ import annotations

import pytest

from kedge import Settings
from kedge.controller.codec.keys import REASSIGN_PARTITIONS
from tests.runtime.world import Cluster


def planned(topic: str, targets: list[list[int]], settings: Settings | None = None) -> Cluster:
    """A topic whose partitions are on 1, 2, 3, and a plan with a target for each, not read yet."""
    cluster = Cluster(settings=settings)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create(topic, *[(1, 2, 3)] * len(targets))
    rows = [{"topic": topic, "partition": p, "replicas": target} for p, target in enumerate(targets)]
    cluster.put(REASSIGN_PARTITIONS, {"version": 1, "partitions": rows})
    return cluster


def crashed(cluster: Cluster, passes: int) -> None:
    """The controller is gone without a word after so many passes."""
    for _ in range(passes):
        cluster.controller.poll_once()
    cluster.controllers.clear()
    cluster.server.expire(cluster.store.session.session_id)


@pytest.mark.parametrize("commits", range(1, 12))
def test_a_crash_in_the_middle_of_a_plan_loses_none_of_it(commits: int) -> None:
    """One Decision per commit; the next controller continues from the key."""
    targets = [[4, 5] if p % 2 else [2, 1, 3] for p in range(8)]
    cluster = planned("t", targets, settings=Settings(commit_decisions_max=1))
    crashed(cluster, commits)
    cluster.another(2)
    cluster.run()
    assert [cluster.state("t", p).get("targetReplicas") for p in range(8)] == [None, [4, 5]] * 4
    assert {cluster.partition("t", p).replicas for p in range(0, 8, 2)} == {(2, 1, 3)}
    cluster.wait(1_100)
    assert [row["partition"] for row in cluster.get(REASSIGN_PARTITIONS)["partitions"]] == [1, 3, 5, 7]


@pytest.mark.full
def test_a_plan_as_large_as_a_key_can_hold_is_obeyed_in_many_commits_and_survives_a_crash() -> None:
    """14,000 entries: as many events, none of which is split, and a controller that dies between them."""
    count = 14_000
    cluster = planned("m", [[1, 2, 4]] * count)
    crashed(cluster, 20)
    begun = sum(b"targetReplicas" in value for value in cluster.keys("/brokers/topics/m").values())
    assert 0 < begun < count
    cluster.another(2)
    cluster.run()
    assert cluster.controller.describe().reassigning_partitions == count
    assert len(cluster.get(REASSIGN_PARTITIONS)["partitions"]) == count
