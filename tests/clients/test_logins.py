"""Stock clients log in by a password over TLS, do what they may, and get errors for what they may not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import admin

from kedge.controller.wire import Tls, Users
from tests.clients import driven
from tests.clients.driven import JavaTools, Rejected
from tests.wire.certificates import Authority
from tests.wire.served import Served

pytestmark = [pytest.mark.server, pytest.mark.full]

TIMEOUT_S = 30
PASSWORDS = {"alice": "wonder", "carol": "only, looks"}


def may(principal: str, operation: str, _: str) -> bool:
    """Alice may do everything, carol may look."""
    return principal == "User:alice" or operation in {"DESCRIBE", "DESCRIBE_CONFIGS"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded(authority: Authority) -> Iterator[Served]:
    """A cluster that people log in to, over TLS."""
    ours = authority.sign("gateway")
    with Served(tls=Tls(ours.certificate, ours.key), users=Users(PASSWORDS), authorizer=may) as opened:
        yield opened


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafkas_tools_log_in(
    java: JavaTools, guarded: Served, authority: Authority, topic: str, mechanism: str
) -> None:
    def config(name: str, password: str) -> tuple[str, str]:
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        login = f'org.apache.kafka.common.security.{module} required username="{name}" password="{password}";'
        file = authority.file.with_name("client.properties")
        file.write_text(
            f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={authority.file}\n",
            encoding="utf-8",
        )
        return "--command-config", str(file)

    def create(name: str, password: str) -> tuple[int, str]:
        said = java("topics", "--create", "--topic", topic, *config(name, password), at=guarded.bootstrap)
        return said.code, said.out.splitlines()[0]

    error = "Error while executing topic command : "
    assert create("carol", PASSWORDS["carol"]) == (1, f"{error}Topic authorization failed.")
    assert create("alice", "wrong")[0] == 1
    assert create("alice", PASSWORDS["alice"]) == (0, f"Created topic {topic}.")
    looked = java("topics", "--list", *config("carol", PASSWORDS["carol"]), at=guarded.bootstrap)
    assert topic in looked.done.splitlines()


def test_librdkafka_logs_in(guarded: Served, authority: Authority, topic: str) -> None:
    def client(name: str) -> Any:
        login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": name, "sasl.password": PASSWORDS[name]}
        own = {"bootstrap.servers": guarded.bootstrap, "security.protocol": "SASL_SSL"}
        return admin.AdminClient({**own, **login, "ssl.ca.location": str(authority.file)})

    def create(opened: Any) -> None:
        (future,) = opened.create_topics([admin.NewTopic(topic)]).values()
        future.result(TIMEOUT_S)

    carol, alice = client("carol"), client("alice")
    with pytest.raises(ck.KafkaException, match="AUTHORIZATION_FAILED"):
        create(carol)
    create(alice)
    assert topic in carol.list_topics(timeout=TIMEOUT_S).topics


def test_kafkajs_logs_in(guarded: Served, authority: Authority, topic: str) -> None:
    def client(name: str) -> driven.Driven:
        sasl = {"mechanism": "scram-sha-512", "username": name, "password": PASSWORDS[name]}
        return driven.kafkajs(guarded.bootstrap, ssl={"ca": [authority.file.read_text()]}, sasl=sasl)

    new = {"topics": [{"topic": topic}]}
    with client("carol") as carol, client("alice") as alice:
        with pytest.raises(Rejected, match="AUTHORIZATION_FAILED"):
            carol("createTopics", new)
        assert alice("createTopics", new) is True
        assert topic in carol("listTopics")


def test_clients_in_go_log_in(guarded: Served, authority: Authority, topic: str) -> None:
    def client(of: str, name: str) -> driven.Driven:
        return driven.in_go(of, guarded.bootstrap, str(authority.file), name, PASSWORDS[name])

    with client("kadm", "carol") as carol, client("kadm", "alice") as alice:
        with pytest.raises(Rejected, match="AUTHORIZATION_FAILED"):
            carol("CreateTopic", 1, 1, {}, topic)
        assert alice("CreateTopic", 1, 1, {}, topic)["Err"] is None
        assert carol("ListTopics", topic)[topic]["Err"] is None
    with client("kafka-go", "carol") as carol, client("kafka-go", "alice") as alice:
        new = {"Topics": [{"Topic": f"{topic}-go", "NumPartitions": 1, "ReplicationFactor": 1}]}
        assert "Topic Authorization Failed" in carol("CreateTopics", new)["Errors"][f"{topic}-go"]
        assert alice("CreateTopics", new)["Errors"] == {f"{topic}-go": None}
    with client("sarama", "carol") as carol, client("sarama", "alice") as alice:
        detail = {"NumPartitions": 1, "ReplicationFactor": 1}
        with pytest.raises(Rejected, match="authorized"):
            carol("CreateTopic", f"{topic}-sarama", detail, False)
        alice("CreateTopic", f"{topic}-sarama", detail, False)
        assert f"{topic}-go" in carol("ListTopics")
