"""Tests that a user of the plugin could write. `test_plugin.py` runs them as such."""

from __future__ import annotations

import kafka
import pytest

from kedge.testing import Cluster, Server

TIMEOUT_S = 30


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


@pytest.mark.kedge(brokers=2)
def test_server_serves(kedge_server: Server) -> None:
    kedge_server.create_topic("orders", 1)
    assert sent(kedge_server, b"one") == [0]
    kedge_server.move("orders", 0, [1])
    assert (kedge_server.leader("orders"), kedge_server.replicas("orders")) == (1, (1,))
