"""Directories of brokers, as clients see them: what was reported, of the broker of the address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge import LogReport, NewTopic, TopicPartition
from tests.wire.served import RawClient, Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Topic orders is on 1 and 2, bills on 2 alone, on its way to 3; 3 never reported anything."""
    with Served() as opened:
        new = {"orders": NewTopic(replica_assignments={0: (1, 2)}), "bills": NewTopic(replica_assignments={0: (2,)})}
        opened.controller.admin.create_topics(new).all().result(30)
        opened.controller.admin.alter_partition_reassignments({TopicPartition("bills", 0): [3]}).all().result(30)
        opened.controller.report_log(
            [
                LogReport("orders", 0, 1, 0, 0, 100, 90, 5000),
                LogReport("orders", 0, 2, 0, 0, 60, 50, 3000),
                LogReport("bills", 0, 2, 0, 0, 7, 7),
            ]
        )
        yield opened


@pytest.fixture
def addresses(served: Served) -> dict[int, Any]:
    with RawClient(served.address) as client:
        answer = client.ask("DescribeCluster", 1)
    return {broker.broker_id: broker for broker in answer.brokers}


def described(address: Any, version: int = 4, topics: Any = None) -> dict[str, Any]:
    """Of each directory (topic, partition) -> size and lag."""
    with RawClient(address) as client:
        answer = client.ask("DescribeLogDirs", version, topics=topics)
    assert version < 3 or answer.error_code == 0
    found = {}
    for one in answer.results:
        assert one.error_code == 0
        assert version < 5 or not one.is_cordoned
        assert version < 4 or (one.total_bytes, one.usable_bytes) == (-1, -1)
        rows = [(topic.name, p) for topic in one.topics for p in topic.partitions]
        assert not any(p.is_future_key for _, p in rows)
        found[one.log_dir] = {(name, p.partition_index): (p.partition_size, p.offset_lag) for name, p in rows}
    return found


@pytest.mark.checklist(75)
@pytest.mark.parametrize("version", range(1, 6))
def test_a_broker_tells_of_its_own_directory_at_its_own_address(addresses: dict[int, Any], version: int) -> None:
    """The lag is what lacks of the leader's high watermark; what was not reported is -1."""
    assert described(addresses[1], version) == {"/kedge/broker-1": {("orders", 0): (5000, 0)}}
    assert described(addresses[2], version) == {"/kedge/broker-2": {("orders", 0): (3000, 30), ("bills", 0): (-1, 0)}}
    assert described(addresses[3], version) == {"/kedge/broker-3": {("bills", 0): (-1, -1)}}


def test_the_common_address_tells_of_all_brokers(served: Served, addresses: dict[int, Any]) -> None:
    every = {path: found for address in addresses.values() for path, found in described(address).items()}
    assert described(served.address) == every
    assert len(every) == 3


def test_partitions_are_chosen_by_name(addresses: dict[int, Any]) -> None:
    wanted = [{"topic": "bills", "partitions": [0, 9]}, {"topic": "none", "partitions": [0]}]
    assert described(addresses[2], topics=wanted) == {"/kedge/broker-2": {("bills", 0): (-1, 0)}}
    assert described(addresses[2], topics=[]) == {"/kedge/broker-2": {}}


@pytest.mark.parametrize("version", range(1, 3))
def test_a_replica_moves_into_no_other_directory(addresses: dict[int, Any], version: int) -> None:
    def moved(path: str) -> dict[int, int]:
        dirs = [{"path": path, "topics": [{"name": "orders", "partitions": [0, 1, 2]}]}]
        with RawClient(addresses[1]) as client:
            answer = client.ask("AlterReplicaLogDirs", version, dirs=dirs)
        (topic,) = answer.results
        assert topic.topic_name == "orders"
        return {p.partition_index: p.error_code for p in topic.partitions}

    assert moved("/no/such/dir") == {0: 57, 1: 57, 2: 57}
    assert moved("/kedge/broker-2") == {0: 57, 1: 57, 2: 57}  # that is another broker's
    assert moved("/kedge/broker-1") == {0: 0, 1: 9, 2: 9}  # it lies there; those do not lie on this broker
