"""What the authorizer of the controller refuses, and requests about ACLs, which the cluster does not keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge import NewTopic, TopicPartition
from tests.kit.waiting import until
from tests.wire.asking import ask, codes, contents, led, new_topic
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served

BROKERS = {**RACKS, 4: "a"}
MOVE = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": [3, 2, 1]}]}]
PRIVATE = {"remove_throttle": True, "validate_only": False}


@pytest.fixture(scope="module")
def denied() -> set[str]:
    """The operations that no client may do."""
    return set()


@pytest.fixture(scope="module")
def served(denied: set[str]) -> Iterator[Served]:
    """Topic t has two partitions, the second of which moves."""
    with Served(BROKERS, permits=lambda _, operation, __: operation not in denied) as opened:
        opened.controller.admin.create_topics({"t": NewTopic(2, 3)}).all().result(DEADLINE_S)
        with RawClient(opened.address) as client:
            led(client, "t")
        moved = opened.controller.admin.alter_partition_reassignments({TopicPartition("t", 1): tuple(BROKERS)})
        moved.all().result(DEADLINE_S)
        yield opened


@pytest.fixture
def client(served: Served, denied: set[str]) -> Iterator[RawClient]:
    denied.clear()
    with RawClient(served.address) as opened:
        yield opened


@pytest.mark.checklist(23, 48, 54, 91, 211)
@pytest.mark.parametrize(
    "operation, api, version, fields",
    [
        ("ALTER", "AlterPartitionReassignments", 0, {"topics": MOVE}),
        ("ALTER", "AlterPartitionReassignments", 0, {"topics": None}),
        ("ALTER", "ElectLeaders", 2, {"topic_partitions": None, "election_type": 0}),
        ("ALTER", "ElectLeaders", 0, {"topic_partitions": [{"topic": "t", "partitions": [0]}]}),
        ("ALTER", "CreatePartitions", 3, {"topics": [{"name": "t", "count": 9, "assignments": None}]}),
        ("CREATE", "CreateTopics", 7, {"topics": [new_topic("new", 1, 1)]}),
        ("DELETE", "DeleteTopics", 6, {"topics": [{"name": "t", "topic_id": None}]}),
        (
            "ALTER",
            "ReassignPartitions",
            0,
            {
                "topics": [{"topic": "t", "partitions": [{"partition_id": 0, "brokers": [1]}]}],
                "throttle": 9,
                **PRIVATE,
            },
        ),
        (
            "ALTER",
            "AlterInterbrokerThrottledRates",
            1,
            {"brokers": [{"broker_id": 1, "leader_rate": 1, "follower_rate": 1}], **PRIVATE},
        ),
        (
            "ALTER",
            "AlterInterbrokerThrottledReplicas",
            0,
            {
                "topics": [{"topic": "t", "partitions": [{"partition_id": 0, "leaders": None, "followers": None}]}],
                **PRIVATE,
            },
        ),
        (
            "ALTER",
            "DeletePartitions",
            0,
            {"topics": [{"name": "t", "partitions": [1]}], "immediate_delete": True},
        ),
    ],
)
def test_what_may_not_be_done_is_refused_and_nothing_is_written(  # noqa: PLR0917 - a row of the table
    served: Served,
    client: RawClient,
    denied: set[str],
    operation: str,
    api: str,
    version: int,
    fields: dict[str, Any],
) -> None:
    before = contents(served)
    denied.add(operation)
    answer = ask(client, api, version, **fields)
    assert set(codes(answer, version)) == {31}
    assert contents(served) == before


@pytest.mark.checklist(90)
def test_client_without_describe_sees_no_move(client: RawClient, denied: set[str]) -> None:
    assert len(ask(client, "ListPartitionReassignments", 0, topics=None).topics) == 1
    denied.add("DESCRIBE")
    answer = ask(client, "ListPartitionReassignments", 0, topics=None)
    assert (answer.error_code, answer.topics) == (31, [])
    assert answer.error_message == "User:ANONYMOUS may not DESCRIBE CLUSTER"


def test_who_may_not_see_settings_gets_the_topic_without_them(client: RawClient, denied: set[str]) -> None:
    denied.add("DESCRIBE_CONFIGS")
    [topic] = ask(client, "CreateTopics", 7, topics=[new_topic("unseen", 1, 1)]).topics
    assert (topic.error_code, topic.topic_config_error_code, topic.configs) == (0, 29, None)


def test_who_may_see_the_settings_of_some_topics_gets_the_others_without_them() -> None:
    hidden = {("DESCRIBE_CONFIGS", "TOPIC:hidden")}
    with (
        Served(authorizer=lambda _, operation, resource: (operation, resource) not in hidden) as served,
        RawClient(served.address) as client,
    ):
        asked = [new_topic(name, 1, 1) for name in ("hidden", "seen")]
        topics = {topic.name: topic for topic in ask(client, "CreateTopics", 7, topics=asked).topics}
    assert (topics["hidden"].error_code, topics["hidden"].topic_config_error_code, topics["hidden"].configs) == (
        0,
        29,
        None,
    )
    assert topics["seen"].topic_config_error_code == 0
    assert topics["seen"].configs


def test_a_refusal_that_has_no_place_in_the_answer_closes_the_connection(
    served: Served, client: RawClient, denied: set[str]
) -> None:
    """What names nothing takes everything back, or, refused, nothing: silence would look like success."""
    before = contents(served)
    denied.add("ALTER")
    with pytest.raises(AssertionError, match="the gateway hung up"):
        ask(client, "AlterInterbrokerThrottledRates", 1, brokers=[], **PRIVATE)
    with RawClient(served.address) as other, pytest.raises(AssertionError, match="the gateway hung up"):
        ask(other, "ElectLeaders", 0, topic_partitions=None)
    assert contents(served) == before
    until(lambda: served.gateway.counts["unanswered"] == 2)


SECURITY_DISABLED = 54
ANY, TOPIC_TYPE, LITERAL, READ, ALLOW = 1, 2, 3, 3, 3
NO_NAMES = dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter"))
LISTED = {"resource_type_filter": ANY, "pattern_type_filter": ANY, "operation": ANY, "permission_type": ANY, **NO_NAMES}
"""As sarama's `ListAcls(AclFilter{...})`, and so kafkactl, asks for all of them: with null for each name."""
WHO = {"principal": "User:alice", "host": "*", "operation": READ, "permission_type": ALLOW}
CREATED = {"resource_type": TOPIC_TYPE, "resource_name": "orders", "resource_pattern_type": LITERAL, **WHO}
DELETED = {**LISTED, "resource_type_filter": TOPIC_TYPE, "pattern_type_filter": LITERAL}


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_neither_listed_nor_altered_and_the_connection_stays(client: RawClient, version: int) -> None:
    listed = client.ask("DescribeAcls", version, **LISTED)
    assert (listed.error_code, list(listed.resources)) == (SECURITY_DISABLED, [])
    assert "--acls" in listed.error_message
    created = client.ask("CreateAcls", version, creations=[CREATED, CREATED]).results
    assert [row.error_code for row in created] == [SECURITY_DISABLED] * 2
    deleted = client.ask("DeleteAcls", version, filters=[DELETED]).filter_results
    assert [(row.error_code, list(row.matching_acls)) for row in deleted] == [(SECURITY_DISABLED, [])]
