"""A cluster goes from Kafka's own controller to Kedge and back, with its data and its moves."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.admin import NewTopic as KafkaTopic
from kafka.structs import TopicPartition as Tp

from kedge.stores import MetadataStore
from servers import LocalZooKeeper
from tests.kafka_brokers.clients import admin_of, consume, create_topic, produce
from tests.kafka_brokers.cluster import BROKERS, WAIT_S, FollowingCluster, following, until
from tests.kit.commands import run as kedge

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
pytestmark = [pytest.mark.server, pytest.mark.full]


@pytest.fixture(scope="module")
def cluster(zookeeper_server: LocalZooKeeper) -> Iterator[FollowingCluster]:
    settings = {"replica.fetch.max.bytes": "20000", "offsets.topic.replication.factor": "1"}
    with following(zookeeper_server, settings=settings) as found:
        found.start_brokers()
        yield found


def hand_back(cluster: FollowingCluster) -> subprocess.CompletedProcess[str]:
    where = ["kafka-controller", "--store", f"zookeeper://{cluster.chroot}"]
    command = [sys.executable, "-m", "kedge", *where, "--hand-back"]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)


def brokers(cluster: FollowingCluster) -> list[Any]:
    with admin_of(cluster) as made:
        found: list[Any] = made.describe_cluster()["brokers"]
        return found


def controller(cluster: FollowingCluster, store: MetadataStore) -> int | None:
    """The id that brokers take for the controller."""
    found = cluster.read(store, "/controller")
    return None if found is None else int(found["brokerid"])


@pytest.mark.checklist(255)
def test_kafka_goes_on_with_the_moves_that_kedge_hands_back(cluster: FollowingCluster, store: MetadataStore) -> None:
    """Without --take-over it stands by, and has nothing to hand back; with it, it leads; afterwards Kafka
    ends the move."""
    name = f"h{uuid.uuid4().hex[:8]}"
    until("Kafka's controller leads", lambda: controller(cluster, store) in BROKERS)
    create_topic(cluster, KafkaTopic(name, replica_assignments={0: [1]}))
    throttled = ",".join(f"{side}.replication.throttled.replicas=*" for side in ("leader", "follower"))
    where = ("kafka", "configs", "--bootstrap-server", cluster.servers, "--topic", name)
    assert kedge(*where, "--alter", "--add-config", throttled).exit_code == 0  # brokers pass those of a new topic over
    sent = produce(cluster, name) | produce(cluster, name, 100, size=10_000)
    cluster.start_controller()
    log = cluster.folder / "controller-101.log"
    until("it says why it stands by", lambda: "as a Kafka broker does" in log.read_text())
    assert controller(cluster, store) in BROKERS
    epoch, refused = store.get("/controller_epoch", timeout_s=WAIT_S), hand_back(cluster)
    assert f"controller {controller(cluster, store)} leads: it holds /controller by its session" in refused.stderr
    assert (refused.returncode, store.get("/controller_epoch", sync=True, timeout_s=WAIT_S)) == (2, epoch)
    cluster.controllers[101].stop()
    cluster.start_controller(101, "--take-over")
    until("Kedge leads", lambda: controller(cluster, store) == 101)
    until("the internal topics are there", lambda: cluster.has_internal(store))
    until("clients see it", lambda: 101 in {node["broker_id"] for node in brokers(cluster)})
    shown = store.get("/controller", timeout_s=WAIT_S)
    assert shown is not None
    assert shown.owner is None
    sent |= produce(cluster, name)
    throttle(cluster, rate=1)
    with admin_of(cluster) as admin:
        admin.alter_partition_reassignments({Tp(name, 0): [2]})
    until("the move runs", lambda: "targetReplicas" in cluster.states(store, name)[0])
    done = hand_back(cluster)
    assert (done.returncode, done.stderr, "reassignments that it continues: 1" in done.stdout) == (0, "", True), done
    until("Kafka's controller leads again", lambda: controller(cluster, store) in BROKERS)
    topic = cluster.read(store, f"/brokers/topics/{name}")
    assert hand_back(cluster).stdout == "handed back already; nothing was written\n"
    assert (topic["adding_replicas"], topic["removing_replicas"]) == ({"0": [2]}, {"0": [1]})
    throttle(cluster, rate=None)
    until("Kafka ended the move", lambda: cluster.read(store, f"/brokers/topics/{name}")["partitions"] == {"0": [2]})
    sent |= produce(cluster, name)
    assert sent <= set(consume(cluster, name, sent))


def throttle(cluster: FollowingCluster, rate: int | None) -> None:
    """The copying of every replica, in bytes a second; None: none. Each broker has it when this returns."""
    where = ("kafka", "configs", "--bootstrap-server", cluster.servers, "--entity-type", "brokers")
    added = ",".join(f"{name}={rate}" for name in _RATES)
    change = ("--delete-config", ",".join(_RATES)) if rate is None else ("--add-config", added)
    for broker in BROKERS:
        named = (*where, "--entity-name", broker)
        ran = kedge(*named, "--alter", *change)
        assert ran.exit_code == 0, ran.output
        until("the broker has it", lambda: (f"{_RATES[0]}={rate}" in kedge(*named, "--describe").stdout) == bool(rate))  # noqa: B023
