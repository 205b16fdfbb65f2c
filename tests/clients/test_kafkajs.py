"""kafkajs, unmodified. It cannot cancel a move: it takes no null for replicas, and an empty list is no cancel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cluster import Withheld
from tests.clients.driven import Driven, Rejected

pytestmark = [pytest.mark.server, pytest.mark.full]

TOPIC, BROKER = 2, 4


def assigned(topic: str, *replicas: tuple[int, ...]) -> dict[str, Any]:
    rows = [{"partition": number, "replicas": list(lies)} for number, lies in enumerate(replicas)]
    return {"topic": topic, "replicaAssignment": rows}


def test_brokers_and_topics_are_seen(kafkajs: Driven, cluster: Withheld, topic: str) -> None:
    seen = kafkajs("describeCluster")
    assert (seen["clusterId"], [broker["nodeId"] for broker in seen["brokers"]]) == ("kedge-under-test", [1, 2, 3])
    assert seen["controller"] in {1, 2, 3}
    new = {"topic": topic, "numPartitions": 2, "replicationFactor": 2}
    assert kafkajs("createTopics", {"topics": [new], "waitForLeaders": True}) is True
    assert kafkajs("createTopics", {"topics": [new]}) is False  # so it tells of one that is there
    assert topic in kafkajs("listTopics")
    kafkajs("createPartitions", {"topicPartitions": [{"topic": topic, "count": 3}]})
    with pytest.raises(Rejected, match="INVALID_PARTITIONS"):
        kafkajs("createPartitions", {"topicPartitions": [{"topic": topic, "count": 1}]})
    (found,) = kafkajs("fetchTopicMetadata", {"topics": [topic]})["topics"]
    for each in found["partitions"]:
        assert tuple(each["replicas"]) == cluster.replicas(topic, each["partitionId"])
        assert each["leader"] == each["replicas"][0]
    assert len(found["partitions"]) == 3
    kafkajs("deleteTopics", {"topics": [topic]})
    assert topic not in kafkajs("listTopics")


def test_settings_are_replaced(kafkajs: Driven, topic: str) -> None:
    """It knows the legacy request alone."""
    kafkajs(
        "createTopics",
        {"topics": [{**assigned(topic, (1,)), "configEntries": [{"name": "segment.ms", "value": "7000"}]}]},
    )

    def described(kind: int, name: str, *settings: str) -> dict[str, tuple[str, int]]:
        wanted = {"resources": [{"type": kind, "name": name, "configNames": settings}], "includeSynonyms": True}
        (found,) = kafkajs("describeConfigs", wanted)["resources"]
        return {one["configName"]: (one["configValue"], one["configSource"]) for one in found["configEntries"]}

    def alter(kind: int, name: str, value: str, setting: str = "retention.ms") -> None:
        change = {"type": kind, "name": name, "configEntries": [{"name": setting, "value": value}]}
        kafkajs("alterConfigs", {"validateOnly": False, "resources": [change]})

    assert described(TOPIC, topic, "segment.ms") == {"segment.ms": ("7000", 1)}
    alter(TOPIC, topic, "1000")
    with pytest.raises(Rejected, match="INVALID_CONFIG"):
        alter(TOPIC, topic, "soon")
    found = described(TOPIC, topic, "retention.ms", "segment.ms")
    assert found == {"retention.ms": ("1000", 1), "segment.ms": ("604800000", 5)}
    rate = "leader.replication.throttled.rate"
    alter(BROKER, "2", "1000", rate)
    assert described(BROKER, "2", rate) == {rate: ("1000", 2)}
    kafkajs("alterConfigs", {"validateOnly": False, "resources": [{"type": BROKER, "name": "2", "configEntries": []}]})
    assert described(BROKER, "2", rate) == {rate: (str(2**63 - 1), 5)}


def test_a_move_is_begun_and_seen_running(kafkajs: Driven, cluster: Withheld, topic: str) -> None:
    kafkajs("createTopics", {"topics": [assigned(topic, (1, 2), (2, 3))]})

    def move(*replicas: int) -> None:
        rows = [{"partition": 0, "replicas": list(replicas)}]
        kafkajs("alterPartitionReassignments", {"topics": [{"topic": topic, "partitionAssignment": rows}]})

    move(3, 1)
    wanted = {"topics": [{"topic": topic, "partitions": [0, 1]}]}
    assert kafkajs("listPartitionReassignments", wanted)["topics"] == [
        {
            "name": topic,
            "partitions": [
                {"partition": 0, "replicas": [3, 1, 2], "addingReplicas": [3], "removingReplicas": [2]},
            ],
        }
    ]
    for wrong in ((), (9,)):
        with pytest.raises(Rejected, match="INVALID_REPLICA_ASSIGNMENT"):
            move(*wrong)
    assert cluster.moving(topic) == [0]
    cluster.catch_up(topic)
    assert kafkajs("listPartitionReassignments", {})["topics"] == []
    assert cluster.replicas(topic) == (3, 1)
