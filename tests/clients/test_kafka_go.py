"""kafka-go, unmodified. It sends an empty list where others send null, so that it cannot cancel a move."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import NewTopic
from tests.clients.cluster import Withheld
from tests.clients.driven import Driven
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.full]

TOPIC, BROKER = "topic", "broker"
SET = 0
RATE = "leader.replication.throttled.rate"


def settings(kafka_go: Driven, kind: str, name: str) -> dict[str, str]:
    asked = {"Resources": [{"ResourceType": kind, "ResourceName": name}]}
    (found,) = kafka_go("DescribeConfigs", asked)["Resources"]
    assert found["Error"] is None
    return {each["ConfigName"]: each["ConfigValue"] for each in found["ConfigEntries"]}


def test_brokers_and_topics_are_seen(kafka_go: Driven, cluster: Withheld, topic: str) -> None:
    new = {"Topic": topic, "NumPartitions": 2, "ReplicationFactor": 2}
    assigned = [{"Partition": 0, "Replicas": [3, 1]}]
    other = {"Topic": f"{topic}-a", "NumPartitions": -1, "ReplicationFactor": -1, "ReplicaAssignments": assigned}
    assert kafka_go("CreateTopics", {"Topics": [new, other]})["Errors"] == {topic: None, f"{topic}-a": None}
    assert cluster.replicas(f"{topic}-a") == (3, 1)
    assert f"Topic '{topic}' already exists" in kafka_go("CreateTopics", {"Topics": [new]})["Errors"][topic]
    assert kafka_go("CreatePartitions", {"Topics": [{"Name": topic, "Count": 3}]})["Errors"] == {topic: None}

    def seen() -> Any:
        return kafka_go("Metadata", {"Topics": [topic]})

    until(lambda: len(seen()["Topics"][0]["Partitions"]) == 3)  # it caches answers for a while
    assert seen()["ClusterID"] == "kedge-under-test"
    assert {broker["ID"]: broker["Rack"] for broker in seen()["Brokers"]} == {1: "a", 2: "b", 3: "c"}
    assert [tuple(broker["ID"] for broker in each["Replicas"]) for each in seen()["Topics"][0]["Partitions"]] == [
        cluster.replicas(topic, number) for number in range(3)
    ]
    gone = kafka_go("DeleteTopics", {"Topics": [topic, "none"]})["Errors"]
    assert gone[topic] is None
    assert "Unknown Topic Or Partition" in gone["none"]


@pytest.mark.parametrize("incremental", [True, False])
def test_settings_are_altered(kafka_go: Driven, topic: str, incremental: bool) -> None:
    kafka_go("CreateTopics", {"Topics": [{"Topic": topic, "NumPartitions": 1, "ReplicationFactor": 1}]})
    for kind, name, setting in ((TOPIC, topic, "retention.ms"), (BROKER, "3", RATE)):
        change = {"Name": setting, "Value": "1000", "ConfigOperation": SET}
        asked = {"ResourceType": kind, "ResourceName": name, "Configs": [change]}
        assert settings(kafka_go, kind, name)[setting] != "1000"
        said = kafka_go("IncrementalAlterConfigs" if incremental else "AlterConfigs", {"Resources": [asked]})
        assert [each["Error"] for each in said["Resources"]] == [None] if incremental else said["Errors"]
        assert settings(kafka_go, kind, name)[setting] == "1000"
        kafka_go("AlterConfigs", {"Resources": [{"ResourceType": kind, "ResourceName": name, "Configs": []}]})
        assert settings(kafka_go, kind, name)[setting] != "1000"


def test_a_move_is_begun_and_seen_running_and_an_empty_list_does_not_cancel_it(
    kafka_go: Driven, cluster: Withheld, topic: str
) -> None:
    new = NewTopic(replica_assignments={0: (1, 2), 1: (2, 3)})
    cluster.controller.admin.create_topics({topic: new}).all().result(30)

    def altered(**targets: list[int]) -> list[Any]:
        rows = [{"PartitionID": int(name[1:]), "BrokerIDs": brokers} for name, brokers in targets.items()]
        said = kafka_go("AlterPartitionReassignments", {"Topic": topic, "Assignments": rows, "Timeout": 10**10})
        assert said["Error"] is None
        return [each["Error"] for each in said["PartitionResults"]]

    begun, refused = altered(p0=[3, 1], p1=[9, 3])
    assert begun is None
    assert "Invalid Replica Assignment" in refused
    listing = {"Topics": {topic: {"PartitionIndexes": [0, 1]}}, "Timeout": 10**10}
    (row,) = kafka_go("ListPartitionReassignments", listing)["Topics"][topic]["Partitions"]
    assert row == {"PartitionIndex": 0, "Replicas": [3, 1, 2], "AddingReplicas": [3], "RemovingReplicas": [2]}
    assert "Invalid Replica Assignment" in altered(p0=[])[0]
    assert cluster.moving(topic) == [0]
    cluster.catch_up(topic)
    assert cluster.replicas(topic) == (3, 1)


def test_leaders_are_elected(kafka_go: Driven, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    cluster.bounce(1)
    assert cluster.leader(topic) == 2
    said = kafka_go("ElectLeaders", {"Topic": topic, "Partitions": [0], "Timeout": 10**10})
    assert [each["Error"] for each in said["PartitionResults"]] == [None]
    assert cluster.leader(topic) == 1
