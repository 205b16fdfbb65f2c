"""Each API, from a client that may do nothing, one who may describe, one who may alter."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import attrs
import pytest

from kedge import NewTopic
from kedge.controller.wire import Acls, Users, allow_all
from kedge.controller.wire.apis import versions
from kedge.controller.wire.calls import OPEN, Api, Call
from kedge.controller.wire.data import with_logs
from kedge.controller.wire.data.logs import Logs
from kedge.controller.wire.protocol import Answer, Request
from kedge.controller.wire.reading import as_uuid
from kedge.controller.wire.remote import with_remote_brokers
from kedge.controller.wire.security import files
from kedge.controller.wire.security.acls import OPERATIONS
from kedge.controller.wire.security.files import BrokenFile
from tests.wire.asking import codes
from tests.wire.requests_made import frame
from tests.wire.served import RawClient, Served

EVERYWHERE = ["CLUSTER", "TOPIC:*"]
ALTERING = ["ALTER", "ALTER_CONFIGS", "CREATE", "DELETE"]
RIGHTS = {
    "version": 1,
    "super_users": ["User:root"],
    "acls": [
        {"principal": "User:describes", "operations": ["DESCRIBE", "DESCRIBE_CONFIGS"], "resources": EVERYWHERE},
        {"principal": "User:alters", "operations": ALTERING, "resources": EVERYWHERE},
        {"principal": "User:follows", "operations": ["CLUSTER_ACTION"], "resources": ["CLUSTER", "BROKER:*"]},
        {"principal": "User:orders", "operations": ["ALL"], "resources": ["TOPIC:orders", "TOPIC:own-*"]},
        {"principal": "User:orders", "operations": ["WRITE"], "resources": ["TOPIC:own-x"], "permission": "DENY"},
    ],
}
NAMES = ("nobody", "describes", "alters", "root")
# Kafka's number: who is served, besides root.
ALLOWED = {
    **dict.fromkeys((2, 23, 29, 32, 35, 46, 48, 50, 74), ("describes", "alters")),
    **dict.fromkeys((19, 20, 21, 30, 31, 33, 34, 37, 43, 44, 45, 49, 20000, 20001, 20002, 20003), ("alters",)),
    **dict.fromkeys((0, 1, 7, 22, 56, 62, 63), ()),
}
REFUSALS = {29, 31}
FETCH = 1
# Those of which no handler is called here.
EVERY_API = with_logs(cast("Logs", None), with_remote_brokers())


class Asked:
    """Answers nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, _: Call, request: Request) -> Answer:
        self.requests.append(request)
        return {}


@pytest.fixture(scope="module")
def rights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rights") / "acls.json"
    file.write_text(json.dumps(RIGHTS))
    return file


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked()


@pytest.fixture(scope="module")
def apis(asked: Asked) -> dict[int, Api]:
    """What is offered, with everything that asks for a right in the place of its handler."""
    return versions.with_apis(EVERY_API, [attrs.evolve(EVERY_API[key], handler=asked) for key in ALLOWED])


@pytest.fixture(scope="module")
def served(rights: Path, apis: dict[int, Api]) -> Iterator[Served]:
    users = Users(dict.fromkeys((*NAMES, "follows", "orders"), "secret"))
    with Served(users=users, authorizer=Acls.from_file(rights), apis=apis) as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(1, 1), "bills": NewTopic(1, 1)}).all().result(30)
        yield opened


def logged_in(served: Served, name: str) -> RawClient:
    client = RawClient(served.address)
    client.ask("SaslHandshake", 1, mechanism="PLAIN")
    token = f"\0{name}\0secret".encode()
    assert client.ask("SaslAuthenticate", 2, auth_bytes=token).error_code == 0
    return client


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ALLOWED)
def test_each_api_is_served_to_those_who_may_and_refused_to_others_in_every_version(
    served: Served, asked: Asked, apis: dict[int, Api], key: int, name: str
) -> None:
    api, random = apis[key], Random(key)
    topic_id = as_uuid(_orders(served))
    with logged_in(served, name) as client:
        for version in api.messages.versions:
            asked.requests.clear()
            sent = frame(api.messages.request, version, random, 1, topic_id)
            client.send(len(sent).to_bytes(4) + sent)
            answer = client.receive()
            assert answer is not None
            found = set(codes(api.messages.response.decode(answer, version=version, header=True), version))
            if name in {*ALLOWED[key], "root"}:
                assert len(asked.requests) == 1
                assert found <= {0}
            else:
                assert not asked.requests
                found -= {0} if key == FETCH else set()  # the whole of it is no error
                assert found <= REFUSALS
                assert found or (key, version) in {(35, 0), (35, 1), (35, 2)}  # no place to say so, as with Kafka


