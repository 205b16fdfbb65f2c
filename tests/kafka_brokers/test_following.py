"""Stock Kafka 3.9.1 brokers in ZooKeeper mode follow `kedge kafka-controller`, at the newest inter-broker protocol and
at the oldest that Kedge serves. The table of `docs/kafka-brokers.md` lists these steps."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import confluent_kafka
import pytest
from kafka.admin import NewPartitions
from kafka.admin import NewTopic as KafkaTopic
from kafka.structs import TopicPartition as Tp

from kedge.stores import MetadataStore
from servers import LocalZooKeeper
from tests.kafka.java_tools import java_tools
from tests.kafka_brokers.clients import admin_of, consume, create_topic, produce
from tests.kafka_brokers.cluster import BROKERS, WAIT_S, FollowingCluster, following, until
from tests.kit.commands import run as kedge

pytestmark = [pytest.mark.server, pytest.mark.full]

PRODUCER: Final = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"


@pytest.fixture(scope="module", params=["3.9", "2.8"])
def cluster(zookeeper_server: LocalZooKeeper, request: pytest.FixtureRequest) -> Iterator[FollowingCluster]:
    with following(zookeeper_server, ibp=request.param) as found:
        with contextlib.closing(found.store()) as store:
            found.begin(store)
        yield found


@pytest.fixture
def topic(cluster: FollowingCluster) -> str:
    """A new topic of six partitions with three replicas each."""
    name = f"t{uuid.uuid4().hex[:8]}"
    create_topic(cluster, KafkaTopic(name, 6, 3))
    return name


def are_in_sync(cluster: FollowingCluster, store: MetadataStore, topic: str) -> bool:
    return all(sorted(state["isr"]) == sorted(BROKERS) for state in cluster.states(store, topic))


@pytest.mark.checklist(247)
def test_groups_read_what_was_acknowledged(cluster: FollowingCluster, store: MetadataStore, topic: str) -> None:
    sent = produce(cluster, topic)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
    assert are_in_sync(cluster, store, topic)


@pytest.mark.checklist(254)
def test_internal_topics_have_replicas_on_brokers_alone(cluster: FollowingCluster, store: MetadataStore) -> None:
    for name in ("__consumer_offsets", "__transaction_state"):
        replicas = cluster.read(store, f"/brokers/topics/{name}")["partitions"].values()
        assert {broker for each in replicas for broker in each} == set(BROKERS)


@pytest.mark.checklist(250)
def test_a_killed_broker_loses_its_leads_and_comes_back(
    cluster: FollowingCluster, store: MetadataStore, topic: str
) -> None:
    sent = produce(cluster, topic)
    cluster.brokers[2].kill()
    until("broker 2 leads nothing", lambda: all(s["leader"] != 2 for s in cluster.states(store, topic)))
    sent |= produce(cluster, topic)
    cluster.revive(2)
    until("broker 2 is in sync again", lambda: are_in_sync(cluster, store, topic))
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)


def test_a_move_copies_the_data(cluster: FollowingCluster, store: MetadataStore) -> None:
    name = f"m{uuid.uuid4().hex[:8]}"
    create_topic(cluster, KafkaTopic(name, replica_assignments={0: [1], 1: [1]}))
    sent = produce(cluster, name)
    with admin_of(cluster) as admin:
        admin.alter_partition_reassignments({Tp(name, 0): [2, 3], Tp(name, 1): [3, 2]})
    until("both moved", lambda: [sorted(s["isr"]) for s in cluster.states(store, name)] == [[2, 3], [2, 3]])
    assert sorted(consume(cluster, name, sent)) == sorted(sent)


def test_a_transaction_is_committed_or_aborted(cluster: FollowingCluster, topic: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.servers, "transactional.id": topic})
    producer.init_transactions(WAIT_S)
    for value, ends in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        ends(WAIT_S)
    assert consume(cluster, topic, {b"kept"}, **{"isolation.level": "read_committed"}) == [b"kept"]


@pytest.mark.checklist(251)
def test_partitions_are_added_and_a_topic_is_deleted(
    cluster: FollowingCluster, store: MetadataStore, topic: str
) -> None:
    with admin_of(cluster) as admin:
        admin.create_partitions({topic: NewPartitions(8)})
    until("the new partitions have leaders", lambda: len(cluster.states(store, topic)) == 8)
    until("all are in sync", lambda: are_in_sync(cluster, store, topic))
    with admin_of(cluster) as admin:
        admin.delete_topics([topic])
    until("the topic is gone", lambda: cluster.read(store, f"/brokers/topics/{topic}") is None)
    logs = [path for b in BROKERS for path in (cluster.folder / f"broker-{b}").glob(f"*/{topic}-*[0-9]")]
    assert logs == []


@pytest.mark.checklist(250, 251)
def test_a_broker_that_shuts_down_hands_its_leads_over_first(cluster: FollowingCluster, store: MetadataStore) -> None:
    """Controlled shutdown, and after its return the preferred election gives its leads back."""
    name = f"s{uuid.uuid4().hex[:8]}"
    create_topic(cluster, KafkaTopic(name, replica_assignments={0: [3, 1, 2]}))
    sent = produce(cluster, name)
    cluster.brokers[3].stop()
    assert cluster.states(store, name)[0]["leader"] != 3
    sent |= produce(cluster, name)
    cluster.revive(3)
    until("broker 3 is in sync again", lambda: are_in_sync(cluster, store, name))
    with admin_of(cluster) as admin:
        admin.elect_leaders(0, {name: [0]})  # preferred
    until("broker 3 leads again", lambda: cluster.states(store, name)[0]["leader"] == 3)
    assert sorted(consume(cluster, name, sent)) == sorted(sent)


@pytest.mark.checklist(253)
def test_all_brokers_are_killed_and_come_back(cluster: FollowingCluster, store: MetadataStore, topic: str) -> None:
    sent = produce(cluster, topic)
    for process in cluster.brokers.values():
        process.kill()
    cluster.revive(*BROKERS)
    until("all are in sync again", lambda: are_in_sync(cluster, store, topic))
    sent |= produce(cluster, topic)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
    checked = kedge("store", "audit", f"zookeeper://{cluster.chroot}")
    assert checked.exit_code == 0, checked.output


@pytest.mark.checklist(252)
def test_the_leaders_of_a_lost_log_directory_move(cluster: FollowingCluster, store: MetadataStore, topic: str) -> None:
    """A file stands where the directory was: the broker cannot write its checkpoints, and gives the directory up."""
    sent = produce(cluster, topic)
    lost = cluster.folder / "broker-1" / "one"
    held = {int(path.name.rpartition("-")[2]) for path in lost.glob(f"{topic}-*")}
    assert held, "broker 1 has replicas of the topic in that directory"
    lost.rename(lost.with_name("gone"))
    lost.touch()
    until(
        "broker 1 leads none of them and is in no isr of them",
        lambda: all(
            s["leader"] != 1 and 1 not in s["isr"] for p, s in enumerate(cluster.states(store, topic)) if p in held
        ),
    )
    sent |= produce(cluster, topic)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
    cluster.brokers[1].kill()
    lost.unlink()
    lost.with_name("gone").rename(lost)
    cluster.revive(1)
    until("broker 1 is in sync again", lambda: are_in_sync(cluster, store, topic))


@pytest.mark.checklist(248)
def test_a_throttled_move_ends_its_throttle_and_can_be_cancelled(
    cluster: FollowingCluster, store: MetadataStore
) -> None:
    """By `kedge kafka reassign-partitions` at the controller's gateway (KIP-179), on real data."""
    name, leader = f"q{uuid.uuid4().hex[:8]}", cluster.read(store, "/controller")["brokerid"]
    create_topic(cluster, KafkaTopic(name, replica_assignments={0: [1], 1: [1]}))
    sent = produce(cluster, name, 20)
    sent |= produce(cluster, name, 20, (0, 1), size=100_000)
    plan, gateway = cluster.folder / f"{name}.json", cluster.gateway(leader)
    command = ("kafka", "reassign-partitions", "--bootstrap-server", gateway, "--reassignment-json-file", plan)
    for target, throttle in (([2], 1_000), ([3], 50_000_000)):
        moves = [{"topic": name, "partition": p, "replicas": target} for p in (0, 1)]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        ran = kedge(*command, "--execute", "--throttle", throttle)
        assert ran.exit_code == 0, ran.output
        if throttle == 1_000:
            until("the moves run", lambda: all("targetReplicas" in s for s in cluster.states(store, name)))
            until("broker 2 has logs of it", lambda: logs_of(cluster, 2, name))
            ran = kedge(*command, "--cancel")
            assert ran.exit_code == 0, ran.output
            until("nothing moves", lambda: all("targetReplicas" not in s for s in cluster.states(store, name)))
            assert [s["isr"] for s in cluster.states(store, name)] == [[1], [1]]
            until("broker 2 holds nothing of it", lambda: not logs_of(cluster, 2, name))
    until("both moved", lambda: [s["isr"] for s in cluster.states(store, name)] == [[3], [3]])
    until("no throttle is left", lambda: not throttles(cluster, store, name))
    assert sent <= set(consume(cluster, name, sent))
    with admin_of(cluster) as admin:
        admin.delete_topics([name])  # one replica: its broker could not shut down in good order


