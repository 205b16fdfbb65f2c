"""Stock clients of the tests: librdkafka's producer and consumer, kafka-python's admin client for single calls.

Clients that live while a broker dies are librdkafka's: kafka-python leaves the socket of a refused connection open.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator

import confluent_kafka
import kafka

from kedge.controller.cli.kafka import Endpoint, connected
from tests.kafka.conftest import are_known
from tests.kafka_brokers.cluster import WAIT_S, FollowingCluster, until

RECORDS = 60


def produce(
    cluster: FollowingCluster, topic: str, count: int = RECORDS, partitions: Iterable[int] = (-1,), size: int = 32
) -> set[bytes]:
    """So many records in each of the partitions (-1: any), each acknowledged by all in-sync replicas."""
    sent: set[bytes] = set()
    failed: list[object] = []

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        value = message.value()
        if error is not None or value is None:
            failed.append(error)
        else:
            sent.add(bytes(value))

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.servers,
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": int(WAIT_S * 1000),
            "batch.num.messages": 1,  # a throttled fetch takes one batch at least
            # A broker takes any sequence from a producer that is new to it. So it could refuse the first batches, while
            # it does not lead a new topic yet, and take a later one; librdkafka then reports all of them as written.
            "max.in.flight.requests.per.connection": 1,
        }
    )
    for partition in partitions:
        for _ in range(count):
            value = uuid.uuid4().hex.encode().ljust(size, b".")
            producer.produce(topic, value, partition=partition, on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0
    assert failed == []
    return sent


def consume(cluster: FollowingCluster, topic: str, expected: set[bytes], **options: str) -> list[bytes]:
    """What a group reads from the beginning, until it has all that is expected."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.servers,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **options,
        }
    )
    found: list[bytes] = []

    def has_all() -> bool:
        for message in consumer.consume(500, timeout=0.5):
            value = message.value()
            if message.error() is None and value is not None:
                found.append(bytes(value))
        return expected <= set(found)

    try:
        consumer.subscribe([topic])
        until("a group has read every acknowledged record", has_all)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


@contextlib.contextmanager
def admin_of(cluster: FollowingCluster) -> Iterator[kafka.KafkaAdminClient]:
    """An admin client that begins at the brokers, for a call or two while all of them live."""
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.servers.split(","))) as made:
        yield made


def create_topic(cluster: FollowingCluster, new: kafka.admin.NewTopic) -> None:
    """The topic, once every broker knows its leaders: a command may ask any of them."""
    with admin_of(cluster) as admin:
        admin.create_topics([new])
    partitions = len(new.replica_assignments or ()) or new.num_partitions
    with connected(Endpoint(cluster.servers)) as asked:
        until(f"every broker knows {new.name}", lambda: are_known(asked, [new.name], partitions))
