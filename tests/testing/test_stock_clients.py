"""What stock clients make of the faults that `kedge.testing.Cluster` orders."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kedge.testing import Cluster, Server
from tests.kit.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.checklist(268)]

TIMEOUT_S: Final = 30


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as opened:
        opened.create_topic("orders", 3)
        yield opened


def sent(cluster: Cluster | Server, *values: bytes, partition: int = 0, **options: Any) -> list[Any]:
    """Sent by librdkafka: the errors, None for records that arrived."""
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, **options})
    errors: list[Any] = []
    for value in values:
        producer.produce("orders", value, partition=partition, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    return errors


def read(cluster: Cluster | Server, partition: int = 0) -> list[bytes]:
    """All values of the partition, by kafka-python."""
    tp = kafka.TopicPartition("orders", partition)
    with closing(kafka.KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)) as consumer:
        consumer.assign([tp])
        consumer.seek_to_beginning(tp)
        end, values = consumer.end_offsets([tp])[tp], list[bytes]()
        end_s = time.monotonic() + TIMEOUT_S
        while consumer.position(tp) < end and time.monotonic() < end_s:
            values += [record.value for records in consumer.poll(100).values() for record in records]
    return values


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "KAFKA_STORAGE_ERROR"])
def test_librdkafka_sends_again_after_an_error(cluster: Cluster, error: str, idempotent: bool) -> None:
    """And the record is stored once."""
    fault = cluster.fail_next("Produce", error, count=2)
    assert sent(cluster, b"one", **{"enable.idempotence": idempotent, "retry.backoff.ms": 10}) == [None]
    assert (fault.left, read(cluster)) == (0, [b"one"])


@pytest.mark.parametrize("idempotent", [True, False])
def test_kafka_python_sends_again_after_an_error(cluster: Cluster, idempotent: bool) -> None:
    fault = cluster.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", count=2)
    options = {"bootstrap_servers": cluster.bootstrap_servers, "enable_idempotence": idempotent}
    with closing(kafka.KafkaProducer(**options)) as producer:
        assert producer.send("orders", b"one", partition=0).get(TIMEOUT_S).offset == 0
    assert (fault.left, read(cluster)) == (0, [b"one"])


def test_producers_report_an_error_that_is_final(cluster: Cluster) -> None:
    fault = cluster.fail_next("Produce", "POLICY_VIOLATION", count=2)
    (error,) = sent(cluster, b"one")
    assert error.code() == ck.KafkaError.POLICY_VIOLATION
    with closing(kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
        future = producer.send("orders", b"two", partition=0)
        with pytest.raises(kafka.errors.PolicyViolationError, match="This error was ordered by a test"):
            future.get(TIMEOUT_S)
    assert (fault.left, read(cluster)) == (0, [])


def test_clients_create_a_topic_again_right_after_they_deleted_it(cluster: Cluster) -> None:
    of_librdkafka = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    new = NewTopic("orders", 6, 3)
    with closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as of_kafka_python:
        for _ in range(5):
            of_librdkafka.delete_topics(["orders"], operation_timeout=TIMEOUT_S)["orders"].result(TIMEOUT_S)
            of_librdkafka.create_topics([new])["orders"].result(TIMEOUT_S)
            of_kafka_python.delete_topics(["orders"])
            of_kafka_python.create_topics({"orders": {"num_partitions": 6, "replication_factor": 3}})


def test_clients_ask_for_metadata_again(cluster: Cluster) -> None:
    fault = cluster.fail_next("Metadata", "LEADER_NOT_AVAILABLE", count=2)
    assert sent(cluster, b"one") == [None]
    with closing(kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
        assert producer.send("orders", b"two", partition=0).get(TIMEOUT_S).offset == 1
    assert fault.left == 0


def test_consumer_reads_on_after_errors(cluster: Cluster) -> None:
    sent(cluster, b"one", b"two")
    faults = [
        cluster.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", count=2),
        cluster.fail_next("ListOffsets", "LEADER_NOT_AVAILABLE"),
    ]
    assert read(cluster) == [b"one", b"two"]
    assert [fault.left for fault in faults] == [0, 0]


def test_group_goes_on_after_errors_and_the_death_of_a_leader(cluster: Cluster) -> None:
    """Every record is read, and the offsets are committed."""
    for partition in range(3):
        sent(cluster, b"a", b"b", partition=partition)
    faults = [
        cluster.fail_next("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        cluster.fail_next("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        cluster.fail_next("SyncGroup", "NOT_COORDINATOR"),
        cluster.fail_next("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        cluster.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS"),
        cluster.fail_next("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ]
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = ck.Consumer({**settings, "heartbeat.interval.ms": 200, "auto.commit.interval.ms": 200, "log_level": 0})
    consumer.subscribe(["orders"])
    seen: set[tuple[int, bytes]] = set()

    def has_seen(count: int) -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            seen.add((message.partition(), message.value()))
        return len(seen) >= count

    until(lambda: has_seen(6))
    dead = cluster.leader("orders", 2)
    assert dead is not None
    cluster.kill_broker(dead)
    sent(cluster, b"c", partition=2)
    until(lambda: has_seen(7))
    until(lambda: has_seen(7) and not any(fault.left for fault in faults))
    tps = [ck.TopicPartition("orders", partition) for partition in range(3)]
    until(lambda: has_seen(7) and [tp.offset for tp in consumer.committed(tps, TIMEOUT_S)] == [2, 2, 3])
    consumer.close()


def test_consumer_follows_a_move(cluster: Cluster) -> None:
    sent(cluster, b"one")
    leader = cluster.leader("orders")
    other = next(broker for broker in cluster.brokers if broker != leader)
    options = {"bootstrap_servers": cluster.bootstrap_servers, "auto_offset_reset": "earliest"}
    with closing(kafka.KafkaConsumer("orders", **options)) as consumer:
        values: list[bytes] = []

        def has_read(count: int) -> bool:
            values.extend(record.value for records in consumer.poll(50).values() for record in records)
            return len(values) == count

        until(lambda: has_read(1))
        cluster.move("orders", 0, [other])
        sent(cluster, b"two")
        until(lambda: has_read(2))
    assert values == [b"one", b"two"]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    partition = admin.list_topics("orders", TIMEOUT_S).topics["orders"].partitions[0]
    assert (partition.leader, partition.replicas) == (other, [other])


def test_request_to_a_slow_broker_is_sent_again_and_stored_once(cluster: Cluster) -> None:
    """The answer comes after the client has given up on it."""
    leader, stats, ended = cluster.leader("orders"), list[str](), list[Any]()
    assert leader is not None
    producer = ck.Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "socket.timeout.ms": 1_000,
            "retry.backoff.ms": 10,
            "statistics.interval.ms": 50,
            "stats_cb": stats.append,
            "log_level": 0,
        }
    )

    def send(value: bytes) -> None:
        producer.produce("orders", value, partition=0, on_delivery=lambda error, _: ended.append(error))

    def has_given_up(stats: str) -> bool:
        return any(broker["req_timeouts"] for broker in json.loads(stats)["brokers"].values())

    send(b"one")
    assert producer.flush(TIMEOUT_S) == 0
    cluster.slow(leader, 60_000)
    send(b"two")
    until(lambda: producer.poll(0.05) >= 0 and stats and has_given_up(stats.pop()))
    cluster.slow(leader, 0)
    assert producer.flush(TIMEOUT_S) == 0
    assert ended == [None, None]
    assert read(cluster) == [b"one", b"two"]
