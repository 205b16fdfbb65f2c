"""Inter-broker protocols: 2.8 is served as 3.9 is, below 2.7 a broker is refused."""

from __future__ import annotations

import contextlib
import uuid

import pytest
from kafka.admin import NewTopic as KafkaTopic
from kafka.structs import TopicPartition as Tp

from servers import LocalZooKeeper
from tests.kafka_brokers.clients import admin_of, consume, produce
from tests.kafka_brokers.cluster import BROKERS, WAIT_S, following, until
from tests.kafka_brokers.test_following import are_in_sync, has_internal

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_brokers_at_2_8_move_data_and_come_back(zookeeper_server: LocalZooKeeper) -> None:
    with following(zookeeper_server, ibp="2.8") as cluster, contextlib.closing(cluster.store()) as store:
        cluster.start_controller()
        cluster.start_brokers()
        until("the internal topics are there", lambda: has_internal(cluster, store))
        name = f"v{uuid.uuid4().hex[:8]}"
        with admin_of(cluster) as admin:
            admin.create_topics([KafkaTopic(name, replica_assignments={0: [1, 2], 1: [2, 3]})])
        sent = produce(cluster, name)
        cluster.brokers[2].kill()
        until("broker 2 leads nothing", lambda: all(s["leader"] != 2 for s in cluster.states(store, name)))
        sent |= produce(cluster, name)
        cluster.revive(2)
        with admin_of(cluster) as admin:
            admin.alter_partition_reassignments({Tp(name, p): list(BROKERS) for p in (0, 1)})
        until("all brokers are in sync", lambda: are_in_sync(cluster, store, name))
        assert sorted(consume(cluster, name, sent)) == sorted(sent)


@pytest.mark.checklist(256)
def test_a_broker_below_2_7_is_refused_with_a_sentence(zookeeper_server: LocalZooKeeper) -> None:
    with following(zookeeper_server, ibp="2.6") as cluster, contextlib.closing(cluster.store()) as store:
        cluster.start_controller()
        cluster.brokers[1].start(WAIT_S)
        until("the broker is registered", lambda: store.get("/brokers/ids/1", timeout_s=WAIT_S))
        log = cluster.folder / "controller-101.log"
        until("the finding is printed", lambda: "inter.broker.protocol.version is below 2.7" in log.read_text())
        assert cluster.read(store, "/kedge/brokers/1") is None
