"""Quotas of clients: set and described by stock tools, and met by stock clients. librdkafka, kafka-python and kafkajs
have no requests about quotas."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType
from tests.clients.cluster import Withheld
from tests.clients.driven import Driven, JavaTools
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S

RATE: Final = 50_000
KEPT_S: Final = 10
"""A new window takes so many seconds of the rate at once."""
_numbers: Final = itertools.count(1)


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("orders", [[1, 2, 3]])
        yield opened


@pytest.fixture
def app(living: Living) -> str:
    """A client id that no test had before, with a rate of its own for producing and for reading."""
    name = f"app-{next(_numbers)}"
    ops = [AlterConfigOp(f"{side}_byte_rate", str(RATE)) for side in ("producer", "consumer")]
    resource = ConfigResource(ConfigResourceType.CLIENT, name)
    living.cluster.controller.admin.incremental_alter_configs({resource: ops}).all().result(DEADLINE_S)
    until(lambda: ("clients", name) in living.cluster.logs.settings)
    return name


# --- set and described


@pytest.mark.server
@pytest.mark.full
def test_quotas_by_kafka_configs(java: JavaTools) -> None:
    """kafka-configs.sh sets, describes and deletes quotas of client ids, users, both, and their defaults."""
    app, every_client = ("--entity-type", "clients", "--entity-name", "app"), ("--entity-type", "clients")
    users = ("--entity-type", "users")
    alice = (*users, "--entity-name", "CN=alice,O=x")
    quotas = {
        app: "consumer_byte_rate=204800,producer_byte_rate=102400,request_percentage=50",
        alice: "producer_byte_rate=1024",
        (*alice, *every_client, "--entity-default"): "request_percentage=12.5",
        (*users, "--entity-default"): "controller_mutation_rate=10",
    }

    def configs(*words: str) -> list[str]:
        return sorted(java("configs", *words).done.splitlines())

    done = [configs("--alter", *entity, "--add-config", said) for entity, said in quotas.items()]
    assert done[0] == ["Completed updating config for client app."]
    of_alice = "Quota configs for user-principal 'CN=alice,O=x' are producer_byte_rate=1024.0"
    of_app = "consumer_byte_rate=204800.0, producer_byte_rate=102400.0, request_percentage=50.0"
    assert configs("--describe", *app) == [f"Quota configs for client-id 'app' are {of_app}"]
    of_users = "Quota configs for the default user-principal are controller_mutation_rate=10.0"
    assert configs("--describe", *users) == [of_users, of_alice]
    assert configs("--describe", *alice) == [of_alice]
    assert configs("--describe", *users, *every_client) == [
        "Quota configs for user-principal 'CN=alice,O=x', the default client-id are request_percentage=12.5"
    ]
    wrong = java("configs", "--alter", *app, "--add-config", "producer_byte_rate=-1")
    assert wrong.code == 1
    assert "InvalidRequestException: clients/app: producer_byte_rate must be" in wrong.err
    for entity, said in quotas.items():
        configs("--alter", *entity, "--delete-config", ",".join(one.partition("=")[0] for one in said.split(",")))
    assert configs("--describe", *users) == configs("--describe", *app) == []


@pytest.mark.server
@pytest.mark.full
def test_quotas_by_kadm_and_sarama(kadm: Driven, sarama: Driven, cluster: Withheld) -> None:  # noqa: ARG001
    """The admin clients of franz-go and sarama set quotas, and each describes what the other one has set."""
    app, anybody = {"Type": "client-id", "Name": "go"}, {"Type": "user", "Name": None}
    wanted = [
        {"Entity": [app], "Ops": [{"Key": "producer_byte_rate", "Value": 1024}]},
        {"Entity": [anybody], "Ops": [{"Key": "producer_byte_rate", "Value": -1}]},
    ]
    right, wrong = kadm("AlterClientQuotas", wanted)
    assert (right["Err"], wrong["Err"]["Message"]) == (None, "INVALID_REQUEST")
    (found,) = sarama("DescribeClientQuotas", [{"EntityType": "client-id", "MatchType": 0, "Match": "go"}], True)
    assert found["Values"] == {"producer_byte_rate": 1024}
    user = [{"EntityType": "user", "MatchType": 0, "Name": "gopher"}]
    sarama("AlterClientQuotas", user, {"Key": "request_percentage", "Value": 12.5, "Remove": False}, False)
    (found,) = kadm("DescribeClientQuotas", True, [{"Type": "user", "MatchType": "ANY"}])
    assert found["Values"] == [{"Key": "request_percentage", "Value": 12.5}]
    sarama("AlterClientQuotas", user, {"Key": "request_percentage", "Value": 0, "Remove": True}, False)
    kadm("AlterClientQuotas", [{"Entity": [app], "Ops": [{"Key": "producer_byte_rate", "Remove": True}]}])
    assert kadm("DescribeClientQuotas", False, []) == []


# --- met


def throttles(stats: list[dict[str, Any]]) -> int:
    """The longest throttle time of all brokers that librdkafka noted, in milliseconds."""
    return max((broker["throttle"]["max"] for each in stats for broker in each["brokers"].values()), default=0)


@pytest.mark.slow
def test_librdkafka_produces_at_its_quota(living: Living, app: str) -> None:
    """A producer is throttled by its own statistics, loses nothing, and is not faster than its quota allows."""
    stats: list[dict[str, Any]] = []
    settings = {"client.id": app, "linger.ms": 5, "batch.size": 10_000, "max.in.flight": 1}
    seen = {"statistics.interval.ms": 200, "stats_cb": lambda text: stats.append(json.loads(text))}
    producer = ck.Producer({"bootstrap.servers": living.bootstrap, **settings, **seen})
    acknowledged: list[int] = []
    begun_s = time.monotonic()
    for _ in range(600):
        producer.produce("orders", b"x" * 1_000, on_delivery=lambda _, message: acknowledged.append(len(message)))
    assert producer.flush(DEADLINE_S) == 0
    until(lambda: producer.poll(0) == 0 and throttles(stats) > 0)
    assert sum(acknowledged) == 600_000
    assert sum(acknowledged) < 1.5 * RATE * (KEPT_S + time.monotonic() - begun_s)


@pytest.mark.slow
def test_librdkafka_reads_at_its_quota(living: Living, app: str) -> None:
    """A consumer in a group is throttled by its own statistics, and reads all, no faster than its quota allows."""
    feed(living, 600)
    stats: list[dict[str, Any]] = []
    settings = {"client.id": app, "group.id": app, "auto.offset.reset": "earliest"}
    seen = {"statistics.interval.ms": 200, "stats_cb": lambda text: stats.append(json.loads(text))}
    consumer = ck.Consumer({"bootstrap.servers": living.bootstrap, **settings, **seen})
    with closing(consumer):
        consumer.subscribe(["orders"])
        begun_s, read = time.monotonic(), 0
        while read < 600_000:
            message = consumer.poll(DEADLINE_S)
            assert message is not None
            assert message.error() is None
            read += len(message)
        assert read < 1.5 * RATE * (KEPT_S + time.monotonic() - begun_s)
        until(lambda: consumer.poll(0.1) is None and throttles(stats) > 0)


@pytest.mark.full
def test_kafka_python_reads_at_its_quota(living: Living, app: str) -> None:
    """A consumer of kafka-python reads all, no faster than its quota allows."""
    feed(living, 600)
    settings = {"client_id": app, "auto_offset_reset": "earliest", "consumer_timeout_ms": 1000 * DEADLINE_S}
    consumer = kafka.KafkaConsumer("orders", bootstrap_servers=living.bootstrap, **settings)
    with closing(consumer):
        begun_s = time.monotonic()
        read = sum(len(record.value) for record in itertools.islice(consumer, 600))
        assert read == 600_000
        assert read < 1.5 * RATE * (KEPT_S + time.monotonic() - begun_s)


def feed(living: Living, count: int) -> None:
    """The topic has at least so many records of 1,000 bytes, from a client without a quota."""
    producer = ck.Producer({"bootstrap.servers": living.bootstrap, "client.id": "feeding", "batch.size": 10_000})
    for _ in range(count):
        producer.produce("orders", b"x" * 1_000)
    assert producer.flush(DEADLINE_S) == 0
