"""What clients may do with groups: Kafka's rights on groups and topics, refused with Kafka's errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import RawClient

GROUP_REFUSED = 30
TOPIC_REFUSED = 29
DENIED = {
    ("READ", "GROUP:secret"),
    ("DESCRIBE", "GROUP:secret"),
    ("DELETE", "GROUP:secret"),
    ("READ", "TOPIC:hidden"),
    ("DESCRIBE", "TOPIC:hidden"),
    ("DESCRIBE", "CLUSTER"),
}
BOTH = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for name in ("orders", "hidden")]


def permits(_: str, operation: str, resource: str) -> bool:
    return (operation, resource) not in DENIED


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    with Living(authorizer=permits, groups={"offsets_partitions": 1}) as living, RawClient(living.address) as opened:
        for name in ("orders", "hidden"):
            living.topic(name, [[1, 2, 3]])
        until(lambda: opened.ask("FindCoordinator", 2, key="open", key_type=0).error_code == 0)
        until(lambda: commit(opened, "open") == [0, TOPIC_REFUSED])
        yield opened


def commit(client: RawClient, group: str) -> list[int]:
    who: dict[str, Any] = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
    return [topic.partitions[0].error_code for topic in client.ask("OffsetCommit", 9, **who, topics=BOTH).topics]


def test_members_need_read_on_the_group(client: RawClient) -> None:
    who: dict[str, Any] = {"group_id": "secret", "generation_id": 1, "member_id": "m"}
    assert client.ask("Heartbeat", 4, **who).error_code == GROUP_REFUSED
    assert client.ask("SyncGroup", 5, **who, assignments=[]).error_code == GROUP_REFUSED
    leaving = {"group_id": "secret", "members": []}
    assert client.ask("LeaveGroup", 5, **leaving).error_code == GROUP_REFUSED
    timeouts = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer"}
    joining = {"group_id": "secret", "member_id": "", "protocols": [], **timeouts}
    assert client.ask("JoinGroup", 9, **joining).error_code == GROUP_REFUSED


def test_commits_need_read_on_group_and_topic(client: RawClient) -> None:
    assert commit(client, "secret") == [GROUP_REFUSED, GROUP_REFUSED]
    assert commit(client, "open") == [0, TOPIC_REFUSED]


def test_reading_offsets_needs_describe_on_group_and_topic(client: RawClient) -> None:
    wanted = [{"name": name, "partition_indexes": [0]} for name in ("orders", "hidden")]
    asked = [{"group_id": "open", "topics": wanted}, {"group_id": "secret", "topics": wanted}]
    opened, secret = client.ask("OffsetFetch", 9, groups=asked).groups
    assert {t.name: t.partitions[0].error_code for t in opened.topics} == {"orders": 0, "hidden": TOPIC_REFUSED}
    assert secret.error_code == GROUP_REFUSED


def test_deleting_offsets_needs_delete_on_group_and_read_on_topic(client: RawClient) -> None:
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("orders", "hidden")]
    assert client.ask("OffsetDelete", 0, group_id="secret", topics=topics).error_code == GROUP_REFUSED
    answer = client.ask("OffsetDelete", 0, group_id="open", topics=topics)
    assert {t.name: t.partitions[0].error_code for t in answer.topics} == {"orders": 0, "hidden": TOPIC_REFUSED}


def test_tools_see_and_delete_what_they_may(client: RawClient) -> None:
    commit(client, "open")
    described = client.ask("DescribeGroups", 5, groups=["open", "secret"], include_authorized_operations=True)
    assert [group.error_code for group in described.groups] == [0, GROUP_REFUSED]
    assert described.groups[0].authorized_operations == {3, 6, 8}
    deleted = client.ask("DeleteGroups", 2, groups_names=["secret"])
    assert [row.error_code for row in deleted.results] == [GROUP_REFUSED]
    listed = client.ask("ListGroups", 5, states_filter=[], types_filter=[])
    assert "open" in {row.group_id for row in listed.groups}


def test_coordinator_is_given_to_clients_that_may_describe_the_group(client: RawClient) -> None:
    answer = client.ask("FindCoordinator", 6, key_type=0, coordinator_keys=["open", "secret"])
    assert {c.key: c.error_code for c in answer.coordinators} == {"open": 0, "secret": GROUP_REFUSED}
