"""Clusters for tests that let in only who logs in, and only to what is allowed."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest
from confluent_kafka.admin import AdminClient

from kedge.testing import Cluster, Server

pytestmark = pytest.mark.checklist(268)

USERS: Final = {"alice": "alice-secret", "bob": "bob-secret"}
ACLS: Final = [{"principal": "User:alice", "operations": ["READ", "WRITE"], "resources": ["TOPIC:orders"]}]
TIMEOUT_S: Final = 30


@pytest.fixture(
    params=[Cluster, pytest.param(Server, marks=pytest.mark.slow)], ids=["cluster", "server"], scope="module"
)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | Server]:
    with request.param(2, users=USERS, acls=ACLS, tls=True) as opened:
        opened.create_topic("orders")
        opened.move("orders", 0, [2])  # its own methods may do what no user may
        yield opened


def settings(cluster: Cluster | Server, user: str, mechanism: str, password: str | None = None) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password or USERS[user],
        "ssl.ca.location": cluster.ca,
        "log_level": 0,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_does_what_the_acls_allow(cluster: Cluster | Server, mechanism: str) -> None:
    errors: list[Any] = []
    for user in USERS:
        producer = ck.Producer(settings(cluster, user, mechanism))
        producer.produce("orders", b"x", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(TIMEOUT_S) == 0
    allowed, refused = errors
    assert allowed is None
    assert refused.code() == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_wrong_password_is_refused(cluster: Cluster | Server) -> None:
    refused: list[Any] = []
    client = AdminClient({**settings(cluster, "alice", "PLAIN", "wrong"), "error_cb": refused.append})
    with pytest.raises(ck.KafkaException):
        client.list_topics(timeout=5)
    client.poll(0)
    assert "_AUTHENTICATION" in {error.name() for error in refused}


def test_kafka_python_verifies_the_certificate(cluster: Cluster | Server) -> None:
    options = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
        "sasl_plain_password": USERS["alice"],
        "ssl_context": ssl.create_default_context(cafile=cluster.ca),
    }
    with closing(kafka.KafkaProducer(**options)) as producer:
        assert producer.send("orders", b"x").get(TIMEOUT_S).topic == "orders"


def test_certificate_is_there_with_tls_alone() -> None:
    with Cluster(1) as plain, pytest.raises(ValueError, match="only with tls=True"):
        plain.ca  # noqa: B018 - it raises


def test_what_no_acl_can_be_is_refused_at_once() -> None:
    with (
        pytest.raises(ValueError, match="a principal is User:<name>"),
        Cluster(1, acls=[{**ACLS[0], "principal": "x"}]),
    ):
        pytest.fail("it started")
