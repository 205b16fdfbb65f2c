"""Kafka's stock tools on a cluster that Kedge controls: what they ask any node, every node, and the controller."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

import confluent_kafka
import pytest
from kafka.admin import NewTopic as KafkaTopic

from kedge.controller.wire.calls import Address
from kedge.stores import MetadataStore
from servers import LocalZooKeeper
from tests.kafka.java_tools import ACLS, CONFIGS, GROUPS, LOG_DIRS, TOPICS, TRANSACTIONS, JavaTools, java_tools
from tests.kafka_brokers.clients import consume, create_topic, produce
from tests.kafka_brokers.cluster import BROKERS, WAIT_S, FollowingCluster, following, until
from tests.kafka_brokers.test_security import with_listeners
from tests.kit.commands import run as kedge
from tests.wire.served import RawClient

pytestmark = [pytest.mark.server, pytest.mark.full]

NODE, PASSWORD = 101, "of-alice"
SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,OUTSIDE:PLAINTEXT",
    "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.clients.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
"""Three listeners: at two every client may do everything, and one is for logins."""


@pytest.fixture(scope="module", params=["3.9", "2.8"])
def cluster(zookeeper_server: LocalZooKeeper, request: pytest.FixtureRequest) -> Iterator[FollowingCluster]:
    """Every broker lists the controller as a node."""
    with (
        following(zookeeper_server, ibp=request.param, settings=SETTINGS) as found,
        contextlib.closing(found.store()) as store,
    ):
        with_listeners(found, "CLIENTS", "OUTSIDE")
        found.begin(store, [NODE], "--client-listener", "OUTSIDE://127.0.0.1:0")
        until("clients see the controller", lambda: sees_controller(found, store))
        yield found


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTools]:
    with java_tools(tmp_path_factory.mktemp("tools")) as made:
        yield made


@pytest.fixture
def topic(cluster: FollowingCluster) -> str:
    name = f"t{uuid.uuid4().hex[:8]}"
    create_topic(cluster, KafkaTopic(name, 1, 3))
    return name


def sees_controller(cluster: FollowingCluster, store: MetadataStore) -> bool:
    """Whether clients of every broker do, at the listeners of which the controller has an address."""
    return all(NODE in nodes(address) for b in BROKERS for address in ends(cluster, store, b, "PLAINTEXT", "OUTSIDE"))


def ends(cluster: FollowingCluster, store: MetadataStore, broker: int, *listeners: str) -> list[str]:
    """HOST:PORT of these listeners of a broker."""
    found = [end.split("://") for end in cluster.read(store, f"/brokers/ids/{broker}")["endpoints"]]
    return [address for name, address in found if name in listeners]


def nodes(address: str) -> dict[int, int]:
    """The ports of the nodes that a client sees there, by id."""
    host, _, port = address.rpartition(":")
    with RawClient(Address(host, int(port))) as client:
        answer = client.ask("Metadata", 9, topics=[])
    return {node.node_id: node.port for node in answer.brokers}


def run(cluster: FollowingCluster, tools: JavaTools, tool: str, *arguments: object) -> str:
    ran = tools(tool, "--bootstrap-server", cluster.servers, *arguments)
    assert ran.code == 0, ran
    assert "Error" not in ran.out, ran
    return ran.out


def test_lists_of_every_node_leave_the_controller_out(cluster: FollowingCluster, tools: JavaTools, topic: str) -> None:
    """Groups, transactions and log directories: Kafka's tools ask each node, and fail where one does not answer."""
    sent = produce(cluster, topic, 5)
    assert set(consume(cluster, topic, sent, **{"group.id": f"g-{topic}"})) == sent
    assert f"g-{topic}" in run(cluster, tools, GROUPS, "--list").split()
    assert "TransactionalId" in run(cluster, tools, TRANSACTIONS, "list")
    listed = run(cluster, tools, LOG_DIRS, "--describe", "--topic-list", topic)
    assert listed.count(f'"{topic}-0"') == len(BROKERS)


