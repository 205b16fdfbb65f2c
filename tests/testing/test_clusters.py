"""The clusters for tests, without a client and without pytest's fixtures."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kedge import ConfigResource, ConfigResourceType, TopicAlreadyExists
from kedge.testing import Cluster, Server
from tests.kit.waiting import until


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as opened:
        yield opened


def test_brokers_have_racks_in_turn() -> None:
    with Cluster(4, ["x", "y", "z"]) as cluster:
        assert cluster.brokers == (1, 2, 3, 4)
        assert cluster.racks == {1: "x", 2: "y", 3: "z", 4: "x"}


def test_brokers_may_have_no_racks() -> None:
    with Cluster(2, []) as cluster:
        cluster.create_topic("orders", 2)
        assert sorted(cluster.replicas("orders", 1)) == [1, 2]


def test_new_topic_is_led(cluster: Cluster) -> None:
    cluster.create_topic("orders", 3, 2, configs={"retention.ms": "1000"})
    assert all(cluster.leader("orders", partition) in cluster.brokers for partition in range(3))
    assert [len(cluster.replicas("orders", partition)) for partition in range(3)] == [2, 2, 2]
    resource = ConfigResource(ConfigResourceType.TOPIC, "orders")
    assert cluster.admin.describe_configs([resource])[resource].result(30)["retention.ms"].value == "1000"
    with pytest.raises(TopicAlreadyExists):
        cluster.create_topic("orders")


def test_topic_of_a_deleted_name_is_created_when_the_deletion_is_complete(cluster: Cluster) -> None:
    cluster.create_topic("orders")
    cluster.kill_broker(2)
    cluster.admin.delete_topics(["orders"]).all().result(30)
    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(cluster.create_topic, "orders", 2, 2)
        cluster.start_broker(2)
        creating.result(60)
    assert len(cluster.replicas("orders", 1)) == 2


def test_move_is_complete_unless_it_is_only_begun() -> None:
    with Cluster(4) as cluster:
        cluster.create_topic("orders", 1, 2)
        before = cluster.replicas("orders")
        target = tuple(broker for broker in cluster.brokers if broker not in before)
        cluster.move("orders", 0, target)
        assert cluster.replicas("orders") == target
        cluster.move("orders", 0, before, waits=False)
        until(lambda: cluster.replicas("orders") == before)


def test_move_that_needs_a_killed_broker_is_refused(cluster: Cluster) -> None:
    """At once, and it is not begun: to a broker without the partition, to a member, from members that are all dead."""
    for name, replicas in {"orders": 3, "bills": 1}.items():
        cluster.create_topic(name, 1, replicas)
    (alone,) = cluster.replicas("bills")
    other, third = (broker for broker in cluster.brokers if broker != alone)
    before = cluster.replicas("orders")
    cluster.kill_broker(alone)
    for topic, target in (("orders", before), ("orders", [alone]), ("bills", [other])):
        with pytest.raises(RuntimeError, match=rf"{topic}-0 cannot be moved to \[.*\]: broker {alone} is down"):
            cluster.move(topic, 0, target)
    cluster.kill_broker(other)
    with pytest.raises(RuntimeError, match=f"brokers {min(alone, other)}, {max(alone, other)} are down"):
        cluster.move("bills", 0, [other])
    assert cluster.admin.list_partition_reassignments().result(30) == {}
    cluster.move("orders", 0, [third])


def test_killed_broker_leads_nothing_until_it_is_back(cluster: Cluster) -> None:
    cluster.create_topic("orders", 6)
    cluster.kill_broker(2)
    cluster.kill_broker(2)
    assert 2 not in {cluster.leader("orders", partition) for partition in range(6)}
    cluster.kill_broker(1)
    cluster.kill_broker(3)
    assert {cluster.leader("orders", partition) for partition in range(6)} == {None}
    cluster.start_broker(3)
    cluster.start_broker(3)
    until(lambda: {cluster.leader("orders", partition) for partition in range(6)} == {3})


@pytest.mark.parametrize("broker", [0, 4])
def test_unknown_broker_is_refused(cluster: Cluster, broker: int) -> None:
    said = f"there is no broker {broker}, only 1, 2, 3"
    calls = [cluster.kill_broker, cluster.start_broker, cluster.pause_broker, cluster.resume_broker, cluster.address]
    for call in calls:
        with pytest.raises(ValueError, match=said):
            call(broker)
    with pytest.raises(ValueError, match=said):
        cluster.slow(broker, 1)
    with pytest.raises(ValueError, match=said):
        cluster.fail_next("Produce", 6, broker=broker)


def test_closed_cluster_leaves_no_thread_and_no_address() -> None:
    before = set(threading.enumerate())
    with Cluster() as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        assert set(threading.enumerate()) - before
    until(lambda: not set(threading.enumerate()) - before)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=30)


@pytest.mark.parametrize("brokers", [0, True, 1.5, "3"])
def test_cluster_without_a_number_of_brokers_is_refused(brokers: Any) -> None:
    for kind in (Cluster, Server):
        with pytest.raises(ValueError, match=f"brokers: expected a whole number of at least 1, got {brokers!r}"):
            kind(brokers)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(4, "abcd") as opened:
        yield opened


@pytest.mark.slow
def test_server_creates_and_moves_topics(server: Server) -> None:
    assert (server.brokers, server.racks) == ((1, 2, 3, 4), {1: "a", 2: "b", 3: "c", 4: "d"})
    server.create_topic("orders", 2, 2, configs={"retention.ms": "1000"})
    assert {server.leader("orders", 0), server.leader("orders", 1)} <= {1, 2, 3, 4}
    target = [broker for broker in server.brokers if broker not in server.replicas("orders", 1)]
    server.move("orders", 1, target)
    assert sorted(server.replicas("orders", 1)) == target
    server.move("orders", 1, target[:1], waits=False)
    until(lambda: server.replicas("orders", 1) == tuple(target[:1]))


@pytest.mark.slow
def test_server_refuses_a_move_to_nowhere(server: Server) -> None:
    server.create_topic("bills")
    with pytest.raises(Exception, match="9"):
        server.move("bills", 0, [9])


@pytest.mark.slow
def test_server_that_does_not_start_says_why() -> None:
    said = "did not start: kedge: --rebalance-delay: expected 0 to 2147483647 ms, got -1"
    with pytest.raises(RuntimeError, match=said), Server(options=["--rebalance-delay", "-1"]):
        pytest.fail("it started")
