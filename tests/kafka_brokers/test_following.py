"""Stock Kafka 3.9.1 brokers in ZooKeeper mode follow `kedge controller`."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

import confluent_kafka
import kafka
import pytest
from kafka.admin import NewPartitions
from kafka.admin import NewTopic as KafkaTopic
from kafka.structs import TopicPartition as Tp

from servers import LocalZooKeeper
from stores import MetadataStore
from tests.kafka_brokers.cluster import BROKERS, WAIT_S, FollowingCluster, following, until

pytestmark = [pytest.mark.server, pytest.mark.slow]

RECORDS = 60


@pytest.fixture(scope="module")
def cluster(zookeeper_server: LocalZooKeeper) -> Iterator[FollowingCluster]:
    with following(zookeeper_server) as found:
        found.start_controller(101)
        found.start_controller(102)
        found.start_brokers()
        with contextlib.closing(found.store()) as store:
            until("the internal topics are there", lambda: has_internal(found, store))
        yield found


@pytest.fixture(scope="module")
def store(cluster: FollowingCluster) -> Iterator[MetadataStore]:
    with contextlib.closing(cluster.store()) as found:
        yield found


@pytest.fixture(scope="module")
def producer(cluster: FollowingCluster) -> Iterator[kafka.KafkaProducer]:
    made = kafka.KafkaProducer(bootstrap_servers=cluster.servers.split(","), acks="all", retries=1000)
    yield made
    made.close()


@pytest.fixture
def topic(admin: kafka.KafkaAdminClient) -> str:
    """A new topic of six partitions with three replicas each."""
    name = f"t{uuid.uuid4().hex[:8]}"
    admin.create_topics([KafkaTopic(name, 6, 3)])
    return name


@pytest.fixture(scope="module")
def admin(cluster: FollowingCluster) -> Iterator[kafka.KafkaAdminClient]:
    """An admin client that begins at the brokers."""
    made = kafka.KafkaAdminClient(bootstrap_servers=cluster.servers.split(","))
    yield made
    made.close()


def has_internal(cluster: FollowingCluster, store: MetadataStore) -> bool:
    names = ("__consumer_offsets", "__transaction_state")
    topics = [cluster.read(store, f"/brokers/topics/{name}") for name in names]
    return all(topics) and all(len(cluster.states(store, name)) == 5 for name in names)


def produce(producer: kafka.KafkaProducer, topic: str, count: int = RECORDS) -> set[bytes]:
    """Records that were acknowledged by all in-sync replicas."""
    values = [f"{uuid.uuid4().hex}".encode() for _ in range(count)]
    for sent in [producer.send(topic, value=value) for value in values]:
        sent.get(WAIT_S)
    return set(values)


def consume(cluster: FollowingCluster, topic: str, expected: set[bytes], **options: str) -> list[bytes]:
    """What a group reads from the beginning, until it has all that is expected."""
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=cluster.servers.split(","),
        group_id=uuid.uuid4().hex,
        auto_offset_reset="earliest",
        **options,
    )
    found: list[bytes] = []

    def has_all() -> bool:
        found.extend(record.value for records in consumer.poll(500).values() for record in records)
        return expected <= set(found)

    try:
        until("a group has read every acknowledged record", has_all)
        consumer.commit()
    finally:
        consumer.close()
    return found


def are_in_sync(cluster: FollowingCluster, store: MetadataStore, topic: str) -> bool:
    return all(sorted(state["isr"]) == sorted(BROKERS) for state in cluster.states(store, topic))


def test_groups_read_what_was_acknowledged(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, topic: str
) -> None:
    sent = produce(producer, topic)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
    assert are_in_sync(cluster, store, topic)


def test_internal_topics_have_replicas_on_brokers_alone(cluster: FollowingCluster, store: MetadataStore) -> None:
    for name in ("__consumer_offsets", "__transaction_state"):
        replicas = cluster.read(store, f"/brokers/topics/{name}")["partitions"].values()
        assert {broker for each in replicas for broker in each} == set(BROKERS)


def test_a_killed_broker_loses_its_leads_and_comes_back(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, topic: str
) -> None:
    sent = produce(producer, topic)
    cluster.brokers[2].kill()
    until("broker 2 leads nothing", lambda: all(s["leader"] != 2 for s in cluster.states(store, topic)))
    sent |= produce(producer, topic)
    cluster.revive(2)
    until("broker 2 is in sync again", lambda: are_in_sync(cluster, store, topic))
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)


def test_a_move_copies_the_data(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, admin: kafka.KafkaAdminClient
) -> None:
    name = f"m{uuid.uuid4().hex[:8]}"
    admin.create_topics([KafkaTopic(name, replica_assignments={0: [1], 1: [1]})])
    sent = produce(producer, name)
    admin.alter_partition_reassignments({Tp(name, 0): [2, 3], Tp(name, 1): [3, 2]})
    until("both moved", lambda: [sorted(s["isr"]) for s in cluster.states(store, name)] == [[2, 3], [2, 3]])
    assert sorted(consume(cluster, name, sent)) == sorted(sent)


def test_a_transaction_is_committed_or_aborted(cluster: FollowingCluster, topic: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.servers, "transactional.id": topic})
    producer.init_transactions(WAIT_S)
    for value, ends in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        ends(WAIT_S)
    assert consume(cluster, topic, {b"kept"}, isolation_level="read_committed") == [b"kept"]


def test_partitions_are_added_and_a_topic_is_deleted(
    cluster: FollowingCluster, store: MetadataStore, admin: kafka.KafkaAdminClient, topic: str
) -> None:
    admin.create_partitions({topic: NewPartitions(8)})
    until("the new partitions have leaders", lambda: len(cluster.states(store, topic)) == 8)
    until("all are in sync", lambda: are_in_sync(cluster, store, topic))
    admin.delete_topics([topic])
    until("the topic is gone", lambda: cluster.read(store, f"/brokers/topics/{topic}") is None)
    logs = [path for b in BROKERS for path in (cluster.folder / f"broker-{b}").glob(f"*/{topic}-*[0-9]")]
    assert logs == []


def test_a_broker_that_shuts_down_hands_its_leads_over_first(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, admin: kafka.KafkaAdminClient
) -> None:
    """Controlled shutdown, and after its return the preferred election gives its leads back."""
    name = f"s{uuid.uuid4().hex[:8]}"
    admin.create_topics([KafkaTopic(name, replica_assignments={0: [3, 1, 2]})])
    sent = produce(producer, name)
    cluster.brokers[3].stop()
    assert cluster.states(store, name)[0]["leader"] != 3
    sent |= produce(producer, name)
    cluster.revive(3)
    until("broker 3 is in sync again", lambda: are_in_sync(cluster, store, name))
    admin.elect_leaders(0, {name: [0]})  # preferred
    until("broker 3 leads again", lambda: cluster.states(store, name)[0]["leader"] == 3)
    assert sorted(consume(cluster, name, sent)) == sorted(sent)


def test_all_brokers_are_killed_and_come_back(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, topic: str
) -> None:
    sent = produce(producer, topic)
    for process in cluster.brokers.values():
        process.kill()
    cluster.revive(*BROKERS)
    until("all are in sync again", lambda: are_in_sync(cluster, store, topic))
    sent |= produce(producer, topic)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)


def test_the_stand_by_goes_on_with_moves_when_the_controller_is_killed(
    cluster: FollowingCluster, store: MetadataStore, producer: kafka.KafkaProducer, topic: str
) -> None:
    leader = cluster.read(store, "/controller")["brokerid"]
    sent = produce(producer, topic)
    cluster.controllers[leader].kill()
    until(
        "the other controller leads", lambda: cluster.read(store, "/controller")["brokerid"] not in {leader, *BROKERS}
    )
    sent |= produce(producer, topic)
    cluster.start_controller(leader)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
