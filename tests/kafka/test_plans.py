"""What fleets ask for, on a real Kafka cluster: plans by disks and by networks, from the collected snapshot to where
the replicas are in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from tests.kafka.conftest import Kedge, Topics, partitions_of, submit
from tests.kafka_servers import BROKERS, KafkaCluster
from tests.kit.waiting import until
from tests.pipeline_submit.served import fill, replicas, stages

pytestmark = [pytest.mark.server, pytest.mark.full]

RATE = "kafka_server_BrokerTopicMetrics_OneMinuteRate"


def bytes_in(cluster: Cluster, broker: int, topic: str) -> dict[str, int]:
    """What each directory of a broker holds of the topic; nothing as long as any of it is on the way."""
    logs = [log for tp, found in cluster.log_dirs(broker).replicas.items() if tp.topic == topic for log in found]
    if any(log.is_future for log in logs):
        return {}
    return {path: sum(log.size for log in logs if log.path == path) for path in {log.path for log in logs}}


def test_the_directories_of_a_broker_are_levelled_and_taken_back(
    *, kafka_cluster: KafkaCluster, run: Kedge, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """All of it was in one; as the page says, `kafka-reassign-partitions` runs the plan and its rollback."""
    name = topic([[1]] * 4)
    full, empty = map(str, kafka_cluster.log_dirs(1))
    assert not cluster.alter_log_dirs(1, dict.fromkeys(partitions_of(name, 4), full))
    fill(kafka_cluster.servers, name, 4, 10)
    until(lambda: bytes_in(cluster, 1, name).keys() == {full})
    exported = tmp_path / "disks"
    chosen = ("--brokers", 1, "--topics", name, "--tolerance", 0.2)
    stages(
        tmp_path / "tables",
        kafka_cluster.servers,
        ("balance-disks", *chosen, "--name", "disks"),
        ("export", exported, "--name", "disks"),
    )
    before, held = bytes_in(cluster, 1, name), {}
    for file, there in (("plan.json", {full, empty}), ("rollback/plan.json", {full})):
        done = run("reassign-partitions", "--execute", "--reassignment-json-file", exported / file)
        assert done.exit_code == 0, done.output
        until(lambda there=there: bytes_in(cluster, 1, name).keys() == there)  # type: ignore[misc]
        held[file] = bytes_in(cluster, 1, name)
    assert max(held["plan.json"].values()) <= 1.2 * sum(before.values()) / 2
    assert held["rollback/plan.json"] == before


def test_the_networks_of_brokers_are_levelled(
    *, kafka_cluster: KafkaCluster, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """By rates that the brokers' exporters tell of: one broker receives everything at first, and in the end each
    receives a third."""
    name = topic([[1]] * 6)
    fill(kafka_cluster.servers, name, 6, 1)
    for broker in BROKERS:
        rate = 6e6 if broker == 1 else 0
        (tmp_path / f"{broker}.txt").write_text(f'{RATE}{{name="BytesInPerSec",topic="{name}"}} {rate}\n')
    exporters = tuple(word for b in BROKERS for word in ("--prometheus", f"{b}={tmp_path / f'{b}.txt'}"))
    exported = tmp_path / "networks"
    stages(
        tmp_path / "tables",
        kafka_cluster.servers,
        ("rebalance", "--by", "network-in", "--topics", name, "--ignore-racks", "--name", "n"),
        ("waves", "--name", "n"),
        ("export", exported, "--name", "n"),
        more=exporters,
    )
    done = submit(kafka_cluster.servers, exported)
    assert (done.exit_code, done.stderr) == (0, "")
    assert sorted(replicas(cluster, name).values()) == [(1,), (1,), (2,), (2,), (3,), (3,)]
