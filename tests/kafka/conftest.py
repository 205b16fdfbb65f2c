"""What the tests of this folder share: one cluster, Kafka's tools beside it, and the `kedge` command."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from kafka import KafkaProducer

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.errors import Refused
from kedge.controller.cli.kafka.values import UNKNOWN_TOPIC, Change, Op, Resource, ResourceType, Source
from kedge.controller.cli.root import kedge
from kedge.controller.model.values import TopicPartition
from tests.kafka.java_tools import JavaTools, Ran, java_tools
from tests.kafka_servers import BROKERS, KafkaCluster
from tests.kit.commands import plan as run_plan
from tests.kit.waiting import until

_WAIT_S = 60.0
_RECORD = b"x" * 10_000

Kedge = Callable[..., Result]
Topics = Callable[..., str]
Java = Callable[..., Ran]
Throttles = dict[str, dict[str, str | None]]
SLOW = 2000


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTools]:
    with java_tools(tmp_path_factory.mktemp("tools")) as found:
        yield found


@pytest.fixture
def java(tools: JavaTools, kafka_cluster: KafkaCluster, request: pytest.FixtureRequest) -> Java:

    def invoke(*arguments: object) -> Ran:
        return tools(request.module.TOOL, "--bootstrap-server", kafka_cluster.servers, *arguments)

    return invoke


@pytest.fixture(scope="session")
def session(kafka_cluster: KafkaCluster) -> Iterator[Cluster]:
    """A connection of the tests' own, which all brokers have joined."""
    with connected(Endpoint(kafka_cluster.servers)) as found:
        until(lambda: len(found.brokers()) == len(BROKERS))
        yield found


@pytest.fixture
def cluster(session: Cluster) -> Iterator[Cluster]:
    """The same, and after the test nothing moves any more."""
    yield session
    moves = session.reassignments()
    if moves:
        session.alter_reassignments(dict.fromkeys(moves))


@pytest.fixture
def run(kafka_cluster: KafkaCluster) -> Kedge:

    def invoke(command: str, *arguments: object) -> Result:
        where = ["kafka", command, "--bootstrap-server", kafka_cluster.servers]
        return CliRunner().invoke(kedge, [*where, *map(str, arguments)])

    return invoke


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Topics]:
    """Makes topics with names of their own, which go after the test. `assignment`: replicas of each partition."""
    numbers, made = itertools.count(), []

    def make(assignment: Sequence[Sequence[int]], name: str = "") -> str:
        name = name or f"{re.sub('[^a-z_]', '', request.node.name[5:40])}.{next(numbers)}"
        cluster.create_topic(name, None, None, dict(enumerate(assignment)))
        made.append(name)
        until(lambda: are_known(cluster, [name], len(assignment)))
        return name

    yield make
    moves = [tp for tp in cluster.reassignments() if tp.topic in made]
    if moves:
        cluster.alter_reassignments(dict.fromkeys(moves))
    if made:
        cluster.delete_topics(made)
        until(lambda: are_known(cluster, made, None))


def throttles(cluster: Cluster, topics: list[str]) -> Throttles:
    resources = [Resource(ResourceType.BROKER, str(b)) for b in cluster.brokers()]
    resources += [Resource(ResourceType.TOPIC, topic) for topic in topics]
    found = {}
    for resource, settings in cluster.describe_configs(resources).items():
        assert not isinstance(settings, Refused)
        found[resource.name] = {
            name: s.value
            for name, s in settings.items()
            if "throttled" in name and s.source not in {Source.DEFAULT_CONFIG, Source.STATIC_BROKER_CONFIG}
        }
    return {name: set_ for name, set_ in found.items() if set_}


@pytest.fixture
def slow(cluster: Cluster) -> Iterator[Callable[..., Throttles]]:
    """An operator throttles all replicas of these topics; what is set once every broker reports it."""
    lists = [f"{side}.replication.throttled.replicas" for side in ("leader", "follower")]
    rates = [f"{side}.replication.throttled.rate" for side in ("leader", "follower")]
    brokers = [Resource(ResourceType.BROKER, str(broker)) for broker in cluster.brokers()]

    def throttle(*topics: str) -> Throttles:
        changes = {Resource(ResourceType.TOPIC, name): [Change(key, Op.SET, "*") for key in lists] for name in topics}
        changes |= {broker: [Change(key, Op.SET, str(SLOW)) for key in rates] for broker in brokers}
        assert cluster.alter_configs(changes) == {}
        until(lambda: len(throttles(cluster, [*topics])) == len(changes))
        return throttles(cluster, [*topics])

    yield throttle
    cluster.alter_configs({broker: [Change(key, Op.DELETE) for key in rates] for broker in brokers})
    until(lambda: not throttles(cluster, []))


def are_known(cluster: Cluster, names: Collection[str], partitions: int | None) -> bool:
    """Whether every broker tells of so many partitions of these topics, all with a leader; None: of none."""
    for broker in BROKERS:
        for topic in _described(cluster, names, broker):
            leaders = None if topic.error_code == UNKNOWN_TOPIC else [p.leader_id >= 0 for p in topic.partitions]
            if leaders != (None if partitions is None else [True] * partitions):
                return False
    return True


def _described(cluster: Cluster, names: Collection[str], broker: int) -> Sequence[Any]:
    asked = [{"name": name} for name in names]
    answer = cluster.client.ask("Metadata", broker, topics=asked, allow_auto_topic_creation=False)
    return cast("Sequence[Any]", answer.topics)


def submit(servers: str, plan: Path, *more: object) -> Result:
    return run_plan("submit", plan, "--bootstrap-server", servers, "--poll", "0.2s", "--timeout", "50s", *more)


def produce(servers: str, topic: str, records: int, partition: int = 0) -> None:
    """Records of 10 kB each, all of them acknowledged by all replicas."""
    producer = KafkaProducer(bootstrap_servers=servers.split(","), acks="all")
    try:
        for sent in [producer.send(topic, value=_RECORD, partition=partition) for _ in range(records)]:
            sent.get(_WAIT_S)
    finally:
        producer.close()


def plan(folder: Path, replicas: dict[tuple[str, int], Sequence[int]], name: str = "plan.json") -> Path:
    partitions = [{"topic": t, "partition": p, "replicas": [*r]} for (t, p), r in replicas.items()]
    file = folder / name
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return file


def replicas(cluster: Cluster, topic: str, partition: int = 0) -> tuple[int, ...]:
    return next(p.replicas for p in cluster.topics([topic])[topic].partitions if p.index == partition)


def until_moved(cluster: Cluster, wanted: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Until every broker tells that these partitions have these replicas, all in sync, and nothing of them moves.

    Kafka's tools ask any broker, and a broker hears of the end of a move a moment after the controller.
    """
    until(lambda: _are_moved(cluster, wanted))


def _are_moved(cluster: Cluster, wanted: Mapping[tuple[str, int], Sequence[int]]) -> bool:
    names = sorted({topic for topic, _ in wanted})
    for broker in BROKERS:
        found = {
            (topic.name, p.partition_index): (p.replica_nodes, sorted(p.isr_nodes))
            for topic in _described(cluster, names, broker)
            for p in topic.partitions
        }
        if any(found.get(tp) != ([*r], sorted(r)) for tp, r in wanted.items()):
            return False
    return not any(tp.topic in names for tp in cluster.reassignments())


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, p) for p in range(count)]
