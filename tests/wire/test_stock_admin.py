"""kafka-python's and librdkafka's admin clients, as they come, against a gateway."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from kafka.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

import controller
from tests.wire.asking import ask, in_sync, led, new_topic
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served, until

BROKERS = {**RACKS, 4: "a", 5: "b", 6: "c"}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(BROKERS) as opened:
        yield opened


@pytest.fixture
def client(served: Served) -> Iterator[kafka.KafkaAdminClient]:
    opened = kafka.KafkaAdminClient(bootstrap_servers=served.bootstrap)
    yield opened
    opened.close()


def create(served: Served, topic: str, assignments: dict[int, list[int]]) -> None:
    """kafka-python takes no assignments, unless the server is one of Kafka's since 2.4, by how it serves consumers."""
    with RawClient(served.address) as client:
        ask(client, "CreateTopics", 7, topics=[new_topic(topic, assignments=assignments)])
        led(client, topic)


def assigned(served: Served, topic: str) -> dict[int, list[int]]:
    """The replicas of its partitions, when they have leaders."""
    with RawClient(served.address) as client:
        return {partition: row.replica_nodes for partition, row in led(client, topic).items()}


def test_kafka_python_creates_grows_and_deletes_topics(served: Served, client: kafka.KafkaAdminClient) -> None:
    client.create_topics({"kp": {"num_partitions": 3, "replication_factor": 3, "configs": {"retention.ms": "1000"}}})
    create(served, "kp-assigned", {0: [4, 5], 1: [6, 1]})
    client.create_topics({"kp-never": {"num_partitions": 1, "replication_factor": 1}}, validate_only=True)
    assert {"kp", "kp-assigned"} <= set(client.list_topics())
    assert "kp-never" not in client.list_topics()
    for replicas in assigned(served, "kp").values():
        assert {BROKERS[broker] for broker in replicas} == {"a", "b", "c"}
    client.create_partitions({"kp": 5, "kp-assigned": {"count": 3, "assignments": [[2, 3]]}})
    assert assigned(served, "kp-assigned") == {0: [4, 5], 1: [6, 1], 2: [2, 3]}
    [told] = client.describe_topics(["kp"])
    assert len(told["partitions"]) == 5
    [kept_id] = [t["topic_id"] for t in client.describe_topics(["kp-assigned"])]
    client.delete_topics(["kp"])
    client.delete_topics([UUID(kept_id)])
    assert not {"kp", "kp-assigned"} & set(client.list_topics())


def test_kafka_python_is_told_in_kafkas_words_what_cannot_be(client: kafka.KafkaAdminClient) -> None:
    client.create_topics({"kp-bad": {"num_partitions": 2, "replication_factor": 1}})
    with pytest.raises(TopicAlreadyExistsError, match="Topic 'kp-bad' already exists"):
        client.create_topics({"kp-bad": {"num_partitions": 2, "replication_factor": 1}})
    with pytest.raises(InvalidReplicationFactorError, match=r"because only 6 broker\(s\) are registered"):
        client.create_topics({"kp-wide": {"num_partitions": 1, "replication_factor": 9}})
    with pytest.raises(InvalidPartitionsError, match=r"currently has 2 partition\(s\); 1 would not be an increase"):
        client.create_partitions({"kp-bad": 1})
    with pytest.raises(UnknownTopicOrPartitionError):
        client.delete_topics(["kp-no-such"])


