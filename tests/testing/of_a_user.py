"""Tests that a user of the plugin could write. `test_plugin.py` runs them as such."""

from __future__ import annotations

import time
from collections.abc import Callable

import confluent_kafka as ck
import kafka
import pytest

from kedge.testing import Cluster, Server

TIMEOUT_S = 30


def until(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < end_s


def sent(cluster: Cluster | Server, *values: bytes, partition: int = 0) -> list[int]:
    """Where the records are, by kafka-python."""
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    futures = [producer.send("orders", value, partition=partition) for value in values]
    offsets = [future.get(TIMEOUT_S).offset for future in futures]
    producer.close()
    return offsets


@pytest.fixture
def cluster(kedge_cluster: Cluster) -> Cluster:
    kedge_cluster.create_topic("orders", 3)
    return kedge_cluster


def test_kafka_python_retries(cluster: Cluster) -> None:
    fault = cluster.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", count=2)
    assert sent(cluster, b"one") == [0]
    assert fault.left == 0


def test_librdkafka_retries(cluster: Cluster) -> None:
    fault = cluster.fail_next("Produce", ck.KafkaError.NOT_LEADER_FOR_PARTITION, broker=cluster.leader("orders"))
    offsets: list[int] = []
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("orders", b"one", partition=0, on_delivery=lambda _, message: offsets.append(message.offset()))
    assert producer.flush(TIMEOUT_S) == 0
    assert (offsets, fault.left) == ([0], 0)


def test_producer_works_through_the_death_of_the_leader(cluster: Cluster) -> None:
    dead = cluster.leader("orders")
    assert sent(cluster, b"one") == [0]
    assert dead is not None
    cluster.kill_broker(dead)
    assert cluster.leader("orders") != dead
    assert sent(cluster, b"two") == [1]
    cluster.start_broker(dead)
    cluster.move("orders", 0, [dead])
    assert cluster.leader("orders") == dead
    assert sent(cluster, b"three") == [2]


def test_group_goes_on(cluster: Cluster) -> None:
    for partition in range(3):
        sent(cluster, b"a", b"b", partition=partition)
    faults = [
        cluster.fail_next("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        cluster.fail_next("Heartbeat", "NOT_COORDINATOR"),
    ]
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = ck.Consumer({**settings, "heartbeat.interval.ms": 100})
    consumer.subscribe(["orders"])
    seen: set[tuple[int, bytes]] = set()

    def has_seen(count: int) -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            seen.add((message.partition(), message.value()))
        return len(seen) == count

    until(lambda: has_seen(6))
    cluster.kill_broker(cluster.leader("orders", 2) or 0)
    sent(cluster, b"c", partition=2)
    until(lambda: has_seen(7) and not any(fault.left for fault in faults))
    consumer.close()


def test_move_is_seen_by_a_client(cluster: Cluster) -> None:
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    cluster.move("orders", 1, [2])
    (topic,) = admin.describe_topics(["orders"])
    (row,) = [row for row in topic["partitions"] if row["partition_index"] == 1]
    assert (row["leader_id"], row["replica_nodes"]) == (2, [2])
    admin.close()


def test_slow_broker_delays_an_answer(cluster: Cluster) -> None:
    cluster.slow(cluster.leader("orders") or 0, 300)
    began_s = time.monotonic()
    sent(cluster, b"one")
    assert time.monotonic() - began_s >= 0.3


@pytest.mark.kedge(brokers=2)
def test_server_serves(kedge_server: Server) -> None:
    kedge_server.create_topic("orders", 1)
    assert sent(kedge_server, b"one") == [0]
    kedge_server.move("orders", 0, [1])
    assert (kedge_server.leader("orders"), kedge_server.replicas("orders")) == (1, (1,))
