"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): versions, rights and what tools see."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import RawClient
from tests.wire.test_groups import PARTITIONS, has_coordinators

pytestmark = pytest.mark.checklist(285)


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": PARTITIONS}) as opened:
        opened.topic("orders", [[1, 2, 3]] * 2)
        until(lambda: has_coordinators(opened))
        yield opened


@pytest.fixture
def client(living: Living) -> Iterator[RawClient]:
    with RawClient(living.address) as opened:
        yield opened


def beat(client: RawClient, group: str, version: int = 1, **fields: Any) -> Any:
    return client.ask("ConsumerGroupHeartbeat", version, group_id=group, **fields)


def join(client: RawClient, group: str, version: int = 1, **fields: Any) -> Any:
    """`fields`: instead of those of a member with topic orders."""
    named = {
        "member_id": str(uuid.uuid4()) if version else "",
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
        **fields,
    }
    return beat(client, group, version, **named)


def numbers(assignment: Any) -> list[int]:
    return sorted(number for topic in assignment.topic_partitions for number in topic.partitions)


@pytest.mark.parametrize("version", range(2))
def test_member_joins_stays_and_leaves(client: RawClient, version: int) -> None:
    group = f"joined-in-{version}"
    joined = join(client, group, version)
    assert (joined.error_code, joined.member_epoch, joined.heartbeat_interval_ms) == (0, 1, 1000)
    assert str(uuid.UUID(joined.member_id)) == joined.member_id
    assert numbers(joined.assignment) == [0, 1]
    stays = beat(client, group, version, member_id=joined.member_id, member_epoch=1)
    assert (stays.error_code, stays.member_epoch, stays.assignment) == (0, 1, None)
    left = beat(client, group, version, member_id=joined.member_id, member_epoch=-1)
    assert (left.error_code, left.member_epoch) == (0, -1)
    assert beat(client, group, version, member_id=joined.member_id, member_epoch=1).error_code == 25


def test_member_with_a_regular_expression_gets_its_topics(client: RawClient) -> None:
    joined = join(client, "patterns", subscribed_topic_names=None, subscribed_topic_regex="ord.*s")
    assert numbers(joined.assignment) == [0, 1]
    refused = join(client, "patterns", subscribed_topic_names=None, subscribed_topic_regex="(")
    assert refused.error_code == 128
    assert "missing" in refused.error_message


def test_requests_of_no_member_say_what_is_wrong(client: RawClient) -> None:
    refused = join(client, "wrong", member_id="")
    assert (refused.error_code, refused.error_message) == (42, "the member id must not be empty")
    refused = join(client, "wrong", server_assignor="nonsense")
    assert (refused.error_code, refused.error_message) == (
        112,
        "the assignor 'nonsense' is not supported, only uniform, range",
    )


def test_tools_see_the_group_and_its_members(client: RawClient) -> None:
    joined = join(client, "seen", server_assignor="range")
    (group,) = client.ask("ConsumerGroupDescribe", 1, group_ids=["seen"], include_authorized_operations=True).groups
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 1, 1)
    assert (group.assignor_name, group.authorized_operations) == ("range", 1 << 3 | 1 << 6 | 1 << 8)
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.member_type) == (joined.member_id, 1, 1)
    assert (member.client_id, member.client_host) == ("raw-7", "/127.0.0.1")
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("orders", [0, 1])
    assert numbers(member.target_assignment) == [0, 1]
    found = client.ask("ListGroups", 5, states_filter=["stable"], types_filter=["Consumer"]).groups
    (listed,) = [each for each in found if each.group_id == "seen"]
    assert (listed.group_state, listed.group_type) == ("Stable", "consumer")
    assert listed.protocol_type == "consumer"


def test_tools_of_one_protocol_do_not_see_the_other(client: RawClient) -> None:
    join(client, "new")
    (group,) = client.ask("DescribeGroups", 5, groups=["new"]).groups
    assert group.group_state == "Dead"
    (group,) = client.ask("ConsumerGroupDescribe", 1, group_ids=["absent"]).groups
    assert (group.error_code, group.error_message) == (69, "group absent is none of the consumer protocol")


def test_offsets_are_read_and_committed_with_the_epoch(client: RawClient) -> None:
    member_id = join(client, "offsets").member_id
    for epoch, code in ((1, 0), (2, 113)):
        part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        member = {"generation_id_or_member_epoch": epoch, "member_id": member_id}
        topics = [{"name": "orders", "partitions": [part]}]
        answer = client.ask("OffsetCommit", 9, group_id="offsets", topics=topics, **member)
        assert answer.topics[0].partitions[0].error_code == code
        row = {"group_id": "offsets", "member_id": member_id, "member_epoch": epoch, "topics": None}
        assert client.ask("OffsetFetch", 9, groups=[row]).groups[0].error_code == code


DENIED: Final = {("READ", "GROUP:denied"), ("DESCRIBE", "GROUP:denied"), ("DESCRIBE", "TOPIC:secret")}


def test_rights_on_group_and_topics_are_needed() -> None:
    options: Any = {"authorizer": lambda _, *right: right not in DENIED, "groups": {"offsets_partitions": 1}}
    with Living(**options) as living:
        for topic in ("orders", "secret"):
            living.topic(topic, [[1, 2, 3]])
        until(lambda: has_coordinators(living))
        with RawClient(living.address) as client:
            assert join(client, "denied").error_code == 30
            assert join(client, "mine", subscribed_topic_names=["orders", "secret"]).error_code == 29
            joined = join(client, "mine", subscribed_topic_names=None, subscribed_topic_regex="orders|secret")
            assert [len(topic.partitions) for topic in joined.assignment.topic_partitions] == [1]
            (group,) = client.ask("ConsumerGroupDescribe", 1, group_ids=["denied"]).groups
            assert group.error_code == 30


def test_group_with_hidden_topics_is_not_described() -> None:
    hidden: set[tuple[str, str]] = set()
    options: Any = {"authorizer": lambda _, *right: right not in hidden, "groups": {"offsets_partitions": 1}}
    with Living(**options) as living:
        living.topic("orders", [[1, 2, 3]])
        until(lambda: has_coordinators(living))
        with RawClient(living.address) as client:
            assert join(client, "mine").error_code == 0
            hidden.add(("DESCRIBE", "TOPIC:orders"))
            (group,) = client.ask("ConsumerGroupDescribe", 1, group_ids=["mine"]).groups
            assert (group.error_code, group.members) == (29, [])
            assert group.error_message == "the client may not see all topics of the group"