def _orders(served: Served) -> str:
    """The id of that topic."""
    described = served.controller.query(lambda view: view.topic("orders").topic_id)  # type: ignore[union-attr]
    return described.result(30)


def test_every_api_that_is_offered_says_what_it_asks_for() -> None:
    assert {api.access.operation for api in EVERY_API.values() if api.access is not OPEN} <= set(OPERATIONS)


def test_what_is_allowed_of_a_request_is_done_and_the_rest_refused_in_its_place(served: Served, asked: Asked) -> None:
    with logged_in(served, "orders") as client:
        asked.requests.clear()
        answer = client.ask("DeleteTopics", 5, topic_names=["orders", "bills", "own-x", "own"], timeout_ms=1)
        assert asked.requests[0].topic_names == ["orders", "own-x"]
        assert [(row.name, row.error_code) for row in answer.responses] == [("bills", 29), ("own", 29)]
        assert answer.responses[0].error_message == "Topic authorization failed."
        ids = {row.name: row.topic_id for row in ask_metadata(served, "root", None).topics}
        rows = [{"name": None, "topic_id": ids[name]} for name in ("orders", "bills")]
        answer = client.ask("DeleteTopics", 6, topics=rows, timeout_ms=1)
        assert [row.topic_id for row in asked.requests[1].topics] == [ids["orders"]]
        assert [(row.name, row.topic_id, row.error_code) for row in answer.responses] == [(None, ids["bills"], 29)]


def test_the_end_of_an_epoch_needs_describe_on_the_topic_or_the_right_of_brokers(served: Served, asked: Asked) -> None:
    part = {"partition": 3, "current_leader_epoch": -1, "leader_epoch": 5}
    topics = [{"topic": name, "partitions": [part]} for name in ("orders", "bills")]
    with logged_in(served, "orders") as client, logged_in(served, "follows") as follower:
        asked.requests.clear()
        (refused,) = client.ask("OffsetForLeaderEpoch", 4, replica_id=-1, topics=topics).topics
        (row,) = refused.partitions
        assert (refused.topic, row.partition, row.error_code) == ("bills", 3, 29)
        assert (row.leader_epoch, row.end_offset) == (-1, -1)
        assert follower.ask("OffsetForLeaderEpoch", 4, replica_id=2, topics=topics).topics == []
    assert [[topic.topic for topic in request.topics] for request in asked.requests] == [
        ["orders"],
        ["orders", "bills"],
    ]


def ask_metadata(served: Served, name: str, topics: Any, version: int = 12, **options: Any) -> Any:
    with logged_in(served, name) as client:
        return client.ask("Metadata", version, topics=topics, **options)


def test_metadata_leaves_out_what_may_not_be_described(served: Served) -> None:
    def told(name: str, topics: Any) -> dict[str | None, int]:
        return {topic.name: topic.error_code for topic in ask_metadata(served, name, topics).topics}

    named = [{"name": each, "topic_id": None} for each in ("orders", "bills", "none")]
    assert told("nobody", None) == {}
    assert told("orders", None) == {"orders": 0}
    assert told("describes", None) == {"bills": 0, "orders": 0}
    assert told("nobody", named) == {"orders": 29, "bills": 29, "none": 29}  # no client learns what exists
    assert told("orders", named) == {"orders": 0, "bills": 29, "none": 29}
    assert told("alters", named) == {"orders": 0, "bills": 0, "none": 3}
    bills = next(topic for topic in ask_metadata(served, "root", None).topics if topic.name == "bills")
    assert told("orders", [{"name": None, "topic_id": bills.topic_id}]) == {None: 29}


def test_topics_are_paged_without_those_that_may_not_be_described(served: Served) -> None:
    def told(topics: Any) -> dict[str, int]:
        with logged_in(served, "orders") as client:
            answer = client.ask("DescribeTopicPartitions", 0, topics=topics, response_partition_limit=2000)
            return {topic.name: topic.error_code for topic in answer.topics}

    assert told([]) == {"orders": 0}
    assert told([{"name": "orders"}, {"name": "bills"}, {"name": "none"}]) == {"orders": 0, "bills": 29, "none": 29}


def test_authorized_operations_are_those_that_are_allowed(served: Served) -> None:
    asked_for = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
    answer = ask_metadata(served, "alters", None, version=8, **asked_for)
    assert answer.authorized_operations == {5, 7, 8, 10, 11}  # ALTER allows DESCRIBE, ALTER_CONFIGS DESCRIBE_CONFIGS
    assert answer.topics[0].authorized_operations == {5, 6, 7, 8, 10, 11}
    assert ask_metadata(served, "root", None, version=8, **asked_for).topics[0].authorized_operations == {
        *(3, 4, 5, 6, 7, 8, 10, 11)
    }
    with logged_in(served, "describes") as client:
        answer = client.ask("DescribeCluster", 1, include_cluster_authorized_operations=True)
        assert answer.authorized_operations == {8, 10}


