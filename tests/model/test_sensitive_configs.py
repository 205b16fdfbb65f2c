"""Which configs are sensitive: Kafka's passwords, their variants of one listener, and every unknown name."""

from __future__ import annotations

import pytest

from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS
from kedge.controller.model.refused_configs import REFUSED_CONFIGS
from kedge.controller.model.sensitive_configs import PASSWORDS, is_password, is_sensitive, shown
from tests.model.kafka_configs import KAFKA_CONFIGS


def test_the_sensitive_configs_of_kafka_are_those_of_the_type_password() -> None:
    kinds = {"topic": "topics", "broker": "brokers"}
    sensitive = {(one.of, one.name) for one in KAFKA_CONFIGS if is_sensitive(kinds[one.of], one.name)}
    passwords = {(one.of, one.name) for one in KAFKA_CONFIGS if one.kind == "password"}
    assert sensitive == passwords
    assert len(passwords) == 10
    assert {name for _, name in passwords} <= PASSWORDS


def test_no_config_that_can_be_set_is_sensitive() -> None:
    assert not any(is_sensitive("topics", name) for name in TOPIC_CONFIGS)
    assert not any(is_sensitive("brokers", name) for name in BROKER_CONFIGS)
    assert {name for name in REFUSED_CONFIGS if is_sensitive("brokers", name)} == PASSWORDS & REFUSED_CONFIGS.keys()


@pytest.mark.parametrize(
    "name, hides, has_type",
    [
        ("listener.name.internal.ssl.key.password", True, True),
        ("listener.name.internal.scram-sha-256.sasl.jaas.config", True, True),
        ("listener.name.internal.ssl.keystore.location", False, False),
        ("listener.name.internal.plain.connections.max.reauth.ms", False, False),
        ("listener.name.internal.plain.ssl.keystore.location", True, False),
        ("listener.name.internal", True, False),
        ("password.encoder.secret", True, True),
        ("com.example.plugin.password", True, False),
        ("ssl.keystore.pasword", True, False),
        ("message.format.version", True, False),
    ],
)
def test_a_config_of_one_listener_is_as_the_general_one_and_an_unknown_one_is_sensitive(
    name: str, *, hides: bool, has_type: bool
) -> None:
    assert (is_sensitive("brokers", name), is_password(name)) == (hides, has_type)


@pytest.mark.parametrize(
    "kind, name, hides",
    [
        ("topics", "message.format.version", False),
        ("topics", "ssl.keystore.location", True),
        ("users", "SCRAM-SHA-512", True),
        ("users", "producer_byte_rate", False),
        ("ips", "connection_creation_rate", False),
        ("elsewhere", "retention.ms", True),
    ],
)
def test_names_are_those_of_the_owners_kind(kind: str, name: str, *, hides: bool) -> None:
    assert is_sensitive(kind, name) is hides
    assert shown(kind, {name: "x"}) == {name: "[hidden]" if hides else "x"}
