"""A drain of real brokers, from the snapshot to the audit (KIP-455 and KIP-179 on real data)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import uuid

import pytest
from kafka.admin import NewTopic as KafkaTopic

from servers import LocalZooKeeper
from tests.kafka_brokers.clients import consume, create_topic, produce
from tests.kafka_brokers.cluster import CONTROLLERS, WAIT_S, following, until
from tests.kafka_brokers.test_following import throttles
from tests.kit.commands import run as kedge
from tests.pipeline_submit.served import stages

pytestmark = [pytest.mark.server, pytest.mark.full]

PARTITIONS = 12
RATE = 400_000  # bytes a second: some seconds for what is moved


def test_a_planned_drain_survives_its_controller(zookeeper_server: LocalZooKeeper) -> None:
    """Collected at the brokers, submitted at the controllers in waves under a throttle. The active controller is killed
    in the middle. Afterwards broker 3 is empty, no throttle is left, and the audit of both journals finds nothing."""
    with following(zookeeper_server) as cluster, contextlib.closing(cluster.store()) as store:
        cluster.begin(store, CONTROLLERS, "--internal-replication-factor", "2")
        name, pairs = f"d{uuid.uuid4().hex[:8]}", ([1, 3], [3, 2], [2, 3])
        create_topic(cluster, KafkaTopic(name, replica_assignments={p: pairs[p % 3] for p in range(PARTITIONS)}))
        sent = produce(cluster, name, 200) | produce(cluster, name, 4, range(PARTITIONS), size=50_000)
        tables, plan = cluster.folder / "tables", cluster.folder / "plan"
        stages(
            tables,
            cluster.servers,
            ("drain", "--brokers", 3),
            ("waves", "--name", "drain", "--throttle", RATE, "--per-broker", 4),
            ("export", plan, "--name", "drain"),
        )
        gateways = ",".join(cluster.gateway(c) for c in CONTROLLERS)
        command = [sys.executable, "-m", "kedge", "plan", "submit", str(plan), "--bootstrap-server", gateways]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as submit:
            until("moves run", lambda: any("targetReplicas" in s for s in cluster.states(store, name)))
            leader = cluster.read(store, "/controller")["brokerid"]
            assert throttles(cluster, store, name)
            cluster.controllers[leader].kill()
            sent |= produce(cluster, name, 50)
            out, err = submit.communicate(timeout=2 * WAIT_S)
        assert submit.returncode == 0, (out, err)
        until("broker 3 is empty", lambda: all(3 not in s["isr"] for s in cluster.states(store, name)))
        replicas = cluster.read(store, f"/brokers/topics/{name}")["partitions"]
        assert all(sorted(each) == [1, 2] for each in replicas.values()), replicas
        until("no throttle is left", lambda: not throttles(cluster, store, name))
        assert sent <= set(consume(cluster, name, sent))
        journals = [cluster.folder / f"journal-{c}" for c in CONTROLLERS]
        merged = cluster.folder / "journal"
        merged.mkdir()
        for file in (file for folder in journals for file in folder.glob("*.jsonl")):
            file.rename(merged / file.name)
        audited = kedge("journal", "audit", merged)
        assert (audited.exit_code, "no violation" in audited.stderr) == (0, True), audited.output
