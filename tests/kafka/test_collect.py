"""`kedge plan collect` of a real Kafka cluster: what it tells of itself is a snapshot that plans can be made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.stages.log_dirs import capacity_of
from kedge.pipeline.tables.declared import BROKER, BROKER_VALID, LOG_DIR_VALID, PARTITION, REPLICA_LOG
from kedge.pipeline.tables.files import Place
from tests.kafka.conftest import Topics, produce
from tests.kafka_servers import BROKERS, KafkaCluster

pytestmark = [pytest.mark.server, pytest.mark.full]


def test_a_kafka_cluster_is_collected_and_a_drain_of_it_is_planned(
    kafka_cluster: KafkaCluster, topic: Topics, tmp_path: Path
) -> None:
    name = topic([[1, 2], [2, 3]])
    produce(kafka_cluster.servers, name, 3)
    named = ["--cluster", "kafka", "--snapshot", "1", "--bootstrap-server", kafka_cluster.servers]
    done = CliRunner().invoke(kedge, ["plan", "collect", str(tmp_path), *named])
    assert (done.exit_code, done.stderr) == (0, "")
    place = Place(tmp_path, "kafka", "1")
    assert {row["broker_id"]: row["state"] for row in place.read(BROKER).to_pylist()} == dict.fromkeys(BROKERS, "alive")
    rows = [row for row in place.read(PARTITION).to_pylist() if row["topic"] == name]
    assert [(row["replicas"], row["leader"], row["retention_ms"]) for row in rows] == [
        ([1, 2], 1, 604_800_000),
        ([2, 3], 2, 604_800_000),
    ]
    logs = [row for row in place.read(REPLICA_LOG).to_pylist() if row["topic"] == name and row["partition"] == 0]
    assert {row["broker_id"] for row in logs} == {1, 2}
    assert all(row["size_bytes"] > 30_000 for row in logs)
    dirs = place.read(LOG_DIR_VALID).to_pylist()
    assert {row["broker_id"]: row["disk_capacity_bytes"] for row in place.read(BROKER_VALID).to_pylist()} == {
        broker: sum(capacity_of(row) or 0 for row in dirs if row["broker_id"] == broker) for broker in BROKERS
    }
    assert all(row["usable_bytes"] <= row["total_bytes"] for row in dirs)
    drained = CliRunner().invoke(kedge, ["plan", "drain", str(tmp_path), "--brokers", "1", "--json"])
    said = json.loads(drained.stdout)
    assert said["bytes_copied"] == said["bytes_bound"] > 30_000
