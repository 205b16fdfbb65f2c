"""confluent-kafka (librdkafka), unmodified. It has no requests about moves."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import admin

from kedge import NewTopic
from tests.clients.cluster import Withheld
from tests.kit.waiting import until
from tests.wire.living import TIME_MS, Living

pytestmark = pytest.mark.slow

TIMEOUT_S = 30


@pytest.fixture(scope="module")
def client(cluster: Withheld) -> Any:
    return admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def done(futures: dict[Any, Any]) -> Any:
    """The answer to the one thing that was asked for."""
    (future,) = futures.values()
    return future.result(TIMEOUT_S)


def test_brokers_and_topics_are_seen(client: Any, cluster: Withheld, topic: str) -> None:
    seen = client.describe_cluster().result(TIMEOUT_S)
    assert (seen.cluster_id, [(node.id, node.rack) for node in seen.nodes]) == (
        "kedge-under-test",
        [(1, "a"), (2, "b"), (3, "c")],
    )
    assert seen.controller.id in {1, 2, 3}
    new = admin.NewTopic(topic, num_partitions=2, replication_factor=2, config={"segment.ms": "7000"})
    done(client.create_topics([new], operation_timeout=TIMEOUT_S))
    with pytest.raises(ck.KafkaException, match=f"Topic '{topic}' already exists."):
        done(client.create_topics([new]))
    assigned = admin.NewTopic(f"{topic}-assigned", num_partitions=2, replica_assignment=[[3, 1], [2, 3]])
    done(client.create_topics([assigned]))
    assert [cluster.replicas(f"{topic}-assigned", number) for number in range(2)] == [(3, 1), (2, 3)]
    done(client.create_topics([admin.NewTopic(f"{topic}-never", 1, 1)], validate_only=True))
    assert f"{topic}-never" not in client.list_topics(timeout=TIMEOUT_S).topics
    done(client.create_partitions([admin.NewPartitions(topic, 3)]))
    with pytest.raises(ck.KafkaException, match="currently has 3 partition"):
        done(client.create_partitions([admin.NewPartitions(topic, 1)]))
    found = done(client.describe_topics(ck.TopicCollection([topic])))
    assert [tuple(node.id for node in each.replicas) for each in found.partitions] == [
        cluster.replicas(topic, number) for number in range(3)
    ]
    assert topic in client.list_topics(timeout=TIMEOUT_S).topics
    done(client.delete_topics([topic], operation_timeout=TIMEOUT_S))
    assert topic not in client.list_topics(timeout=TIMEOUT_S).topics
    with pytest.raises(ck.KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        done(client.delete_topics([topic]))


def test_settings_are_altered_and_replaced(client: Any, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(1, 1, configs={"segment.ms": "7000"})}).all().result(30)
    incremental, place = admin.AlterConfigOpType, admin.ResourceType
    named = admin.ConfigResource(place.TOPIC, topic)

    def value(resource: Any, name: str) -> tuple[str, Any]:
        entry = done(client.describe_configs([resource]))[name]
        return entry.value, admin.ConfigSource(entry.source)

    def changed(kind: Any, name: str, setting: str, to: str | None, how: Any = incremental.SET) -> None:
        entry = admin.ConfigEntry(setting, to, incremental_operation=how)
        done(client.incremental_alter_configs([admin.ConfigResource(kind, name, incremental_configs=[entry])]))

    changed(place.TOPIC, topic, "retention.ms", "1000")
    assert value(named, "retention.ms") == ("1000", admin.ConfigSource.DYNAMIC_TOPIC_CONFIG)
    with pytest.raises(ck.KafkaException, match=r"Unknown topic config name: no\.such\.key"):
        changed(place.TOPIC, topic, "no.such.key", "1")
    with pytest.warns(DeprecationWarning, match="alter_configs has been deprecated"):
        done(client.alter_configs([admin.ConfigResource(place.TOPIC, topic, set_config={"flush.ms": "9"})]))
    assert value(named, "flush.ms") == ("9", admin.ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert (
        value(named, "retention.ms") == value(named, "segment.ms") == ("604800000", admin.ConfigSource.DEFAULT_CONFIG)
    )
    rate = "leader.replication.throttled.rate"
    changed(place.BROKER, "3", rate, "1000")
    broker = admin.ConfigResource(place.BROKER, "3")
    assert value(broker, rate) == ("1000", admin.ConfigSource.DYNAMIC_BROKER_CONFIG)
    changed(place.BROKER, "3", rate, None, incremental.DELETE)
    assert value(broker, rate)[1] == admin.ConfigSource.DEFAULT_CONFIG


def test_leaders_are_elected(client: Any, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    cluster.bounce(1)
    assert cluster.leader(topic) == 2
    said = client.elect_leaders(ck.ElectionType.PREFERRED, [ck.TopicPartition(topic, 0)]).result(TIMEOUT_S)
    assert list(said.values()) == [None]
    assert cluster.leader(topic) == 1


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_it_compresses_is_consumed_and_found_by_its_time(codec: str) -> None:
    wanted = [b"%d" % place for place in range(200)]
    read: list[bytes | None] = []
    with Living() as living:
        living.topic("orders", [[1, 2, 3]])
        at = {"bootstrap.servers": living.bootstrap}
        producer = ck.Producer({**at, "compression.type": codec, "enable.idempotence": True, "linger.ms": 100})
        for place, value in enumerate(wanted):
            producer.produce("orders", value, partition=0, timestamp=TIME_MS + 10 * place)
        assert producer.flush(TIMEOUT_S) == 0
        consumer = ck.Consumer({**at, "group.id": "none", "enable.auto.commit": False})
        consumer.assign([ck.TopicPartition("orders", 0, ck.OFFSET_BEGINNING)])

        def is_read() -> bool:
            read.extend(message.value() for message in consumer.consume(200, timeout=1.0) if message.error() is None)
            return len(read) >= len(wanted)

        until(is_read)
        assert read == wanted
        (found,) = consumer.offsets_for_times([ck.TopicPartition("orders", 0, TIME_MS + 1441)], TIMEOUT_S)
        consumer.close()
    assert found.offset == 145
