"""Metadata: topics that it creates, and the status of partitions (KIP-694)."""

from __future__ import annotations

from collections.abc import Iterator

import kafka
import pytest
from kafka.protocol.metadata import MetadataResponse as KafkaMetadataResponse

from kedge import DeletePartitions, NewTopic
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.data.creating import with_creation
from kedge.stores import ABSENT, PRESENT, Put
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import RawClient, Served


def permits(_: str, operation: str, resource: str) -> bool:
    return operation != "CREATE" or resource.startswith("TOPIC:own-")


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    with Served(apis=with_creation(APIS), authorizer=permits) as served, RawClient(served.address) as opened:
        yield opened


def asked(client: RawClient, version: int, *names: str, lets: bool = True) -> dict[str, int]:
    """The error of each topic, as far as it is about the topic."""
    topics = [{"name": name} for name in names]
    fields = {"topics": topics, "allow_auto_topic_creation": lets}
    answer = client.ask("Metadata", version, **fields)
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", range(10))
def test_named_topic_is_created(client: RawClient, version: int) -> None:
    name = f"own-{version}"
    assert asked(client, version, name) == {name: 0}
    assert asked(client, 9, name, lets=False) == {name: 0}


@pytest.mark.checklist(264)
def test_client_can_ask_without_creating(client: RawClient) -> None:
    assert asked(client, 9, "own-never", lets=False) == {"own-never": 3}


@pytest.mark.checklist(264)
def test_where_creation_is_off_an_unknown_topic_is_refused_at_once() -> None:
    with Living(creates=False) as living, RawClient(living.address) as client:
        for _ in range(2):
            assert asked(client, 9, "own-never") == {"own-never": 3}
        assert living.cluster.controller.admin.list_topics().result(30) == {}


def test_only_allowed_names_are_created(client: RawClient) -> None:
    names = ("own-bad name", "__consumer_offsets", "not-own")
    assert asked(client, 9, *names) == {"own-bad name": 17, "__consumer_offsets": 3, "not-own": 3}
    assert set(asked(client, 9, *names, lets=False).values()) == {3}


def test_half_of_a_surrogate_pair_is_a_question_mark() -> None:
    """A rack and a config as JSON of another program may have them; as Kafka answers them."""
    with Served() as served, RawClient(served.address) as client:
        served.controller.admin.create_topics({"t": NewTopic(1, 1)}).all().result(30)
        key, rack = "/config/topics/t", '"rack":"r\\udcff"'
        served.store.commit(
            [
                Put("/brokers/ids/9", b'{"version":5,"host":"h","port":1,"endpoints":[],%s}' % rack.encode(), ABSENT),
                Put(key, rb'{"version":1,"config":{"compression.type":"\ud800"}}', PRESENT),
            ],
            timeout_s=5,
        )
        until(lambda: 9 in served.controller.describe().live_brokers)
        racks = {broker.node_id: broker.rack for broker in client.ask("Metadata", 9, topics=[]).brokers}
        assert racks[9] == "r?"
        resource = {"resource_type": 2, "resource_name": "t", "configuration_keys": None}
        (found,) = client.ask("DescribeConfigs", 1, resources=[resource]).results
        assert {entry.name: entry.value for entry in found.configs}["compression.type"] == "?"


@pytest.mark.slow
@pytest.mark.checklist(264)
def test_stock_producer_creates_its_topic() -> None:
    with Living(creates=True) as living:
        producer = kafka.KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
        assert producer.send("own-records", b"x").get(timeout=30).offset == 0
        producer.close()


@pytest.mark.checklist(189)
def test_metadata_tells_the_status_from_version_9_on() -> None:
    with Served() as served, RawClient(served.address) as client:
        admin = served.controller.admin
        admin.create_topics({"orders": NewTopic(3, 3)}).all().result(30)
        admin.delete_partitions({"orders": DeletePartitions(2)}).all().result(30)
        for version in range(14):
            topics = [{"name": "orders", "topic_id": None}]
            answer = client.ask("Metadata", version, topics=topics)
            [topic] = answer.topics
            found = {p.partition_index: p.status_code for p in topic.partitions}
            assert found == {0: 0, 1: 0, 2: -1 if version >= 9 else 0}, version
            client.begin("Metadata", version, topics=topics)
            stock = KafkaMetadataResponse.decode(client.receive(), version=version, header=True)
            known = {p.partition_index: p.unknown_tags for p in stock.topics[0].partitions}
            assert known == {0: None, 1: None, 2: {"_20000": b"\xff"} if version >= 9 else None}, version