def test_the_node_of_the_controller_answers_for_acls_as_a_broker(
    cluster: FollowingCluster, tools: JavaTools, topic: str
) -> None:
    """Clients ask any node; here it is the controller's."""
    row = {
        "resource_type": 2,
        "resource_name": topic,
        "resource_pattern_type": 3,
        "principal": "User:bob",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    asked = {"resource_type_filter": 2, "resource_name_filter": topic, "pattern_type_filter": 3}
    asked |= {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    with RawClient(Address("127.0.0.1", cluster.controller_ports[NODE])) as client:
        created = client.ask("CreateAcls", 3, creations=[row])
        assert [each.error_code for each in created.results] == [0]
        until("the acl is described", lambda: _principals(client, asked) == ["User:bob"])
    # the tool asks any node, and each hears of it on its own
    until("the acl is listed", lambda: "User:bob" in run(cluster, tools, ACLS, "--list", "--topic", topic))


def _principals(client: RawClient, asked: dict[str, object]) -> list[str]:
    found = client.ask("DescribeAcls", 3, **asked)
    assert found.error_code == 0
    return [acl.principal for resource in found.resources for acl in resource.acls]


def test_a_user_gets_a_password_a_right_and_a_quota_by_kafkas_tools(
    cluster: FollowingCluster, store: MetadataStore, tools: JavaTools, topic: str
) -> None:
    """Afterwards it logs in at the brokers, writes, and keeps both when one is deleted."""
    alice = ("--entity-type", "users", "--entity-name", "alice")
    run(cluster, tools, CONFIGS, "--alter", *alice, "--add-config", f"SCRAM-SHA-256=[password={PASSWORD}]")
    run(cluster, tools, CONFIGS, "--alter", *alice, "--add-config", "producer_byte_rate=1000000")
    until("both are described", lambda: _is_described(run(cluster, tools, CONFIGS, "--describe", *alice)))
    code = _written(cluster, store, topic)
    assert code == confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED
    added = ("--add", "--allow-principal", "User:alice", "--operation", "Write", "--topic", topic)
    run(cluster, tools, ACLS, *added)
    until("alice writes", lambda: _written(cluster, store, topic) is None)
    run(cluster, tools, CONFIGS, "--alter", *alice, "--delete-config", "SCRAM-SHA-256")
    assert list(cluster.read(store, "/config/users/alice")["config"]) == ["producer_byte_rate"]


def _is_described(text: str) -> bool:
    return "producer_byte_rate=1000000" in text and "SCRAM-SHA-256=iterations=" in text


def _written(cluster: FollowingCluster, store: MetadataStore, topic: str) -> int | None:
    """The code of the error of one record that alice wrote; None: it was acknowledged."""
    (server,) = ends(cluster, store, 1, "CLIENTS")
    codes: list[int | None] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": server,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "SCRAM-SHA-256",
            "sasl.username": "alice",
            "sasl.password": PASSWORD,
            "message.timeout.ms": int(WAIT_S * 1000),
        }
    )
    producer.produce(topic, b"x", on_delivery=lambda error, _: codes.append(None if error is None else error.code()))
    assert producer.flush(WAIT_S) == 0
    return codes[0]


def test_clients_of_another_listener_find_the_controller_at_it(
    cluster: FollowingCluster, store: MetadataStore, tools: JavaTools
) -> None:
    """At an address of its own, where the brokers have those of that listener."""
    (server,) = ends(cluster, store, 1, "OUTSIDE")
    ports = {b: int(ends(cluster, store, b, "OUTSIDE")[0].rpartition(":")[2]) for b in BROKERS}
    seen = nodes(server)
    controller = seen.pop(NODE)
    assert seen == ports
    assert controller not in {cluster.controller_ports[NODE], *ports.values()}
    assert nodes(f"127.0.0.1:{controller}") == {**ports, NODE: controller}
    name = f"o{uuid.uuid4().hex[:8]}"
    ran = tools(TOPICS, "--bootstrap-server", server, "--create", "--topic", name, "--partitions", 2)
    assert ran.code == 0, ran
    assert f"Created topic {name}" in ran.out


@pytest.mark.checklist(256)
def test_a_reduction_is_refused_with_what_to_do(cluster: FollowingCluster, store: MetadataStore) -> None:
    name = f"r{uuid.uuid4().hex[:8]}"
    create_topic(cluster, KafkaTopic(name, 3, 1))
    said = {
        cluster.servers: "1 would not be an increase",  # as Kafka's own controller: brokers do not list the request
        cluster.gateway(NODE): "create another topic with fewer partitions",
    }
    for servers, words in said.items():
        ran = kedge(
            "kafka", "topics", "--bootstrap-server", servers, "--alter", "--topic", name, "--partitions", 1, "--yes"
        )
        assert ran.exit_code == 1, ran.output
        assert words in ran.stderr
    assert len(cluster.read(store, f"/brokers/topics/{name}")["partitions"]) == 3


@pytest.mark.checklist(251)
def test_settings_of_topics_and_brokers_take_effect(cluster: FollowingCluster, tools: JavaTools, topic: str) -> None:
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    run(cluster, tools, CONFIGS, "--alter", *of_topic, "--add-config", "retention.ms=3600000")
    until("it is set", lambda: "retention.ms=3600000" in run(cluster, tools, CONFIGS, "--describe", *of_topic))
    of_broker = ("--entity-type", "brokers", "--entity-name", "2")
    run(cluster, tools, CONFIGS, "--alter", *of_broker, "--add-config", "log.cleaner.threads=2")
    until("it is set", lambda: "log.cleaner.threads=2" in run(cluster, tools, CONFIGS, "--describe", *of_broker))
