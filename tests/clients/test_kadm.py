"""kadm of franz-go, unmodified. It begins with a version of ApiVersions that is not offered, and asks each broker."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import LogReport, NewTopic
from tests.clients.cluster import Withheld
from tests.clients.driven import Driven, Rejected

pytestmark = [pytest.mark.server, pytest.mark.full]

SET, DELETE = 0, 1
PREFERRED = 0


def only(name: str, *partitions: int) -> dict[str, Any]:
    """A set of partitions as Go's maps have it."""
    return {name: {str(number): {} for number in partitions}}


def settings(described: list[dict[str, Any]]) -> dict[str, dict[str, tuple[str, str]]]:
    """Of each resource, the value of each setting and where it comes from."""
    return {one["Name"]: {c["Key"]: (c["Value"], c["Source"]) for c in one["Configs"]} for one in described}


def test_brokers_and_topics_are_seen(kadm: Driven, cluster: Withheld, topic: str) -> None:
    seen = kadm("BrokerMetadata")
    assert seen["Cluster"] == "kedge-under-test"
    assert {broker["NodeID"]: broker["Rack"] for broker in seen["Brokers"]} == {1: "a", 2: "b", 3: "c"}
    made = kadm("CreateTopic", 2, 2, {"segment.ms": "7000"}, topic)
    assert (made["Err"], made["NumPartitions"], made["ReplicationFactor"]) == (None, 2, 2)
    assert made["Configs"]["segment.ms"]["Value"] == "7000"
    with pytest.raises(Rejected, match="TOPIC_ALREADY_EXISTS"):
        kadm("CreateTopic", 2, 2, {}, topic)
    assert kadm("UpdatePartitions", 3, topic)[topic]["Err"] is None
    fewer = kadm("UpdatePartitions", 1, topic)[topic]
    assert fewer["Err"]["Message"] == "INVALID_PARTITIONS"
    assert fewer["ErrMessage"] == f"The topic {topic} currently has 3 partition(s); 1 would not be an increase."
    found = kadm("ListTopics", topic)[topic]["Partitions"]
    assert {number: tuple(each["Replicas"]) for number, each in found.items()} == {
        str(number): cluster.replicas(topic, number) for number in range(3)
    }
    gone = kadm("DeleteTopics", topic, "none")
    assert (gone[topic]["Err"], gone["none"]["Err"]["Message"]) == (None, "UNKNOWN_TOPIC_OR_PARTITION")


def test_settings_are_altered_one_by_one(kadm: Driven, topic: str) -> None:
    kadm("CreateTopic", 1, 1, {"segment.ms": "7000"}, topic)
    changes = [{"Op": SET, "Name": "retention.ms", "Value": "1000"}, {"Op": DELETE, "Name": "segment.ms"}]
    assert kadm("AlterTopicConfigs", changes, topic) == [{"Name": topic, "Err": None, "ErrMessage": ""}]
    found = settings(kadm("DescribeTopicConfigs", topic))[topic]
    assert found["retention.ms"] == ("1000", "DYNAMIC_TOPIC_CONFIG")
    assert found["segment.ms"] == ("604800000", "DEFAULT_CONFIG")
    (wrong,) = kadm("AlterTopicConfigs", [{"Op": SET, "Name": "retention.ms", "Value": "soon"}], topic)
    assert wrong["Err"]["Message"] == "INVALID_CONFIG"
    assert wrong["ErrMessage"] == "Invalid value soon for configuration retention.ms: Not a number of type LONG"
    rate = "leader.replication.throttled.rate"
    kadm("AlterBrokerConfigs", [{"Op": SET, "Name": rate, "Value": "1000"}], 3)
    brokers = settings(kadm("DescribeBrokerConfigs", 2, 3))
    assert brokers["3"][rate] == ("1000", "DYNAMIC_BROKER_CONFIG")
    assert brokers["2"][rate][1] == "DEFAULT_CONFIG"
    kadm("AlterBrokerConfigs", [{"Op": DELETE, "Name": rate}], 3)
    assert settings(kadm("DescribeBrokerConfigs", 3))["3"][rate][1] == "DEFAULT_CONFIG"


def test_a_move_is_begun_seen_running_and_cancelled(kadm: Driven, cluster: Withheld, topic: str) -> None:
    new = NewTopic(replica_assignments={0: (1, 2), 1: (2, 3)})
    cluster.controller.admin.create_topics({topic: new}).all().result(30)
    said = kadm("AlterPartitionAssignments", {topic: {"0": [3, 1], "1": [9, 3]}})[topic]
    assert said["0"]["Err"] is None
    assert said["1"]["Err"]["Message"] == "INVALID_REPLICA_ASSIGNMENT"
    listed = kadm("ListPartitionReassignments", only(topic, 0, 1))[topic]
    assert {number: (r["Replicas"], r["AddingReplicas"], r["RemovingReplicas"]) for number, r in listed.items()} == {
        "0": ([3, 1, 2], [3], [2])
    }
    assert kadm("AlterPartitionAssignments", {topic: {"0": None}})[topic]["0"]["Err"] is None
    assert (cluster.moving(topic), cluster.replicas(topic)) == ([], (1, 2))
    again = kadm("AlterPartitionAssignments", {topic: {"0": None}})[topic]["0"]
    assert again["Err"]["Message"] == "NO_REASSIGNMENT_IN_PROGRESS"


def test_leaders_are_elected(kadm: Driven, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    needless = kadm("ElectLeaders", PREFERRED, only(topic, 0))[topic]["0"]
    assert needless["Err"]["Message"] == "ELECTION_NOT_NEEDED"
    cluster.bounce(1)
    assert cluster.leader(topic) == 2
    assert kadm("ElectLeaders", PREFERRED, only(topic, 0))[topic]["0"]["Err"] is None
    assert cluster.leader(topic) == 1


def test_directories_are_described_broker_by_broker(kadm: Driven, cluster: Withheld, topic: str) -> None:
    cluster.controller.admin.create_topics({topic: NewTopic(replica_assignments={0: (1, 2)})}).all().result(30)
    cluster.controller.report_log(LogReport(topic, 0, 1, 0, 0, 100, 90, 5000))
    told = kadm("DescribeAllLogDirs", only(topic, 0))
    found = {broker: told[broker][f"/kedge/broker-{broker}"]["Topics"] for broker in told}
    assert {broker: (t[topic]["0"]["Size"], t[topic]["0"]["OffsetLag"]) for broker, t in found.items() if t} == {
        "1": (5000, 0),
        "2": (-1, -1),
    }
