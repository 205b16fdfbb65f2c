"""Plans for clusters that a gateway serves, made and handed over by commands: collected from the brokers, cut into
waves, exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from click.testing import Result
from kafka import KafkaProducer

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.errors import Refused
from kedge.controller.cli.kafka.values import Resource, ResourceType, Source
from kedge.controller.model.values import TopicPartition
from kedge.pipeline.submit.cluster import Replica
from tests.kit.commands import plan as run
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S

RACKS: Final = {1: "a", 2: "b", 3: "c", 4: "a"}
LAYOUT: Final = ((1, 2), (2, 1), (1, 3), (3, 4))
KAFKAS_KEYS: Final = range(20_000)
"""A gateway that offers these alone is asked as Kafka is."""
_OWN: Final = {Source.DYNAMIC_BROKER_CONFIG, Source.DYNAMIC_TOPIC_CONFIG}
_RECORD: Final = b"x" * 10_000


def exported(folder: Path, servers: str, *waves: object, drained: int = 1) -> Path:
    """A plan by which a broker is drained, in waves."""
    out = folder / "plan"
    stages(
        folder / "tables",
        servers,
        ("drain", "--brokers", drained),
        ("waves", "--name", "drain", "--per-broker", 1, *waves),
        ("export", out, "--name", "drain"),
    )
    return out


def stages(tables: Path, servers: str, *steps: tuple[object, ...], more: tuple[object, ...] = ()) -> None:
    """Collect, with `more` options, and these commands of `kedge plan` on what was collected."""
    where = ("--cluster", "c", "--snapshot", "1", "--bootstrap-server", servers)
    for command, *arguments in (("collect", *where, *more), *steps):
        done = run(command, tables, *arguments, "--no-progress")
        assert done.exit_code == 0, (command, done.output)


def targets(plan: Path, kind: str = "") -> dict[TopicPartition, tuple[int, ...]]:
    """Where the plan puts its partitions; `kind` "rollback/": where they were."""
    entries = json.loads((plan / f"{kind}plan.json").read_bytes())["partitions"]
    return {TopicPartition(entry["topic"], entry["partition"]): tuple(entry["replicas"]) for entry in entries}


def fill(servers: str, topic: str, partitions: int, records: int) -> None:
    """Records of 10 kB in each partition, acknowledged by all replicas, of which the brokers have reported the sizes:
    by these a plan is cut into waves."""
    producer = KafkaProducer(bootstrap_servers=servers.split(","), acks="all")
    sent = [producer.send(topic, value=_RECORD, partition=p) for p in range(partitions) for _ in range(records)]
    for each in sent:
        each.get(DEADLINE_S)
    producer.close()
    with connected(Endpoint(servers)) as cluster:
        filled = {((topic, tp.partition), b) for tp, brokers in replicas(cluster, topic).items() for b in brokers}
        until(lambda: filled <= {one for one, size in sizes(cluster).items() if size >= records * len(_RECORD)})


def sizes(cluster: Cluster) -> dict[Replica, int]:
    """Bytes of every replica."""
    return {
        ((tp.topic, tp.partition), broker): each.size
        for broker in cluster.brokers()
        for tp, places in cluster.log_dirs(broker).replicas.items()
        for each in places
    }


def objects(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def replicas(cluster: Cluster, topic: str) -> dict[TopicPartition, tuple[int, ...]]:
    """Where they are."""
    return {TopicPartition(topic, p.index): p.replicas for p in cluster.topics([topic])[topic].partitions}


def throttles(cluster: Cluster, brokers: Iterable[int], *topics: str) -> dict[Resource, dict[str, str | None]]:
    """What is set of them, on these brokers and topics."""
    resources = [Resource(ResourceType.BROKER, str(b)) for b in brokers]
    resources += [Resource(ResourceType.TOPIC, topic) for topic in topics]
    found = {}
    for resource, said in cluster.describe_configs(resources).items():
        assert not isinstance(said, Refused)
        found[resource] = {name: s.value for name, s in said.items() if "throttled" in name and s.source in _OWN}
    return {resource: set_ for resource, set_ in found.items() if set_}


def wanted(before: Sequence[Sequence[int]], plan: Path, topic: str) -> Mapping[TopicPartition, tuple[int, ...]]:
    """Where all are once the plan is done."""
    return {TopicPartition(topic, p): tuple(each) for p, each in enumerate(before)} | targets(plan)
