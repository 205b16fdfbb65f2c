"""kafka-python, unmodified: its admin client, and its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import kafka
import kafka.errors
import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from kedge import LogReport
from tests.clients.cluster import Withheld

pytestmark = [pytest.mark.slow]

RATE = "leader.replication.throttled.rate"


@pytest.fixture(scope="module")
def client(cluster: Withheld) -> Iterator[Any]:
    opened = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    yield opened
    opened.close()


def test_brokers_and_topics_are_seen(client: Any, cluster: Withheld, topic: str) -> None:
    seen = client.describe_cluster()
    assert seen["cluster_id"] == "kedge-under-test"
    assert {broker["broker_id"]: broker["rack"] for broker in seen["brokers"]} == {1: "a", 2: "b", 3: "c"}
    client.create_topics({topic: {"num_partitions": 2, "replication_factor": 2}}, wait_for_metadata=True)
    with pytest.raises(kafka.errors.TopicAlreadyExistsError, match=f"Topic '{topic}' already exists"):
        client.create_topics([topic])
    with pytest.raises(kafka.errors.InvalidReplicationFactorError, match=r"because only 3 broker\(s\) are registered"):
        client.create_topics({f"{topic}-wide": {"num_partitions": 1, "replication_factor": 9}})
    client.create_topics({f"{topic}-never": {"num_partitions": 1, "replication_factor": 1}}, validate_only=True)
    assert f"{topic}-never" not in client.list_topics()
    client.create_partitions({topic: {"count": 3, "assignments": [[3, 1]]}})
    assert cluster.replicas(topic, 2) == (3, 1)
    with pytest.raises(kafka.errors.InvalidPartitionsError, match=r"3 partition\(s\); 1 would not be an increase"):
        client.create_partitions({topic: 1})
    (found,) = client.describe_topics([topic])
    assert [tuple(each["replica_nodes"]) for each in found["partitions"]] == [
        cluster.replicas(topic, n) for n in range(3)
    ]
    (paged,) = client.describe_topic_partitions([topic])["topics"]
    assert [each["leader_id"] for each in paged["partitions"]] == [cluster.leader(topic, n) for n in range(3)]
    client.delete_topics([UUID(found["topic_id"])])
    assert topic not in client.list_topics()
    with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
        client.delete_topics([topic])


@pytest.mark.parametrize("incremental", [True, False])
def test_settings_are_altered_and_reset(client: Any, named: str, incremental: bool) -> None:
    """It refuses to alter what is not listed: so throttles are listed also where none is set."""

    def own(kind: Any, name: str) -> dict[str, str]:
        found = client.describe_configs([ConfigResource(kind, name)])[kind.name.lower()][name]
        return {setting: entry["value"] for setting, entry in found.items()}

    topic, broker = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
    for kind, name, first, second in (
        (topic, named, "segment.ms", "flush.ms"),
        (broker, "2", RATE, "log.flush.interval.ms"),
    ):
        client.alter_configs([ConfigResource(kind, name, {first: "1000"})], incremental=incremental)
        client.alter_configs([ConfigResource(kind, name, {second: "2000"})], incremental=incremental)
        assert own(kind, name) == {first: "1000", second: "2000"}
        client.alter_configs([ConfigResource(kind, name, {first: "3000"})], True, incremental=incremental)
        with pytest.raises(ValueError, match="Unrecognized configs"):
            client.alter_configs([ConfigResource(kind, name, {"no.such.key": "1"})], incremental=incremental)
        client.reset_configs([ConfigResource(kind, name, {first: None})], incremental=incremental)
        assert own(kind, name) == {second: "2000"}
        client.reset_configs([ConfigResource(kind, name, {})], incremental=incremental)
        assert own(kind, name) == {}
    listed = client.list_config_resources()
    assert named in listed["topic"]
    assert listed["broker"] == ["1", "2", "3"]


def test_a_move_is_begun_seen_running_cancelled_and_done(client: Any, cluster: Withheld, named: str) -> None:
    first, second = kafka.TopicPartition(named, 0), kafka.TopicPartition(named, 1)
    said = client.alter_partition_reassignments({first: [3, 1], second: [9, 2]})
    assert said == {first: None, second: kafka.errors.InvalidReplicationAssignmentError}
    running = {first: {"replicas": [3, 1, 2], "adding_replicas": [3], "removing_replicas": [2]}}
    assert client.list_partition_reassignments() == running
    assert client.list_partition_reassignments([second]) == {}
    assert client.alter_partition_reassignments({first: None}) == {first: None}
    assert client.alter_partition_reassignments({first: None}) == {first: kafka.errors.NoReassignmentInProgressError}
    assert (client.list_partition_reassignments(), cluster.replicas(named)) == ({}, (1, 2))
    client.alter_partition_reassignments({first: [3, 1]})
    cluster.catch_up(named)
    assert (client.list_partition_reassignments(), cluster.replicas(named)) == ({}, (3, 1))


def test_leaders_are_elected(client: Any, cluster: Withheld, named: str) -> None:
    cluster.bounce(1)
    assert cluster.leader(named) == 2
    client.elect_leaders(0, {named: [0]})
    assert cluster.leader(named) == 1
    client.elect_leaders(0, {named: [0]})  # what needs none is no error to it
    told = client.elect_leaders(0, {named: [0]}, raise_errors=False)
    assert [p.error_code for row in told.replica_election_results for p in row.partition_result] == [84]
    with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
        client.elect_leaders(0, {"no-such": [0]})


def test_directories_are_described_and_no_replica_moves_into_another(
    client: Any, cluster: Withheld, named: str
) -> None:
    cluster.controller.report_log(LogReport(named, 0, 1, 0, 0, 100, 90, 5000))
    (told,) = client.describe_log_dirs({named: [0]}, [1])
    (directory,) = told["log_dirs"]
    assert directory["log_dir"] == "/kedge/broker-1"
    (row,) = directory["topics"][0]["partitions"]
    assert (row["partition_size"], row["offset_lag"]) == (5000, 0)
    assert [each["broker"] for each in client.describe_log_dirs([named])] == [1, 2, 3]
    moved = client.alter_replica_log_dirs({(named, 0, 1): "/no/such/dir", (named, 0, 2): "/kedge/broker-2"})
    assert {where.broker_id: error for where, error in moved.items()} == {
        1: kafka.errors.LogDirNotFoundError,
        2: kafka.errors.NoError,
    }


def test_the_command_line_does_all_of_it(cluster: Withheld, topic: str) -> None:
    def run(*arguments: str) -> Any:
        command = [sys.executable, "-W", "ignore", "-m", "kafka.admin", "-b", cluster.bootstrap, "--format", "json"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    assert run("cluster", "describe")["cluster_id"] == "kedge-under-test"
    assert run("cluster", "api-versions")["ApiVersions"] == [0, 4]
    run("topics", "create", "-t", topic)
    run("topics", "create", "-t", f"{topic}-wide", "--num-partitions", "2", "--replication-factor", "2")
    assert len(cluster.replicas(f"{topic}-wide", 1)) == 2
    (first,) = cluster.replicas(topic)
    second, third = {1, 2, 3} - {first}
    run("configs", "alter", "-r", "topic", "-n", topic, "-c", "retention.ms=1000")
    assert run("configs", "describe", "-r", "topic", "-n", topic)["topic"][topic]["retention.ms"]["value"] == "1000"
    run("configs", "alter", "-r", "broker", "-n", "1", "-c", f"{RATE}=1000")
    run("configs", "reset", "-r", "broker", "-n", "1", "-c", RATE)
    run("partitions", "alter-reassignments", "-r", f"{topic}:0={third},{second}")
    (row,) = run("partitions", "list-reassignments").values()
    assert row == {"replicas": [third, second, first], "adding_replicas": [third, second], "removing_replicas": [first]}
    run("partitions", "alter-reassignments", "-r", f"{topic}:0=cancel")
    assert run("partitions", "list-reassignments") == {}
    run("partitions", "create", "-p", f"{topic}:2")
    assert len(run("topics", "describe", "-t", topic)[0]["partitions"]) == 2
    assert len(run("cluster", "describe-log-dirs", "--topic", topic)) == 3
    run("partitions", "elect-leaders", "--election-type", "preferred", "-p", f"{topic}:0")
    run("topics", "delete", "-t", topic)
    assert topic not in run("topics", "list")