def test_rights_are_read_again_and_what_denies_wins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_S", 0)
    file = tmp_path / "acls.json"
    file.write_text(json.dumps(RIGHTS))
    may = Acls.from_file(file)
    assert may("User:orders", "READ", "TOPIC:own-x")
    assert may("User:orders", "DESCRIBE", "TOPIC:own-x")
    assert not may("User:orders", "WRITE", "TOPIC:own-x")
    assert not may("User:orders", "DESCRIBE", "CLUSTER")
    assert not may("User:orders", "READ", "TOPIC:orders2")
    assert not may("User:alters", "DESCRIBE_CONFIGS", "TOPIC")
    assert may("User:alters", "DESCRIBE_CONFIGS", "TOPIC:a")
    assert may("User:orders", "WRITE", "TOPIC:")
    assert not may("User:describes", "WRITE", "TOPIC:")
    for number, broken in enumerate(BROKEN, 2):
        file.write_text(broken)
        os.utime(file, ns=(number * 10**9, number * 10**9))
        assert may("User:root", "ALTER", "CLUSTER")
        assert "stays in force" in caplog.text
        caplog.clear()
        with pytest.raises(BrokenFile):
            Acls.from_file(file)
    everybody = [{"principal": "User:*", "operations": ["DESCRIBE"], "resources": ["CLUSTER"]}]
    file.write_text(json.dumps({"version": 1, "acls": everybody}))
    os.utime(file, ns=(10**12, 10**12))
    assert not may("User:root", "ALTER", "CLUSTER")
    assert may("User:anybody", "DESCRIBE", "CLUSTER")


def test_rights_that_others_may_change_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may read them. A file that was taken keeps its rights in force."""
    monkeypatch.setattr(files, "LOOK_S", 0)
    file = tmp_path / "acls.json"
    file.write_text(json.dumps({"version": 1, "super_users": ["User:root"]}))
    file.chmod(0o644)
    may = Acls.from_file(file)
    for mode in (0o664, 0o646):
        file.chmod(mode)
        with pytest.raises(BrokenFile, match=f"mode {mode:04o} lets others change it; use chmod go-w"):
            Acls.from_file(file)
    file.write_text(json.dumps({"version": 1, "super_users": ["User:evil"]}))
    assert [may("User:root", "ALTER", "CLUSTER"), may("User:evil", "ALTER", "CLUSTER")] == [True, False]


def test_what_is_denied_to_all_users_is_denied_to_one_with_the_right(tmp_path: Path) -> None:
    """A row of the client's own name does not come before one for all."""
    file = tmp_path / "acls.json"
    own = {"principal": "User:a", "operations": ["READ", "WRITE"], "resources": ["TOPIC:t", "TOPIC:u"]}
    everybody = {"principal": "User:*", "operations": ["READ"], "resources": ["TOPIC:t"], "permission": "DENY"}
    for rows in ([own, everybody], [everybody, own]):
        file.write_text(json.dumps({"version": 1, "acls": rows}))
        may = Acls.from_file(file)
        assert not may("User:a", "READ", "TOPIC:t")
        assert may("User:a", "WRITE", "TOPIC:t")
        assert may("User:a", "READ", "TOPIC:u")
        file.write_text(json.dumps({"version": 1, "acls": [{**own, "resources": ["TOPIC:t"]}, everybody]}))
        assert not Acls.from_file(file)("User:a", "READ", "TOPIC:")


def _broken(**row: Any) -> str:
    good = {"principal": "User:a", "operations": ["READ"], "resources": ["CLUSTER"]}
    return json.dumps({"version": 1, "acls": [good | row]})


BROKEN = [
    "",
    "[]",
    '{"version": 2}',
    '{"version": 1, "acl": []}',
    '{"version": 1, "acls": {}}',
    '{"version": 1, "acls": [1]}',
    '{"version": 1, "super_users": ["root"]}',
    _broken(principal="a"),
    _broken(operations=["SING"]),
    _broken(operations=[]),
    _broken(resources=[]),
    _broken(resources=["TOPIC:"]),
    _broken(resources=["GROUP:"]),
    _broken(permission="PERHAPS"),
    _broken(host="*"),
]


def test_where_people_log_in_it_is_said_who_may_do_what() -> None:
    with pytest.raises(ValueError, match="authorizer"), Served(users=Users({"a": "secret"})):
        pass
    with Served(users=Users({"nobody": "secret"}), authorizer=allow_all) as served:
        assert ask_metadata(served, "nobody", None).topics == []
