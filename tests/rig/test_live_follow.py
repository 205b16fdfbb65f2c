"""A live cluster goes to another store: its brokers keep their records, and its gateway its addresses."""

from __future__ import annotations

import time
from contextlib import closing

import kafka
import pytest

from controller.runtime.clock import Chance, SystemClock
from controller.runtime.migration import Migration
from controller.server import LiveCluster, LiveServer
from controller.wire import Gateway, Peers
from controller.wire.data import with_logs
from kedge import NewTopic, TopicPartition
from tests.kit.waiting import until

READY_S = 30.0
ORDERS = TopicPartition("orders", 0)


@pytest.mark.slow
def test_a_cluster_follows_to_another_store() -> None:
    """Also a broker that was down when the others were registered there."""
    here, there = LiveServer(), LiveServer()
    with LiveCluster(here, {1: "a", 2: "b", 3: "c"}) as cluster, closing(here.client()) as session:
        cluster.until_ready(READY_S)
        gateway = Gateway(cluster.controller, apis=with_logs(cluster.logs), peers=Peers(store=session))
        with gateway, closing(there.client()) as next_session:
            place = f"{gateway.address.host}:{gateway.address.port}"
            admin = cluster.controller.admin
            admin.create_topics({"orders": NewTopic(replica_assignments=[[1, 2, 3]])}).all().result(READY_S)
            with closing(kafka.KafkaProducer(bootstrap_servers=place, acks="all", retries=20)) as producer:
                producer.send("orders", b"one").get(READY_S)
                former = cluster.controller
                cluster.kill_broker(3)
                cluster.register_in(there)
                cluster.register_in(there)  # again, as after an error
                _migrate(here, there)
                cluster.follow(there)
                gateway.follow(cluster.controller, Peers(store=next_session))
                assert cluster.controller is not former
                cluster.restart_broker(3)
                cluster.until_ready(READY_S)
                producer.send("orders", b"two").get(READY_S)
                until(lambda: _ends(cluster) == {1: 2, 2: 2, 3: 2}, "all replicas have both records")
            known = there.connection().get("/brokers/topics/orders", timeout_s=READY_S)
            assert known is not None


def _ends(cluster: LiveCluster) -> dict[int, int]:
    logs, _ = cluster.log_ends(ORDERS)
    return {broker: log.end_offset for broker, log in logs.items()}


def _migrate(here: LiveServer, there: LiveServer) -> None:
    with closing(here.client()) as source, closing(there.client()) as target:
        clock = SystemClock()
        names = ("here", "there")
        migration = Migration(source, target, names, clock=clock, chance=Chance(), pause=time.sleep, say=lambda _: None)
        assert migration.run(READY_S) == ()
