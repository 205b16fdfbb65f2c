"""Tools and admin clients on groups of the consumer protocol (KIP-848), and what clients get for wrong requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import confluent_kafka as ck
import pytest
from confluent_kafka import admin

from kedge.testing import Cluster
from tests.clients import driven
from tests.clients.consuming import SETTINGS, Member, Programs
from tests.clients.driven import JavaTools
from tests.clients.machine import KAFKA_VERSIONS
from tests.clients.producing import fill
from tests.clients.test_groups import offsets_of
from tests.kit.waiting import until
from tests.wire.asking import fetch
from tests.wire.living import Living
from tests.wire.served import RawClient
from tests.wire.test_groups import join, sync

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

PARTITIONS: Final = 4
RECORDS: Final = 40
TIMEOUT_S: Final = 30


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """Topic orders, with ten records in each of its partitions."""
    with Living(groups={"offsets_partitions": 1, "settings": SETTINGS}) as opened:
        fill(opened, PARTITIONS, RECORDS)
        yield opened


@pytest.fixture(scope="module")
def programs(living: Living) -> Iterator[Programs]:
    with Programs(living.bootstrap) as opened:
        yield opened


def two(programs: Programs, group: str) -> list[Member]:
    """Members that have read all records, the first one a static one."""
    members = [
        programs.open("librdkafka", group, ["orders"], group_instance_id="instance"),
        programs.open("librdkafka", group, ["orders"]),
    ]
    until(lambda: [len(member.partitions) for member in members] == [2, 2])
    until(lambda: sum(len(member.records) for member in members) >= RECORDS)
    return members


def rows(said: str, group: str) -> list[list[str]]:
    """The words of each row about the group."""
    return sorted(line.split() for line in said.splitlines() if line.startswith(group))


# --- Java


def test_consumer_groups_describes_resets_and_deletes(java: JavaTools, living: Living, programs: Programs) -> None:
    """The texts are those that it prints of Kafka 4.3.1."""
    group = f"tool-{java.version}"
    members = two(programs, group)

    def groups(*words: str) -> str:
        said = java("groups", *words, at=living.bootstrap)
        return said.done + said.err

    assert offsets_of(groups("--describe", "--group", group), group) == {(n, 10) for n in range(PARTITIONS)}
    shown = rows(groups("--describe", "--group", group, "--members", "--verbose"), group)
    assert sorted(row[2] for row in shown if "instance" in row) == ["instance"]
    assert {"orders:0,1", "orders:2,3", "(0,1)", "(2,3)"} >= {word for row in shown for word in row if "," in word}
    (state,) = rows(groups("--describe", "--group", group, "--state"), group)
    assert state[-3:] == ["uniform", "Stable", "2"]
    assert [group, "Consumer"] in rows(groups("--list", "--type", "consumer"), group)
    assert rows(groups("--list", "--type", "classic"), group) == []
    reset = ("--reset-offsets", "--group", group, "--topic", "orders", "--to-offset", "3", "--execute")
    assert f"Assignments can only be reset if the group '{group}' is inactive" in groups(*reset)
    assert "GroupNotEmptyException" in groups("--delete", "--group", group)
    for member in members:
        member.close()
    until(lambda: "has no active members" in groups("--describe", "--group", group))
    groups(*reset)
    groups("--delete-offsets", "--group", group, "--topic", "orders:0")
    assert offsets_of(groups("--describe", "--group", group), group) == {(n, 3) for n in range(1, PARTITIONS)}
    assert "successful" in groups("--delete", "--group", group)
    assert rows(groups("--list"), group) == []


@pytest.mark.parametrize("java", KAFKA_VERSIONS[1:], indirect=True)
def test_groups_tool_lists_by_type(java: JavaTools, living: Living, programs: Programs) -> None:
    """Kafka 3.9 has no such tool."""
    members = two(programs, "listed")
    for words in ((), ("--consumer",), ("--group-type", "consumer")):
        said = java("all-groups", "--list", *words, at=living.bootstrap).done
        assert rows(said, "listed") == [["listed", "Consumer", "consumer"]]
    said = java("all-groups", "--list", "--group-type", "classic", at=living.bootstrap).out
    assert rows(said, "listed") == []
    for member in members:
        member.close()


@pytest.mark.parametrize("java", KAFKA_VERSIONS[1:], indirect=True)
def test_kafkas_dump_reads_the_records(java: JavaTools, living: Living, programs: Programs, tmp_path: Path) -> None:
    """A classic member, a static one and one with a regular expression leave a record of every kind."""
    settings: dict[str, Any] = {"group_protocol": "classic", "partition_assignment_strategy": "range"}
    members = [programs.open("librdkafka", "dumped", ["orders"], **settings)]
    until(lambda: members[0].partitions)
    members.append(programs.open("librdkafka", "dumped", ["orders"], group_instance_id="instance"))
    members.append(programs.open("librdkafka", "dumped", "^orders.*"))
    until(lambda: all(member.partitions for member in members))
    segment = tmp_path / f"{0:020}.log"
    with RawClient(living.address) as client:
        segment.write_bytes(fetch(client, 0, topic="__consumer_offsets").records)
    said = java("dump-log", "--offsets-decoder", "--files", str(segment)).done
    found = [line.split(" key: ")[1] for line in said.splitlines() if '"dumped"' in line]
    parts = [line.split(" payload: ") for line in found]
    kinds = {json.loads(key)["type"] for key, value in parts if value.startswith("{")}
    assert kinds == {"1", "2", "3", "5", "6", "7", "8", "16"}
    assert not [line for line in said.splitlines() if "could not decode" in line.lower()]
    for member in members:
        member.close()


# --- others


def test_librdkafka_admin_describes_members(living: Living, programs: Programs) -> None:
    members = two(programs, "admin")
    client: Any = admin.AdminClient({"bootstrap.servers": living.bootstrap})
    seen = client.describe_consumer_groups(["admin"], include_authorized_operations=True)["admin"].result(TIMEOUT_S)
    assert (seen.state.name, seen.type.name, seen.partition_assignor) == ("STABLE", "CONSUMER", "uniform")
    assert {operation.name for operation in seen.authorized_operations} >= {"READ", "DESCRIBE", "DELETE"}
    for each in ("assignment", "target_assignment"):
        assert [len(getattr(member, each).topic_partitions) for member in seen.members] == [2, 2]
    assert {member.group_instance_id for member in seen.members} == {"instance", None}
    wanted = {"types": {ck.ConsumerGroupType.CONSUMER}, "states": {ck.ConsumerGroupState.STABLE}}
    assert "admin" in {each.group_id for each in client.list_consumer_groups(**wanted).result(TIMEOUT_S).valid}
    for member in members:
        member.close()


def test_kadm_describes_members(living: Living, programs: Programs) -> None:
    members = two(programs, "kadm")
    with driven.in_go("kadm", living.bootstrap) as kadm:
        seen = kadm("DescribeConsumerGroups", "kadm")["kadm"]
    assert (seen["Err"], seen["State"], seen["AssignorName"]) == (None, "Stable", "uniform")
    assert seen["Epoch"] == seen["AssignmentEpoch"]
    shown = [(each["MemberEpoch"], each["MemberType"], each["SubscribedTopics"]) for each in seen["Members"]]
    assert shown == [(seen["Epoch"], 1, ["orders"])] * 2
    assert [each["Assignment"] for each in seen["Members"]] == [each["TargetAssignment"] for each in seen["Members"]]
    for member in members:
        member.close()


# --- wrong requests

ASSIGNORS: Final = ("librdkafka", "java-3.9.1", "java-4.3.1")


@pytest.mark.parametrize("client", ASSIGNORS)
def test_unknown_assignor_ends_the_consumer(programs: Programs, client: str) -> None:
    member = programs.open(client, f"unknown-{client}", ["orders"], group_remote_assignor="unknown")
    until(lambda: member.failures)
    assert "UnsupportedAssignor" in member.failures[0] or "assignor or its version range" in member.failures[0]
    assert member.records == []


@pytest.mark.parametrize("client", ASSIGNORS)
def test_range_assigns_partitions_in_a_row(programs: Programs, client: str) -> None:
    members = [programs.open(client, f"range-{client}", ["orders"], group_remote_assignor="range") for _ in range(2)]
    until(lambda: [len(member.partitions) for member in members] == [2, 2])
    assert sorted(sorted(number for _, number in member.partitions) for member in members) == [[0, 1], [2, 3]]
    for member in members:
        member.close()


def test_consumer_does_not_join_a_group_of_connect(living: Living, programs: Programs) -> None:
    """As in Kafka, the group does not exist for it. It joins when the worker is gone."""
    with RawClient(living.address) as worker:
        protocols = [{"name": "default", "metadata": b"worker"}]
        joined = join(worker, "connect", 9, protocol_type="connect", protocols=protocols)
        sync(worker, "connect", 5, joined, protocol_type="connect", protocol_name="default")
        member = programs.open("librdkafka", "connect", ["orders"])
        until(lambda: member.failures)
        assert "group id does not exist" in member.failures[0].lower()
        worker.ask("LeaveGroup", 5, group_id="connect", members=[{"member_id": joined.member_id}])
    after = programs.open("librdkafka", "connect", ["orders"])
    until(lambda: len(after.partitions) == PARTITIONS)
    after.close()


USERS: Final = {"admin": "password", "reader": "password"}
RIGHTS: Final = [
    {"principal": "User:admin", "operations": ["ALL"], "resources": ["CLUSTER", "TOPIC:*", "GROUP:*"]},
    {"principal": "User:reader", "operations": ["READ"], "resources": ["GROUP:readers", "TOPIC:orders"]},
    {"principal": "User:reader", "operations": ["DESCRIBE"], "resources": ["GROUP:seen"]},
]


def login(cluster: Cluster, name: str) -> dict[str, Any]:
    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    sasl |= {"sasl.username": name, "sasl.password": USERS[name]}
    return {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, **sasl}


def consumer(cluster: Cluster, group: str, wanted: str) -> ck.Consumer:
    settings = {"group.id": group, "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    made = ck.Consumer({**login(cluster, "reader"), **settings})
    made.subscribe([wanted])
    return made


@pytest.fixture(scope="module")
def guarded() -> Iterator[Cluster]:
    """Topics orders and orders-hidden with a record each, of which the reader may see the first one."""
    with Cluster(users=USERS, acls=RIGHTS) as cluster:
        producer = ck.Producer(login(cluster, "admin"))
        for topic in ("orders", "orders-hidden"):
            cluster.create_topic(topic)
            producer.produce(topic, topic)
        assert producer.flush(TIMEOUT_S) == 0
        yield cluster


@pytest.mark.parametrize(
    "asked, error",
    [
        (("other", "orders"), "Group authorization failed"),
        (("seen", "orders"), "Group authorization failed"),
        (("readers", "orders-hidden"), "Topic authorization failed"),
    ],
    ids=["group", "group that is only seen", "topic"],
)
def test_consumer_without_rights_gets_the_error(guarded: Cluster, asked: tuple[str, str], error: str) -> None:
    made = consumer(guarded, *asked)
    message = made.poll(TIMEOUT_S)
    assert message is not None
    assert error in message.error().str()
    made.close()


def test_regular_expression_finds_only_visible_topics(guarded: Cluster) -> None:
    made = consumer(guarded, "readers", "^orders.*")
    message = made.poll(TIMEOUT_S)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"orders")
    assert {tp.topic for tp in made.assignment()} == {"orders"}
    made.close()
