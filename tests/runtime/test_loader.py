"""A takeover loads the whole tree; what cannot be read is a finding of that key and harms nothing else."""

from __future__ import annotations

import pytest

from kedge import Settings
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.runtime.world import Cluster


@pytest.mark.checklist(112, 113)
def test_no_crash_while_kafkas_moves_are_taken_over_loses_one() -> None:
    """Each goes from the topic's key with the commit that takes it over, however small the commits are."""
    entries = read_tree(DATA / "kafka_3_9_tree_moving.json")
    for commits in range(1, 12):
        cluster = Cluster(start=False, settings=Settings(commit_decisions_max=1))
        cluster.server.plant(entries)
        cluster.join(1, 2, 3)
        first = cluster.another(1, cluster.store)
        for _ in range(commits):
            first.poll_once()
        cluster.controllers.clear()
        cluster.server.expire(cluster.store.session.session_id)
        cluster.another(2)
        cluster.run()
        targets = {
            p: cluster.get(f"/brokers/topics/orders/partitions/{p}/state").get("targetReplicas") for p in range(4)
        }
        assert targets == {0: [1, 3], 1: [2, 1], 2: [3, 2], 3: [2, 3]}, commits


@pytest.mark.parametrize("name", ["kafka_3_9_tree_idle.json", "kafka_3_9_tree_moving.json"])
def test_the_tree_of_a_real_kafka_is_taken_over_above_its_epoch(name: str) -> None:
    """Every topic and partition, no finding; running moves continue with what Kafka knew, unknown fields are kept."""
    tree = read_tree(DATA / name)
    cluster = Cluster(start=False)
    cluster.server.plant(tree)
    ids = sorted(int(e.key.rpartition("/")[2]) for e in tree if e.key.startswith("/brokers/ids/"))
    cluster.join(*ids)
    epoch = int(cluster.keys()["/controller_epoch"])
    topics = {e.key for e in tree if e.key.count("/") == 3 and e.key.startswith("/brokers/topics/") and e.value}
    states = {e.key for e in tree if e.key.endswith("/state")}
    moving = {k for k in topics if cluster.get(k).get("adding_replicas") or cluster.get(k).get("removing_replicas")}
    cluster.another(1)
    cluster.run()
    described = cluster.controller.describe()
    assert described.controller_epoch == epoch + 1
    assert (described.topics, described.partitions, described.findings) == (len(topics), len(states), {})
    listing = cluster.done(cluster.controller.admin.list_partition_reassignments())
    assert len(listing) == (4 if "moving" in name else 0)
    assert {tp.topic for tp in listing} == {key.rpartition("/")[2] for key in moving}
    for tp, move in listing.items():
        for broker in [b for b in move.target_replicas if b not in cluster.state(tp.topic, tp.partition)["isr"]]:
            cluster.done(cluster.isr([*cluster.state(tp.topic, tp.partition)["isr"], broker], tp.topic, tp.partition))
        assert cluster.partition(tp.topic, tp.partition).replicas == move.target_replicas
    assert cluster.controller.describe().reassigning_partitions == 0


# --- what was missed while a key could not be read, or was not known
