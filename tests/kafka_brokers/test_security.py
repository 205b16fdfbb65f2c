"""TLS and SASL between Kafka brokers and their controller, in both directions."""

from __future__ import annotations

import contextlib
import json
import uuid
from pathlib import Path

import kafka
import pytest
from kafka.admin import NewTopic as KafkaTopic

from kedge.controller.wire.security.users import salted
from servers import LocalZooKeeper
from tests.kafka_brokers.clients import consume, produce
from tests.kafka_brokers.cluster import BROKERS, FollowingCluster, following, until
from tests.kafka_brokers.test_following import are_in_sync
from tests.kit.private import write_private
from tests.wire.certificates import Authority

pytestmark = [pytest.mark.server, pytest.mark.full]

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PASSWORDS = {"broker": "of the brokers", "kedge": "of the controller"}


def secured(authority: Authority, folder: Path) -> dict[str, str]:
    """The settings of brokers with a listener for each other and the controller, beside that of clients."""
    signed = authority.sign("broker")
    chain = folder / "broker.pem"
    chain.write_text(signed.key.read_text() + signed.certificate.read_text(), encoding="utf-8")
    users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.internal.plain.sasl.jaas.config": (
            f'{MODULE} username="broker" password="{PASSWORDS["broker"]}" {users};'
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(chain),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
    }


def options(authority: Authority, folder: Path) -> tuple[str, ...]:
    """Those of a controller: what brokers need to come in, and how it comes into brokers."""
    signed = authority.sign("controller")
    users, acls, brokers = folder / "users.json", folder / "acls.json", folder / "brokers.properties"
    credentials = {"broker": salted(PASSWORDS["broker"])}
    write_private(users, json.dumps({"version": 1, "users": credentials}))
    acls.write_text(json.dumps({"version": 1, "super_users": ["User:broker"], "acls": []}), encoding="utf-8")
    secret = folder / "secret"
    write_private(secret, "of all controllers")
    write_private(
        brokers,
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={MODULE} username="kedge" password="{PASSWORDS["kedge"]}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={authority.file}\n",
    )
    tls = ("--tls-certificate", str(signed.certificate), "--tls-key", str(signed.key))
    who = ("--users", str(users), "--acls", str(acls), "--peers-secret", str(secret), "--peers-ca", str(authority.file))
    return (*tls, *who, "--brokers-config", str(brokers), "--listener-name", "INTERNAL")


def with_listeners(cluster: FollowingCluster, *names: str) -> None:
    """Further listeners for each broker, at ports of their own."""
    more = "".join(f",{name}://127.0.0.1:0" for name in names)
    for broker, folder in ((b, cluster.folder / f"broker-{b}") for b in BROKERS):
        file = folder / "server.properties"
        plain = f"PLAINTEXT://127.0.0.1:{cluster.broker_ports[broker]}"
        text = file.read_text(encoding="utf-8")
        assert f"listeners={plain}\n" in text
        file.write_text(text.replace(f"listeners={plain}\n", f"listeners={plain}{more}\n"))


def test_brokers_and_controller_log_in_by_tls(zookeeper_server: LocalZooKeeper, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        following(zookeeper_server, settings=secured(authority, tmp_path)) as cluster,
        contextlib.closing(cluster.store()) as store,
    ):
        with_listeners(cluster, "INTERNAL")
        cluster.begin(store, [101], *options(authority, tmp_path))
        name = f"s{uuid.uuid4().hex[:8]}"
        create(cluster, authority, name)
        sent = produce(cluster, name)
        cluster.brokers[2].kill()
        until("broker 2 leads nothing", lambda: all(s["leader"] != 2 for s in cluster.states(store, name)))
        sent |= produce(cluster, name)
        cluster.revive(2)
        until("all are in sync", lambda: are_in_sync(cluster, store, name))
        assert sorted(consume(cluster, name, sent)) == sorted(sent)


def create(cluster: FollowingCluster, authority: Authority, name: str) -> None:
    """At the gateway, as the user of the brokers; clients of brokers do not see the controller."""
    with contextlib.closing(
        kafka.KafkaAdminClient(
            bootstrap_servers=cluster.gateway(101),
            security_protocol="SASL_SSL",
            ssl_cafile=str(authority.file),
            sasl_mechanism="PLAIN",
            sasl_plain_username="broker",
            sasl_plain_password=PASSWORDS["broker"],
        )
    ) as admin:
        admin.create_topics([KafkaTopic(name, 3, 3)])
