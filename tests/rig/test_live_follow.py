"""A live cluster goes to another store: its brokers keep their records, and its gateway its addresses."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import kafka
import pytest

from kedge import NewTopic, TopicPartition
from kedge.controller.runtime.clock import Chance, SystemClock
from kedge.controller.runtime.journal import Journal
from kedge.controller.runtime.migration import Migration
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.simulated.store import Client, Connection, StoreClient
from kedge.controller.wire import Gateway, Peers
from kedge.controller.wire.data import with_logs
from kedge.stores.base import Unavailable
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


class Failing(LiveServer):
    """A store that cannot be opened `fails_at` times and more, until `is_sound`."""

    def __init__(self, fails_at: int) -> None:
        super().__init__()
        self.fails_at, self.opened, self.is_sound = fails_at, 0, False

    def _open(self) -> None:
        self.opened += 1
        if self.opened >= self.fails_at and not self.is_sound:
            raise Unavailable("no connection")

    def client(self) -> Client:
        self._open()
        return super().client()

    def connection(self) -> Connection | StoreClient:
        self._open()
        return super().connection()


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_cluster_that_cannot_follow_runs_as_before_and_follows_later(fails_at: int) -> None:
    """The settings cannot be read, or one of two controllers has no session."""
    there = Failing(fails_at)
    with LiveCluster(LiveServer(), {1: "a"}, controllers=2) as cluster:
        cluster.until_ready(READY_S)
        former, threads = cluster.controller, set(threading.enumerate())
        with pytest.raises(Unavailable):
            cluster.follow(there)
        assert set(threading.enumerate()) <= threads
        assert cluster.controller is former
        admin = former.admin
        admin.create_topics({"orders": NewTopic(replica_assignments=[[1]])}).all().result(READY_S)
        there.is_sound = True
        cluster.follow(there)
        assert [node.server for node in cluster.nodes.values()] == [there, there]
        followed = [node.controller for node in cluster.nodes.values()]
        cluster.follow(there)
        assert [node.controller for node in cluster.nodes.values()] == followed
        assert former not in followed
        until(lambda: cluster.controller.is_active, "one leads there")


def test_cluster_whose_journal_cannot_be_opened_does_not_follow() -> None:
    opened = list[int]()

    def journal(node: int) -> Journal:
        opened.append(node)
        if len(opened) == 2:
            raise OSError("no space left on device")
        return Journal()

    here, there = LiveServer(), LiveServer()
    with LiveCluster(here, {1: "a"}, journal=journal) as cluster:
        cluster.until_ready(READY_S)
        threads = set(threading.enumerate())
        with pytest.raises(OSError, match="no space left"):
            cluster.follow(there)
        assert [cluster.server, *(node.server for node in cluster.nodes.values())] == [here, here]
        assert set(threading.enumerate()) <= threads
        assert cluster.controller.is_active
        cluster.follow(there)
        assert cluster.server is there
        until(lambda: cluster.controller.is_active, "it leads there")


def test_brokers_that_run_over_the_other_store_are_not_registered_there_again() -> None:
    here, there = LiveServer(), LiveServer()
    with LiveCluster(here, {1: "a"}) as cluster:
        cluster.until_ready(READY_S)
        until(lambda: cluster.brokers[1].controller_epoch > 0, "the broker obeys the controller")
        cluster.register_in(there)
        _migrate(here, there)
        cluster.follow(there)
        until(lambda: cluster.duties[1].server is there, "the broker follows")
        epoch = cluster.brokers[1].epoch
        cluster.register_in(there)
        assert (cluster.brokers[1].epoch, cluster.brokers[1].next_epoch) == (epoch, None)


def _ends(cluster: LiveCluster) -> dict[int, int]:
    logs, _ = cluster.log_ends(ORDERS)
    return {broker: log.end_offset for broker, log in logs.items()}


def _migrate(here: LiveServer, there: LiveServer) -> None:
    with closing(here.client()) as source, closing(there.client()) as target:
        clock = SystemClock()
        names = ("here", "there")
        migration = Migration(source, target, names, clock=clock, chance=Chance(), pause=time.sleep, say=lambda _: None)
        assert migration.run(READY_S) == ()