def test_kafka_python_moves_lists_cancels_and_elects(served: Served, client: kafka.KafkaAdminClient) -> None:
    create(served, "kp-moved", {0: [1, 2, 3], 1: [1, 2, 3]})
    one, other = (kafka.TopicPartition("kp-moved", p) for p in (0, 1))
    answered = client.alter_partition_reassignments({one: [4, 5, 6], other: [1, 2, 4]})
    assert answered == {one: None, other: None}
    assert client.list_partition_reassignments() == {
        one: {"replicas": [4, 5, 6, 1, 2, 3], "adding_replicas": [4, 5, 6], "removing_replicas": [1, 2, 3]},
        other: {"replicas": [1, 2, 4, 3], "adding_replicas": [4], "removing_replicas": [3]},
    }
    assert set(client.list_partition_reassignments([other])) == {other}
    assert client.alter_partition_reassignments({other: None}) == {other: None}
    in_sync(served, controller.TopicPartition("kp-moved", 0), [1, 2, 3, 4, 5, 6])
    assert client.list_partition_reassignments() == {}
    assert assigned(served, "kp-moved") == {0: [4, 5, 6], 1: [1, 2, 3]}
    refused = client.alter_partition_reassignments({one: [77]})
    assert refused[one].errno == 39
    told = client.elect_leaders(0, {"kp-moved": [0, 1]}, raise_errors=False)
    assert {p.error_code for row in told.replica_election_results for p in row.partition_result} == {84}


@pytest.mark.slow
def test_kafka_pythons_command_line_works(served: Served) -> None:
    """As it is run from a shell: two processes, over TCP."""

    def run(*arguments: str) -> str:
        command = (sys.executable, "-m", "kafka.admin", "-b", served.bootstrap, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("topics", "create", "-t", "kp-shell", "--num-partitions", "2", "--replication-factor", "3")
    assert "kp-shell" in run("topics", "list")
    run("topics", "delete", "-t", "kp-shell")
    assert "kp-shell" not in run("topics", "list")


# --- librdkafka


@pytest.fixture
def confluent(served: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": served.bootstrap})


def done(futures: dict[str, Any]) -> dict[str, Any]:
    """The error's name per topic, None where there is none."""
    told = {}
    for name, future in futures.items():
        try:
            told[name] = future.result(DEADLINE_S)
        except confluent_kafka.KafkaException as error:
            told[name] = (error.args[0].name(), error.args[0].str())
    return told


def test_librdkafka_creates_grows_and_deletes_topics(served: Served, confluent: AdminClient) -> None:
    new = [
        NewTopic("cf", 2, 3, config={"retention.ms": "1000"}),
        NewTopic("cf-assigned", num_partitions=2, replica_assignment=[[4, 5], [6, 1]]),
    ]
    assert done(confluent.create_topics(new)) == {"cf": None, "cf-assigned": None}
    assert done(confluent.create_topics([NewTopic("cf-never", 1, 1)], validate_only=True)) == {"cf-never": None}
    assert assigned(served, "cf-assigned") == {0: [4, 5], 1: [6, 1]}
    assert done(confluent.create_partitions([NewPartitions("cf", 4)])) == {"cf": None}
    topics = confluent.list_topics(timeout=DEADLINE_S).topics
    assert len(topics["cf"].partitions) == 4
    assert "cf-never" not in topics
    assert done(confluent.delete_topics(["cf", "cf-assigned"])) == {"cf": None, "cf-assigned": None}
    until(lambda: not {"cf", "cf-assigned"} & set(confluent.list_topics(timeout=DEADLINE_S).topics))


def test_librdkafka_is_told_in_kafkas_words_what_cannot_be(confluent: AdminClient) -> None:
    done(confluent.create_topics([NewTopic("cf-bad", 2, 1)]))
    assert done(confluent.create_topics([NewTopic("cf-bad", 2, 1)])) == {
        "cf-bad": ("TOPIC_ALREADY_EXISTS", "Topic 'cf-bad' already exists.")
    }
    assert done(confluent.create_partitions([NewPartitions("cf-bad", 1)])) == {
        "cf-bad": ("INVALID_PARTITIONS", "The topic cf-bad currently has 2 partition(s); 1 would not be an increase.")
    }
    assert done(confluent.delete_topics(["cf-no-such"]))["cf-no-such"][0] == "UNKNOWN_TOPIC_OR_PART"
