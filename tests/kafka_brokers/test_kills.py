"""The active controller is killed again and again; no Kafka broker ever takes its place, and nothing is lost.

`KEDGE_KILLS=100 scripts/test tests/kafka_brokers/test_kills.py` kills more often than the checks do.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from typing import Final

import pytest
from kafka.admin import NewTopic as KafkaTopic
from kafka.structs import TopicPartition as Tp

from kedge.stores import MetadataStore
from servers import LocalZooKeeper
from tests.kafka_brokers.clients import admin_of, consume, create_topic, produce
from tests.kafka_brokers.cluster import BROKERS, FollowingCluster, following, until

pytestmark = [pytest.mark.server, pytest.mark.full]

KILLS: Final = int(os.environ.get("KEDGE_KILLS", "3"))
PARTITIONS: Final = 40


def epoch(store: MetadataStore) -> int:
    entry = store.get("/controller_epoch", sync=True, timeout_s=60)
    assert entry is not None
    return int(entry.value)


def are_moved(cluster: FollowingCluster, store: MetadataStore, topic: str, target: list[int]) -> bool:
    states = cluster.states(store, topic)
    return all("targetReplicas" not in s and sorted(s["isr"]) == sorted(target) for s in states)


@pytest.mark.checklist(249, 255)
def test_moves_end_though_every_controller_is_killed(zookeeper_server: LocalZooKeeper) -> None:
    """40 partitions with data move between the same brokers, to and fro, once per kill. Each takeover raises the epoch
    by one, so no other controller led in between."""
    with following(zookeeper_server) as cluster, contextlib.closing(cluster.store()) as store:
        cluster.begin(store)
        name, targets = f"k{uuid.uuid4().hex[:8]}", ([1, 2], [2, 3], [3, 1])
        begun = epoch(store)
        create_topic(cluster, KafkaTopic(name, replica_assignments=dict.fromkeys(range(PARTITIONS), targets[0])))
        sent = produce(cluster, name, 200)
        for kill in range(1, KILLS + 1):
            leader, target = cluster.read(store, "/controller")["brokerid"], targets[kill % len(targets)]
            with admin_of(cluster) as admin:
                admin.alter_partition_reassignments(dict.fromkeys((Tp(name, p) for p in range(PARTITIONS)), target))
            cluster.controllers[leader].kill()
            until("another controller leads", lambda: epoch(store) == begun + kill)  # noqa: B023 - called at once
            shown = store.get("/controller", sync=True, timeout_s=60)
            assert shown is not None
            assert shown.owner is None
            assert cluster.read(store, "/controller")["brokerid"] not in {leader, *BROKERS}
            cluster.start_controller(leader)
            sent |= produce(cluster, name, 20)
            until("all have moved", lambda: are_moved(cluster, store, name, target))  # noqa: B023 - as above
        assert epoch(store) == begun + KILLS
        assert sorted(consume(cluster, name, sent)) == sorted(sent)
