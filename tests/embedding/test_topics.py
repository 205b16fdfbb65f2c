"""Topics are listed and described from the cache."""

from __future__ import annotations

import pytest

from kedge import (
    DeletePartitions,
    PartitionDescription,
    StopReplicaRequest,
    UnknownTopicOrPartition,
)
from tests.runtime.world import cluster_of_three, failing


def test_topics_are_listed_with_their_ids() -> None:
    """Sorted by name; a topic that is being deleted is left out, its keys still there."""
    cluster = cluster_of_three()
    cluster.create("a", (4, 5))
    admin = cluster.controller.admin
    topics = cluster.done(admin.list_topics())
    assert list(topics) == ["a", "t"]
    assert topics["t"] == cluster.done(admin.describe_topics(["t"])["t"]).topic_id
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.done(admin.delete_topics(["t"])["t"])
    assert cluster.has("/brokers/topics/t")
    assert list(cluster.done(admin.list_topics())) == ["a"]
    assert isinstance(cluster.error(admin.describe_topics(["t"])["t"]), UnknownTopicOrPartition)


def test_a_topic_is_described_partition_by_partition() -> None:
    """As committed: while it moves, with the target."""
    cluster = cluster_of_three()
    admin = cluster.controller.admin
    cluster.done(cluster.move([4, 5, 6]))
    described = admin.describe_topics(["t", "no"])
    assert list(described) == ["t", "no"]
    topic = cluster.done(described["t"])
    state = cluster.state()
    assert topic.name == "t"
    assert topic.partitions == (
        PartitionDescription(0, 1, state["leader_epoch"], (1, 2, 3), (1, 2, 3), (4, 5, 6), status_code=0),
    )
    assert isinstance(cluster.error(described["no"]), UnknownTopicOrPartition)


def test_a_partition_without_leader_and_one_that_is_read_only_say_so() -> None:
    """None is no broker's id; the status is that of KIP-694."""
    cluster = cluster_of_three()
    admin = cluster.controller.admin
    cluster.create("u", (4,), (5,))
    cluster.done(admin.delete_partitions({"u": DeletePartitions(1)})["u"])
    cluster.leave(4)
    partitions = cluster.done(admin.describe_topics(["u"])["u"]).partitions
    assert [(p.leader, p.status_code) for p in partitions] == [(None, 0), (5, -1)]


@pytest.mark.parametrize("wrong", ["t", None, 5, ["t", 5]])
def test_names_are_names(wrong: object) -> None:
    with pytest.raises(TypeError):
        cluster_of_three().controller.admin.describe_topics(wrong)  # type: ignore[arg-type]
