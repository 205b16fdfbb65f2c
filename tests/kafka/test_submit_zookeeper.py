"""`kedge plan submit --bootstrap-server` on Kafka brokers whose metadata are in ZooKeeper, not in KRaft."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.values import Change, Op, Resource, ResourceType
from kedge.controller.model.values import TopicPartition
from kedge.pipeline.submit.kept import progress_file
from servers import LocalZooKeeper
from servers.process import free_ports
from tests.kafka.conftest import submit
from tests.kafka_jars import OLDEST, VERSION
from tests.kafka_servers import kafka_node
from tests.kit.waiting import until
from tests.pipeline_submit.served import exported, fill, replicas, throttles, wanted

pytestmark = [pytest.mark.server, pytest.mark.full]

BROKERS: Final = (1, 2, 3)
LAYOUT: Final = ((1, 2), (2, 1), (2, 3))
TOPIC: Final = "orders"
RATE: Final = {Resource(ResourceType.BROKER, "2"): {"leader.replication.throttled.rate": "777000"}}
LIST: Final = {Resource(ResourceType.TOPIC, TOPIC): {"follower.replication.throttled.replicas": "2:3"}}
_START_S: Final = 60.0


@pytest.fixture
def servers(zookeeper_server: LocalZooKeeper, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """HOST:PORT of three brokers of the version that the test names."""
    place = f"{zookeeper_server.address}/submit-{uuid4().hex}"
    with contextlib.ExitStack() as stack:
        ports = dict(zip(BROKERS, free_ports(len(BROKERS)), strict=True))
        for broker, port in ports.items():
            folder = tmp_path / f"broker-{broker}"
            folder.mkdir()
            settings = {
                "broker.id": str(broker),
                "zookeeper.connect": place,
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "log.dirs": str(folder / "data"),
            }
            node = kafka_node(f"broker {broker}", folder, settings, port, request.param)
            stack.callback(node.kill)
            node.start(_START_S)
        found = [f"127.0.0.1:{port}" for port in ports.values()]
        until(lambda: all(map(knows_all, found)))
        yield ",".join(found)


def knows_all(server: str) -> bool:
    with connected(Endpoint(server)) as cluster:
        return len(cluster.brokers()) == len(BROKERS)


def have(cluster: Cluster, servers: str, own: Mapping[Resource, Mapping[str, str]]) -> None:
    """A topic with records, and throttles that an operator set."""
    cluster.create_topic(TOPIC, None, None, dict(enumerate(LAYOUT)))
    fill(servers, TOPIC, len(LAYOUT), 10)
    changes = {at: [Change(key, Op.SET, value) for key, value in of.items()] for at, of in own.items()}
    assert not cluster.alter_configs(changes)
    until(lambda: throttles(cluster, BROKERS, TOPIC).keys() == own.keys())


def is_as(cluster: Cluster, where: Mapping[TopicPartition, object], set_: object) -> bool:
    return replicas(cluster, TOPIC) == where and throttles(cluster, BROKERS, TOPIC) == set_


@pytest.mark.parametrize(
    "servers, own", [(OLDEST, LIST), (VERSION, LIST | RATE)], indirect=["servers"], ids=[OLDEST, VERSION]
)
def test_a_plan_is_handed_over_under_rates_and_undone(
    servers: str, own: Mapping[Resource, Mapping[str, str]], tmp_path: Path
) -> None:
    with connected(Endpoint(servers)) as cluster:
        have(cluster, servers, own)
        plan = exported(tmp_path, servers, "--throttle", "100000")
        done = dict(wanted(LAYOUT, plan, TOPIC))
        for way, after in ((), done), (("--rollback",), replicas(cluster, TOPIC)):
            said = submit(servers, plan, *way)
            assert (said.exit_code, said.stderr) == (0, "")
            until(functools.partial(is_as, cluster, after, own))
        marks = json.loads(progress_file(plan).read_bytes())["throttles"]
        assert {name for kind, name, *_ in marks if kind == "broker"} == {str(broker) for broker in BROKERS}


@pytest.mark.parametrize("servers", [OLDEST], indirect=True)
def test_a_rate_that_could_not_be_given_back_is_refused(servers: str, tmp_path: Path) -> None:
    """Kafka 2.4 does not tell which rate an operator has set."""
    with connected(Endpoint(servers)) as cluster:
        have(cluster, servers, RATE)
        plan = exported(tmp_path, servers, "--throttle", "100000")
        done = submit(servers, plan)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "broker 2 has leader.replication.throttled.rate, and does not tell its value" in done.stderr
        assert throttles(cluster, BROKERS, TOPIC).keys() == RATE.keys()
        assert not progress_file(plan).exists()
        assert submit(servers, plan, "--no-throttle").exit_code == 0
        assert throttles(cluster, BROKERS, TOPIC).keys() == RATE.keys()