def logs_of(cluster: FollowingCluster, broker: int, topic: str) -> list[Path]:
    return list((cluster.folder / f"broker-{broker}").glob(f"*/{topic}-*[0-9]"))


def throttles(cluster: FollowingCluster, store: MetadataStore, topic: str) -> list[str]:
    owners = [f"/config/topics/{topic}", *(f"/config/brokers/{broker}" for broker in BROKERS)]
    found = [cluster.read(store, key) or {"config": {}} for key in owners]
    return [name for each in found for name in each["config"] if "throttled" in name]


@pytest.mark.checklist(247)
def test_java_clients_produce_and_read_in_a_group(cluster: FollowingCluster, topic: str, tmp_path: Path) -> None:
    with java_tools(tmp_path) as tools:
        where = ("--producer-props", f"bootstrap.servers={cluster.servers}", "acks=all")
        made = tools(PRODUCER, "--topic", topic, "--num-records", 100, "--record-size", 50, "--throughput", -1, *where)
        assert (made.code, "100 records sent" in made.out) == (0, True), made
        read = tools(
            CONSUMER, "--bootstrap-server", cluster.servers, "--topic", topic, "--from-beginning",
            "--group", topic, "--max-messages", 100, "--timeout-ms", int(WAIT_S * 1000),
        )  # fmt: skip
        assert (read.code, len(read.out.split())) == (0, 100), read


def test_the_stand_by_leads_when_the_controller_is_killed(
    cluster: FollowingCluster, store: MetadataStore, topic: str
) -> None:
    leader = cluster.read(store, "/controller")["brokerid"]
    sent = produce(cluster, topic)
    cluster.controllers[leader].kill()
    until(
        "the other controller leads", lambda: cluster.read(store, "/controller")["brokerid"] not in {leader, *BROKERS}
    )
    sent |= produce(cluster, topic)
    cluster.start_controller(leader)
    assert sorted(consume(cluster, topic, sent)) == sorted(sent)
