"""Consumer groups: their APIs in every version, the rights on them, and their bounds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kedge import TopicPartition
from kedge.controller.coordinators import partition_of
from kedge.controller.groups.requests import GroupSettings
from kedge.controller.model.values import TOPICS
from kedge.controller.wire import Gateway, Users, allow_all
from kedge.controller.wire.calls import Address
from kedge.controller.wire.security.client import Credentials
from tests.kit.waiting import until
from tests.wire.asking import produce
from tests.wire.living import Living, records
from tests.wire.served import RawClient
from tests.wire.sharing import log_in

PARTITIONS = 4


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": PARTITIONS}) as opened:
        opened.topic("orders", [[1, 2, 3]] * 2)
        until(lambda: has_coordinators(opened))
        yield opened


def has_coordinators(living: Living) -> bool:
    """Whether the coordinator of every partition answers, which begins later than its partition is led."""
    if found(living, "any").error_code:
        return False
    with RawClient(living.address) as client:
        groups = [f"group {number}" for number in range(100)]
        return not any(group.error_code for group in client.ask("DescribeGroups", 4, groups=groups).groups)


def found(living: Living, group: str, version: int = 6, key_type: int = 0) -> Any:
    with RawClient(living.address) as client:
        asked = {"coordinator_keys": [group]} if version >= 4 else {"key": group}
        answer = client.ask("FindCoordinator", version, key_type=key_type, **asked)
        return answer.coordinators[0] if version >= 4 else answer


def join(client: RawClient, group: str, version: int, member_id: str = "", **fields: Any) -> Any:
    named = {
        "group_id": group,
        "session_timeout_ms": 6000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"metadata"}],
        **fields,
    }
    answer = client.ask("JoinGroup", version, **named)
    if answer.error_code == 79:
        return join(client, group, version, answer.member_id, **fields)
    return answer


def sync(client: RawClient, group: str, version: int, joined: Any, **fields: Any) -> Any:
    brought = [{"member_id": joined.member_id, "assignment": b"assignment"}]
    named = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id, **fields}
    return client.ask("SyncGroup", version, assignments=brought, **named)


def commit(client: RawClient, group: str, version: int, offset: int, *, topic: str = "orders", **fields: Any) -> int:
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}
    topics = [{"name": topic, "partitions": [part]}]
    named = {"generation_id_or_member_epoch": -1, "member_id": "", **fields}
    answer = client.ask("OffsetCommit", version, group_id=group, topics=topics, **named)
    return int(answer.topics[0].partitions[0].error_code)


def committed(client: RawClient, group: str, version: int, *, everything: bool = False) -> Any:
    """The row of partition 0, None if there is none."""
    topics = None if everything else [{"name": "orders", "partition_indexes": [0]}]
    row = {"group_id": group, "topics": topics}
    answer = client.ask("OffsetFetch", version, **(row if version < 8 else {"groups": [row]}))
    rows = answer.topics if version < 8 else answer.groups[0].topics
    return rows[0].partitions[0] if rows else None


@pytest.mark.parametrize("version", range(7))
def test_coordinator_leads_the_partition_of_the_group(living: Living, version: int) -> None:
    answer = found(living, "some group", version)
    tp = TopicPartition("__consumer_offsets", partition_of("some group", PARTITIONS))
    leader = leader_of(living, tp)
    assert (answer.error_code, answer.node_id) == (0, leader)
    address = living.gateway.addresses([leader])[leader]
    assert Address(answer.host, answer.port) == address
    with RawClient(address) as client:
        assert commit(client, "some group", 9, 1) == 0
    others = {1, 2, 3} - {leader}
    for other in others:
        with RawClient(living.gateway.addresses([other])[other]) as client:
            assert commit(client, "some group", 9, 2) == 16


def leader_of(living: Living, tp: TopicPartition) -> int:
    partition: Any = living.cluster.controller.query(lambda view: view.partition(tp.topic, tp.partition)).result(30)
    return int(partition.leader)


@pytest.mark.checklist(266)
@pytest.mark.parametrize("version, code", [(1, 53), (2, 53), (3, 42), (6, 42)])
def test_coordinator_of_share_groups_is_refused_by_name(living: Living, version: int, code: int) -> None:
    answer = found(living, "id", version, key_type=2)
    assert answer.error_code == code
    assert "share groups are not supported" in answer.error_message


@pytest.mark.slow
@pytest.mark.parametrize("version", range(10))
def test_member_joins_and_leaves_in_any_version(client: RawClient, version: int) -> None:
    group = f"joined-in-{version}"
    joined = join(client, group, version)
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, 1, joined.member_id)
    assert joined.member_id.startswith("raw-7-")
    assert [(m.member_id, bytes(m.metadata)) for m in joined.members] == [(joined.member_id, b"metadata")]
    synced = sync(client, group, min(version, 5), joined, protocol_type="consumer", protocol_name="range")
    assert (synced.error_code, bytes(synced.assignment)) == (0, b"assignment")
    who = {"group_id": group, "generation_id": 1, "member_id": joined.member_id}
    assert client.ask("Heartbeat", min(version, 4), **who).error_code == 0
    member = {"generation_id_or_member_epoch": 1, "member_id": joined.member_id}
    assert commit(client, group, max(2, version), 3, **member) == 0
    assert left(client, group, min(version, 5), joined.member_id) == 0
    assert left(client, group, min(version, 5), joined.member_id) == 25


def left(client: RawClient, group: str, version: int, member_id: str) -> int:
    if version < 3:
        return int(client.ask("LeaveGroup", version, group_id=group, member_id=member_id).error_code)
    answer = client.ask(
        "LeaveGroup", version, group_id=group, members=[{"member_id": member_id, "group_instance_id": None}]
    )
    assert answer.error_code == 0
    return int(answer.members[0].error_code)


@pytest.mark.slow
def test_waiting_members_stop_no_other_client(living: Living, client: RawClient) -> None:
    joined = join(client, "waiting", 9)
    sync(client, "waiting", 5, joined)
    answers: list[Any] = []

    def wait() -> None:
        with RawClient(living.address) as other:
            answers.append(join(other, "waiting", 9))

    waiting = threading.Thread(target=wait)
    waiting.start()
    who = {"group_id": "waiting", "generation_id": 1, "member_id": joined.member_id}
    until(lambda: client.ask("Heartbeat", 4, **who).error_code == 27)
    assert join(client, "another", 9).generation_id == 1
    assert not answers
    again = join(client, "waiting", 9, joined.member_id)
    waiting.join()
    assert [again.generation_id, answers[0].generation_id, len(again.members)] == [2, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("version", range(2, 10))
def test_offsets_are_committed_and_read_in_any_version(client: RawClient, version: int) -> None:
    group = f"committed-in-{version}"
    assert commit(client, group, version, 17) == 0
    for reading in range(1, 10):
        row = committed(client, group, reading)
        assert (row.committed_offset, row.metadata, row.error_code) == (17, "m", 0)
        if reading >= 2:
            assert committed(client, group, reading, everything=True).committed_offset == 17
    assert committed(client, "nobody", 9).committed_offset == -1
    assert committed(client, "nobody", 9, everything=True) is None


def test_offset_of_a_topic_that_is_not_there_is_refused(client: RawClient) -> None:
    assert commit(client, "unknown-topic", 9, 1, topic="payments") == 3


@pytest.mark.slow
def test_tools_see_and_delete_groups(client: RawClient) -> None:
    joined = join(client, "seen", 9, group_instance_id="instance")
    sync(client, "seen", 5, joined)
    for version in range(6):
        listed = client.ask("ListGroups", version, states_filter=["stable"], types_filter=[])
        rows = {row.group_id: row for row in listed.groups}
        assert rows["seen"].protocol_type == "consumer"
        if version >= 4:
            assert {row.group_state for row in rows.values()} == {"Stable"}
        described = client.ask("DescribeGroups", version, groups=["seen", "nobody"])
        seen, nobody = described.groups
        assert (seen.group_state, seen.protocol_data, nobody.group_state) == ("Stable", "range", "Dead")
        (member,) = seen.members
        assert (member.client_id, member.client_host) == ("raw-7", "/127.0.0.1")
        assert bytes(member.member_assignment) == b"assignment"
    for version in range(3):
        answer = client.ask("DeleteGroups", version, groups_names=["seen", "nobody"])
        assert [(row.group_id, row.error_code) for row in answer.results] == [("seen", 68), ("nobody", 69)]
    leaving = [{"member_id": "", "group_instance_id": "instance"}]
    client.ask("LeaveGroup", 5, group_id="seen", members=leaving)
    answer = client.ask("DeleteGroups", 2, groups_names=["seen"])
    assert answer.results[0].error_code == 0


def test_offsets_are_deleted(client: RawClient) -> None:
    assert commit(client, "forgetful", 9, 4) == 0
    topics = [
        {"name": "orders", "partitions": [{"partition_index": 0}]},
        {"name": "none", "partitions": [{"partition_index": 0}]},
    ]
    answer = client.ask("OffsetDelete", 0, group_id="forgetful", topics=topics)
    assert [(t.name, t.partitions[0].error_code) for t in answer.topics] == [("orders", 0), ("none", 3)]
    assert committed(client, "forgetful", 9).committed_offset == -1


def test_topic_of_groups_is_compacted(living: Living) -> None:
    assert living.cluster.network.settings[TOPICS, "__consumer_offsets"]["cleanup.policy"] == "compact"


def test_clients_write_no_records_of_groups(client: RawClient) -> None:
    assert produce(client, records(b"x"), topic="__consumer_offsets").error_code == 17


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


@pytest.fixture(scope="module")
def restricted() -> Iterator[RawClient]:
    options: Any = {"authorizer": lambda _, *right: right not in DENIED, "groups": {"offsets_partitions": 1}}
    with Living(**options) as living, RawClient(living.address) as opened:
        for name in ("orders", "hidden"):
            living.topic(name, [[1, 2, 3]])
        until(lambda: opened.ask("FindCoordinator", 2, key="open", key_type=0).error_code == 0)
        until(lambda: commit_both(opened, "open") == [0, TOPIC_REFUSED])
        yield opened


def commit_both(restricted: RawClient, group: str) -> list[int]:
    who: dict[str, Any] = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
    return [topic.partitions[0].error_code for topic in restricted.ask("OffsetCommit", 9, **who, topics=BOTH).topics]


WHO: dict[str, Any] = {"group_id": "secret", "generation_id": 1, "member_id": "m"}
TIMEOUTS = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer"}


@pytest.mark.parametrize(
    "api, version, fields",
    [
        ("Heartbeat", 4, WHO),
        ("SyncGroup", 5, {**WHO, "assignments": []}),
        ("LeaveGroup", 5, {"group_id": "secret", "members": []}),
        ("JoinGroup", 9, {"group_id": "secret", "member_id": "", "protocols": [], **TIMEOUTS}),
    ],
)
def test_members_need_read_on_the_group(restricted: RawClient, api: str, version: int, fields: dict[str, Any]) -> None:
    assert restricted.ask(api, version, **fields).error_code == GROUP_REFUSED


def test_commits_need_read_on_group_and_topic(restricted: RawClient) -> None:
    assert commit_both(restricted, "secret") == [GROUP_REFUSED, GROUP_REFUSED]
    assert commit_both(restricted, "open") == [0, TOPIC_REFUSED]


def test_reading_offsets_needs_describe_on_group_and_topic(restricted: RawClient) -> None:
    wanted = [{"name": name, "partition_indexes": [0]} for name in ("orders", "hidden")]
    asked = [{"group_id": "open", "topics": wanted}, {"group_id": "secret", "topics": wanted}]
    opened, secret = restricted.ask("OffsetFetch", 9, groups=asked).groups
    assert {t.name: t.partitions[0].error_code for t in opened.topics} == {"orders": 0, "hidden": TOPIC_REFUSED}
    assert secret.error_code == GROUP_REFUSED


def test_deleting_offsets_needs_delete_on_group_and_read_on_topic(restricted: RawClient) -> None:
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("orders", "hidden")]
    assert restricted.ask("OffsetDelete", 0, group_id="secret", topics=topics).error_code == GROUP_REFUSED
    answer = restricted.ask("OffsetDelete", 0, group_id="open", topics=topics)
    assert {t.name: t.partitions[0].error_code for t in answer.topics} == {"orders": 0, "hidden": TOPIC_REFUSED}


def test_tools_see_and_delete_what_they_may(restricted: RawClient) -> None:
    commit_both(restricted, "open")
    described = restricted.ask("DescribeGroups", 5, groups=["open", "secret"], include_authorized_operations=True)
    assert [group.error_code for group in described.groups] == [0, GROUP_REFUSED]
    assert described.groups[0].authorized_operations == {3, 6, 8}
    deleted = restricted.ask("DeleteGroups", 2, groups_names=["secret"])
    assert [row.error_code for row in deleted.results] == [GROUP_REFUSED]
    listed = restricted.ask("ListGroups", 5, states_filter=[], types_filter=[])
    assert "open" in {row.group_id for row in listed.groups}


def test_coordinator_is_given_to_clients_that_may_describe_the_group(restricted: RawClient) -> None:
    answer = restricted.ask("FindCoordinator", 6, key_type=0, coordinator_keys=["open", "secret"])
    assert {c.key: c.error_code for c in answer.coordinators} == {"open": 0, "secret": GROUP_REFUSED}


NO_ROOM = 15
MEMBER_ID_REQUIRED = 79


@pytest.fixture(scope="module")
def bounded_client() -> Iterator[RawClient]:
    """Of a cluster with 5 partitions, so with several coordinators, which have one bound."""
    groups = {"offsets_partitions": 5, "settings": GroupSettings(held_bytes_max=600_000)}
    with Living(groups=groups) as opened, RawClient(opened.address) as client:
        opened.topic("orders", [[1, 2, 3]] * 2)
        until(lambda: has_coordinators(opened))
        yield client


def ids_without_end(client: RawClient) -> list[int]:
    """The errors of 60 joins by clients that never come back, each to a group of its own."""
    who = {"session_timeout_ms": 1_800_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer"}
    joining = {**who, "member_id": "", "protocols": [{"name": "range", "metadata": b""}]}
    groups = (f"{number}-".ljust(30_000, "x") for number in range(60))
    return [client.ask("JoinGroup", 9, group_id=group, **joining).error_code for group in groups]


@pytest.mark.slow
def test_joins_and_commits_of_invented_groups_are_refused_in_the_end_and_members_go_on(
    bounded_client: RawClient,
) -> None:
    member = join(bounded_client, "there", 9, session_timeout_ms=60_000)
    assert sync(bounded_client, "there", 5, member).error_code == 0
    owner = {"generation_id_or_member_epoch": member.generation_id, "member_id": member.member_id}
    assert commit(bounded_client, "there", 9, 7, **owner) == 0
    errors = ids_without_end(bounded_client)
    assert set(errors[:5]) == {MEMBER_ID_REQUIRED}
    assert set(errors[-20:]) == {NO_ROOM}
    assert commit(bounded_client, "invented".ljust(30_000, "x"), 9, 7) == NO_ROOM
    assert commit(bounded_client, "there", 9, 8, **owner) == 0
    beat = {"group_id": "there", "generation_id": member.generation_id, "member_id": member.member_id}
    assert bounded_client.ask("Heartbeat", 4, **beat).error_code == 0


def test_a_user_who_fills_its_share_of_groups_leaves_room_to_others() -> None:
    names = ("alice", "mallory")
    options: dict[str, Any] = {"users": Users(dict.fromkeys(names, "secret")), "authorizer": allow_all}
    settings = {"offsets_partitions": 1, "settings": GroupSettings(held_bytes_max=200_000)}
    with Living(groups=settings) as living, ExitStack() as stack:
        living.topic("orders", [[1, 2, 3]] * 2)
        until(lambda: has_coordinators(living))
        gateway = stack.enter_context(Gateway(living.cluster.controller, apis=living.apis, **options))
        alice, mallory = (stack.enter_context(RawClient(gateway.address)) for _ in names)
        for client, name in zip((alice, mallory), names, strict=True):
            log_in(client, Credentials(name, "secret"))
        errors = [commit(mallory, f"mine-{number}", 9, 7) for number in range(40)]
        assert (errors[0], errors[-1]) == (0, NO_ROOM)
        assert ids_without_end(mallory)[0] == NO_ROOM
        assert commit(alice, "other", 9, 7) == 0


@pytest.mark.slow
def test_protocols_without_end_are_an_invalid_request(bounded_client: RawClient) -> None:
    protocols = [{"name": f"p{number}", "metadata": b""} for number in range(3000)]
    assert join(bounded_client, "there", 9, protocols=protocols).error_code == 42
