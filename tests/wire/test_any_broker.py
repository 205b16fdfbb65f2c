"""ACLs, client quotas and passwords of Kafka's users, at the gateway of a controller of Kafka brokers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from kafka.protocol.admin import (
    CreateAclsRequest,
    DescribeAclsRequest,
)

from kedge.controller.model.values import BrokerRegistration, Endpoint
from kedge.controller.wire.kafka import with_kafka_brokers
from kedge.controller.wire.kafka.any_broker import AnyBroker
from kedge.controller.wire.protocol import Answer, Request
from kedge.controller.wire.remote import RemoteHost
from kedge.controller.wire.security.users import Credential
from kedge.stores.base import ABSENT, Put
from tests.kit.waiting import until
from tests.wire.served import RawClient, Served

NODE, ALICE = 101, "/config/users/alice"
SALT, SALTED = b"a salt of Kafka's", hashlib.pbkdf2_hmac("sha256", b"secret", b"a salt of Kafka's", 4096)
ACL = {
    "resource_type": 2,
    "resource_name": "orders",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
QUOTA = {
    "entity": [{"entity_type": "user", "entity_name": None}],
    "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
}


class Broker:
    """Answers one request like Kafka's broker, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def answer(self, _: object, request: Request) -> Answer:
        self.asked.append(request.to_dict())
        if isinstance(request, CreateAclsRequest):
            return {"results": [{"error_code": 42, "error_message": "no such name"} for _ in request.creations]}
        return {"entries": [{"error_code": 0, "error_message": None, "entity": QUOTA["entity"]}]}


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def denied() -> set[str]:
    """The operations that no client may do."""
    return set()


@pytest.fixture
def served(broker: Broker, denied: set[str]) -> Iterator[Served]:
    """Broker 1 does not listen, broker 2 is a gateway with the table that Kafka's brokers have."""
    host = RemoteHost(timeout_s=5)
    table = {
        api.messages.api_key: attrs.evolve(api, handler=broker.answer)
        for api in AnyBroker(host).table()
        if api.messages.api_key != DescribeAclsRequest.API_KEY
    }
    offered = with_kafka_brokers(table)
    with (
        Served(apis=offered) as brokers,
        Served(
            {},
            node_id=NODE,
            apis=with_kafka_brokers(brokers=host),
            authorizer=lambda _, operation, __: operation not in denied,
        ) as opened,
    ):
        for number, port in ((1, 1), (2, brokers.address.port)):
            at = Endpoint("PLAINTEXT", "127.0.0.1", port)
            opened.controller.register_broker(BrokerRegistration(number, at.host, at.port, endpoints=(at,)))
        until(lambda: opened.controller.describe().live_brokers == (1, 2))
        yield opened
    host.close()


# --- what a broker answers


def create_acl(client: RawClient) -> Any:
    return client.ask("CreateAcls", 3, creations=[ACL]).results[0]


def alter_quota(client: RawClient) -> Any:
    return client.ask("AlterClientQuotas", 1, entries=[QUOTA], validate_only=False).entries[0]


def test_a_broker_that_answers_is_found_and_its_answer_passed_on(broker: Broker, client: RawClient) -> None:
    row = create_acl(client)
    assert (row.error_code, row.error_message) == (42, "no such name")
    assert broker.asked == [{"creations": [ACL]}]


def test_a_quota_keeps_its_names_on_both_ways(broker: Broker, client: RawClient) -> None:
    row = alter_quota(client)
    assert (row.error_code, [each.to_dict() for each in row.entity]) == (0, QUOTA["entity"])
    assert broker.asked == [{"entries": [QUOTA], "validate_only": False}]


def test_a_request_that_no_broker_knows_closes_the_connection(client: RawClient) -> None:
    fields = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    with pytest.raises(AssertionError, match="hung up"):
        client.ask("DescribeAcls", 3, **fields)


def test_a_client_without_the_right_is_refused_before_a_broker_is_asked(
    broker: Broker, client: RawClient, denied: set[str]
) -> None:
    denied |= {"ALTER", "ALTER_CONFIGS", "DESCRIBE"}
    assert create_acl(client).error_code == 31
    row = alter_quota(client)
    assert (row.error_code, [each.to_dict() for each in row.entity]) == (31, QUOTA["entity"])
    deleted = client.ask("DeleteAcls", 3, filters=[{"resource_name_filter": "orders"}])
    assert [row.error_code for row in deleted.filter_results] == [31]
    assert client.ask("DescribeAcls", 3).error_code == 31
    assert alter(client, upsertions=[password()]) == {"alice": 31}
    assert broker.asked == []


