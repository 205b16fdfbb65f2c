"""sarama, unmodified, of the newest version that it knows."""

from __future__ import annotations

import pytest

from kedge import LogReport, NewTopic
from tests.clients.cluster import Withheld
from tests.clients.driven import Driven, Rejected

pytestmark = [pytest.mark.server, pytest.mark.full]

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
PREFERRED = 0
RATE = "leader.replication.throttled.rate"


def settings(sarama: Driven, kind: int, name: str) -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in sarama("DescribeConfig", {"Type": kind, "Name": name})}


def test_brokers_and_topics_are_seen(sarama: Driven, cluster: Withheld, topic: str) -> None:
    assert sarama("Brokers") == {"1": "a", "2": "b", "3": "c"}
    new = {"NumPartitions": 2, "ReplicationFactor": 2, "ConfigEntries": {"segment.ms": "7000"}}
    sarama("CreateTopic", topic, new, False)
    with pytest.raises(Rejected, match=f"Topic '{topic}' already exists"):
        sarama("CreateTopic", topic, new, False)
    assigned = {"NumPartitions": -1, "ReplicationFactor": -1, "ReplicaAssignment": {"0": [3, 1]}}
    sarama("CreateTopic", f"{topic}-a", assigned, False)
    assert cluster.replicas(f"{topic}-a") == (3, 1)
    sarama("CreatePartitions", topic, 3, [[1, 3]], False)
    with pytest.raises(Rejected, match="currently has 3 partition"):
        sarama("CreatePartitions", topic, 1, None, False)
    found = sarama("ListTopics")[topic]
    assert (found["NumPartitions"], found["ReplicationFactor"]) == (3, 2)
    assert {number: tuple(replicas) for number, replicas in found["ReplicaAssignment"].items()} == {
        str(number): cluster.replicas(topic, number) for number in range(3)
    }
    sarama("DeleteTopic", topic)
    assert topic not in sarama("ListTopics")


def test_settings_are_altered_one_by_one_and_all_at_once(sarama: Driven, topic: str) -> None:
    sarama("CreateTopic", topic, {"NumPartitions": 1, "ReplicationFactor": 1}, False)
    for kind, name, setting in ((TOPIC, topic, "retention.ms"), (BROKER, "2", RATE)):
        default = settings(sarama, kind, name)[setting]
        sarama("IncrementalAlterConfig", kind, name, {setting: {"Operation": SET, "Value": "1000"}}, False)
        assert settings(sarama, kind, name)[setting] == "1000"
        sarama("IncrementalAlterConfig", kind, name, {setting: {"Operation": DELETE}}, False)
        assert settings(sarama, kind, name)[setting] == default
        sarama("AlterConfig", kind, name, {setting: "2000"}, False)
        assert settings(sarama, kind, name)[setting] == "2000"
        sarama("AlterConfig", kind, name, {}, False)
        assert settings(sarama, kind, name)[setting] == default


def test_a_list_of_acls_is_refused_with_a_reason(sarama: Driven) -> None:
    """As kafkactl asks for it."""
    anything = dict.fromkeys(("ResourceType", "ResourcePatternTypeFilter", "Operation", "PermissionType"), "any")
    with pytest.raises(Rejected, match=r"Security features are disabled: .*--acls"):
        sarama("ListAcls", anything)


def test_a_move_is_begun_seen_running_and_cancelled(sarama: Driven, cluster: Withheld, topic: str) -> None:
    """It sends all partitions of a topic from 0 on, null for a move to be cancelled."""
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    sarama("AlterPartitionReassignments", topic, [[3, 1]])
    row = sarama("ListPartitionReassignments", topic, [0])[topic]["0"]
    assert (row["Replicas"], row["AddingReplicas"], row["RemovingReplicas"]) == ([3, 1, 2], [3], [2])
    sarama("AlterPartitionReassignments", topic, [None])
    assert (cluster.moving(topic), cluster.replicas(topic)) == ([], (1, 2))
    with pytest.raises(Rejected, match="No partition reassignment is in progress"):
        sarama("AlterPartitionReassignments", topic, [None])


def test_leaders_are_elected(sarama: Driven, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    cluster.bounce(1)
    assert cluster.leader(topic) == 2
    assert sarama("ElectLeaders", PREFERRED, {topic: [0]})[topic]["0"]["ErrorCode"] == 0
    assert cluster.leader(topic) == 1


def test_directories_are_described_broker_by_broker(sarama: Driven, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    cluster.controller.report_log(LogReport(topic, 0, 1, 0, 0, 100, 90, 5000))
    (told,) = sarama("DescribeLogDirs", [1])["1"]
    assert told["Path"] == "/kedge/broker-1"
    sizes = {each["Topic"]: [p["Size"] for p in each["Partitions"]] for each in told["Topics"]}
    assert sizes[topic] == [5000]