# --- passwords


def password(**other: Any) -> dict[str, Any]:
    return {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": SALT, "salted_password": SALTED, **other}


def alter(client: RawClient, **rows: Any) -> dict[str, int]:
    """The error code of each user."""
    fields = {"deletions": [], "upsertions": [], **rows}
    answer = client.ask("AlterUserScramCredentials", 0, **fields)
    return {row.user: row.error_code for row in answer.results}


def configs(served: Served, key: str = ALICE) -> dict[str, str]:
    entry = served.store.get(key, timeout_s=5)
    assert entry is not None
    found: dict[str, str] = json.loads(entry.value)["config"]
    return found


def notified(served: Served) -> list[str]:
    """The entities that brokers are to read again, oldest first."""
    names = sorted(served.store.children("/config/changes", timeout_s=5))
    entries = served.store.get_many([f"/config/changes/{name}" for name in names], timeout_s=5)
    return [json.loads(entry.value)["entity_path"] for entry in entries if entry is not None]


def test_a_password_is_written_as_brokers_read_it_beside_what_is_there(served: Served, client: RawClient) -> None:
    quotas = b'{"version":1,"config":{"producer_byte_rate":"1000"}}'
    served.store.commit([Put(ALICE, quotas, ABSENT)], timeout_s=5)
    assert alter(client, upsertions=[password()]) == {"alice": 0}
    found = configs(served)
    assert found.pop("producer_byte_rate") == "1000"
    assert Credential.parse(found.pop("SCRAM-SHA-256")) == Credential.parse(kafka_text())
    assert found == {}
    assert notified(served) == ["users/alice"]


def kafka_text() -> str:
    """The same password, salted by another implementation."""
    from scramp import ScramMechanism  # noqa: PLC0415 - of this test alone

    salt, stored, server, iterations = ScramMechanism("SCRAM-SHA-256").make_auth_info("secret", 4096, SALT)
    return Credential(salt, stored, server, iterations).text


def test_a_password_is_deleted_and_a_missing_one_is_an_error(served: Served, client: RawClient) -> None:
    assert alter(client, upsertions=[password(), password(mechanism=2)]) == {"alice": 0}
    gone = {"name": "alice", "mechanism": 1}
    assert alter(client, deletions=[gone], upsertions=[password(name="bob")]) == {"alice": 0, "bob": 0}
    assert list(configs(served)) == ["SCRAM-SHA-512"]
    assert list(configs(served, "/config/users/bob")) == ["SCRAM-SHA-256"]
    assert alter(client, deletions=[gone]) == {"alice": 91}
    assert list(configs(served)) == ["SCRAM-SHA-512"]


@pytest.mark.parametrize(
    "row, code",
    [
        ({"name": ""}, 93),
        ({"name": "bob@example.org"}, 93),
        ({"name": ".."}, 93),
        ({"mechanism": 3}, 33),
        ({"iterations": 4095}, 93),
        ({"iterations": 16_385}, 93),
    ],
)
def test_what_cannot_be_a_password_changes_nothing(
    served: Served, client: RawClient, row: dict[str, Any], code: int
) -> None:
    assert alter(client, upsertions=[password(**row)]) == {row.get("name", "alice"): code}
    assert notified(served) == []


def test_one_mechanism_is_changed_once_in_a_request(served: Served, client: RawClient) -> None:
    twice = {"upsertions": [password()], "deletions": [{"name": "alice", "mechanism": 1}]}
    assert alter(client, **twice) == {"alice": 92}
    assert notified(served) == []


def test_configs_that_cannot_be_read_are_left_alone(served: Served, client: RawClient) -> None:
    served.store.commit([Put(ALICE, b"{", ABSENT)], timeout_s=5)
    assert alter(client, upsertions=[password()]) == {"alice": 7}
    entry = served.store.get(ALICE, timeout_s=5)
    assert entry is not None
    assert entry.value == b"{"
