"""What real Kafka brokers left in ZooKeeper is taken over there, and what Kafka's own classes say of what we write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, NewTopic, TopicPartition
from kedge.stores.tree import TreeEntry, read_tree
from tests.kit.data import DATA
from tests.real.cluster import Cluster
from tests.real.kafka import Kafka, Refused, compiled, kafka
from tests.real.served import ROOT, Served, kazoo, serve
from tests.real.writes import Written
from tests.stores.zookeeper.interposed import make

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

SESSION_S = 10.0
CONFIGS = {"retention.ms": "1000"}
RATE = "leader.replication.throttled.rate"
READ_BY_KAFKA = (
    "/brokers/topics/t",
    "/brokers/ids/1",
    "/controller",
    "/controller_epoch",
    "/config/topics/t",
    "/cluster/id",
    "/admin/reassign_partitions",
    "/admin/preferred_replica_election",
    "/isr_change_notification/isr_change_0000000000",
    "/config/changes/config_change_0000000000",
)


@pytest.fixture
def zookeeper() -> Iterator[Served]:
    with serve("zookeeper") as served:
        yield served


@pytest.fixture
def raw(zookeeper: Served) -> Iterator[KazooClient]:
    """Kazoo as it is, at the root."""
    with kazoo(address(zookeeper).partition("/")[0]) as client:
        yield client


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"))


@pytest.fixture
def reader(zookeeper: Served, classes: Path, tmp_path: Path, raw: KazooClient) -> Iterator[Kafka]:
    raw.ensure_path(ROOT)
    with kafka(address(zookeeper), classes, tmp_path) as found:
        yield found


def address(zookeeper: Served) -> str:
    return zookeeper.place.partition("://")[2]


def as_planted(tree: tuple[TreeEntry, ...]) -> dict[TopicPartition, tuple[int, ...]]:
    """Where the partitions of a tree are, or are being moved to."""
    found = {}
    for entry in tree:
        if entry.key.startswith("/brokers/topics/") and entry.key.count("/") == 3:
            document = json.loads(entry.value or b"{}")
            for number, replicas in document["partitions"].items():
                removing = document["removing_replicas"].get(number, ())
                tp = TopicPartition(entry.key.rpartition("/")[2], int(number))
                found[tp] = tuple(broker for broker in replicas if broker not in removing)
    return found


def plant(raw: KazooClient, tree: tuple[TreeEntry, ...]) -> None:
    """The tree as it stood, to the number of writes, without its sessions."""
    for entry in tree:
        if not entry.ephemeral:
            make(raw, ROOT + entry.key, entry.value)
            for _ in range(entry.generation):
                raw.set(ROOT + entry.key, entry.value)


def taken_over(cluster: Cluster, planted: dict[TopicPartition, tuple[int, ...]]) -> None:
    """Kafka's moves are finished."""
    cluster.note(planted)
    for broker in cluster.brokers:
        cluster.operators.leave_out("brokers", str(broker))
    for topic in {tp.topic for tp in planted}:
        cluster.operators.leave_out("topics", topic)  # who set what stands there is not known
    cluster.until_converged()
    assert {tp: cluster.partition(tp).replicas for tp in planted} == planted


def said_by_kafka(cluster: Cluster, reader: Kafka) -> None:
    """Kafka's client reads the whole tree, and understands what is committed."""
    read = reader("read")
    for tp, partition in cluster.committed.partitions.items():
        assert f"{tp}=[{','.join(map(str, partition.replicas))}]+[]-[]" in read, (tp, partition, read)


@pytest.fixture(params=["idle", "moving"])
def tree(request: pytest.FixtureRequest) -> tuple[TreeEntry, ...]:
    return read_tree(DATA / f"kafka_3_9_tree_{request.param}.json")


def test_a_tree_of_kafkas_is_worked_on_and_kafkas_own_readers_accept_every_version_of_every_key(
    zookeeper: Served, raw: KazooClient, reader: Kafka, tree: tuple[TreeEntry, ...], tmp_path: Path
) -> None:
    """Kafka's moves are finished, others are made, topics come and go, isrs change; whatever stood in any key at any
    time is what Kafka reads."""
    plant(raw, tree)
    planted = as_planted(tree)
    orders = ConfigResource(ConfigResourceType.TOPIC, "orders")
    first = ConfigResource(ConfigResourceType.BROKER, "1")
    written: list[Written] = []
    with Cluster(zookeeper, tmp_path, controllers=1, brokers=4, session_s=SESSION_S) as cluster:
        cluster.note_writes(written.append)
        taken_over(cluster, planted)
        said_by_kafka(cluster, reader)

        targets = {
            tp: tuple(4 if b == 1 else b for b in r) for tp, r in planted.items() if tp.topic in {"orders", "payments"}
        }
        cluster.hold_back(targets)
        cluster.reassign(targets)
        cluster.ask("create_topics", {"new": NewTopic(3, 2, configs=CONFIGS)})
        reader("read")
        cluster.let_go(targets)
        cluster.ask("delete_topics", ["clicks"])
        cluster.ask("incremental_alter_configs", {orders: [AlterConfigOp("retention.ms", "5000")]})
        cluster.ask("incremental_alter_configs", {first: [AlterConfigOp(RATE, "1000")]})
        cluster.until(lambda: cluster.settled(targets), "the moves are complete")
        # The states of a topic go before its key does; a reader would see the one without the others.
        cluster.until(lambda: not raw.exists(f"{ROOT}/brokers/topics/clicks"), "the topic is gone")
        reader("read")
        cluster.until_converged()
        said_by_kafka(cluster, reader)
        assert cluster.findings() == ()
    found = [(write.key, write.value) for write in written if write.value is not None]
    accepted = [(key, reader.decode(key, value)) for key, value in found]
    kinds = {key.split("/")[1] for key, said in accepted if said != "unread"}
    assert {"brokers", "controller", "controller_epoch", "config"} <= kinds
    told = [key for key, said in accepted if key.startswith("/config/changes/") and said != "unread"]
    assert len(told) == 2 + sum(entry.key.startswith("/config/changes/") for entry in tree)
    assert any(b'"targetReplicas"' in (write.value or b"") for write in written)


def test_kafkas_running_moves_are_taken_over_on_etcd_and_finished(tmp_path: Path) -> None:
    """Each key is written as often as it had been, since that is the partition epoch."""
    tree = read_tree(DATA / "kafka_3_9_tree_moving.json")
    with serve("etcd") as served:
        for entry in tree:
            for _ in range(0 if entry.value is None or entry.ephemeral else 1 + entry.generation):
                served.put(entry.key, entry.value or b"")
        with Cluster(served, tmp_path, controllers=1, brokers=3, session_s=SESSION_S) as cluster:
            taken_over(cluster, as_planted(tree))
            assert cluster.findings() == ()


def test_kafkas_readers_would_say_no(reader: Kafka) -> None:
    """What they are asked is a question: broken values are refused, whatever the key."""
    state = "/brokers/topics/t/partitions/0/state"
    for key in (state, *READ_BY_KAFKA):
        with pytest.raises(Refused):
            reader.decode(key, b"{oops")
    with pytest.raises(Refused, match="leader_epoch"):
        reader.decode(state, b'{"version":1,"leader":1,"isr":[1],"controller_epoch":1}')


def test_what_kafkas_writers_write_is_worked_off(
    zookeeper: Served, raw: KazooClient, reader: Kafka, tmp_path: Path
) -> None:
    """By Kafka's own client: moves and elections by key, deletions, isrs, disks, settings, generated ids."""
    reader("paths")
    with Cluster(zookeeper, tmp_path, controllers=1, brokers=3, session_s=SESSION_S) as cluster:
        t = cluster.create_topic("t", [[1, 2], [2, 3]], records=1)
        cluster.create_topic("doomed", [[1, 2]], records=1)

        cluster.note({t[0]: (3, 2)})
        reader("reassign", "t", 0, "3,2")
        cluster.until(lambda: cluster.settled({t[0]: (3, 2)}), "the move is complete")
        cluster.until(lambda: not raw.exists(f"{ROOT}/admin/reassign_partitions"), "the key is gone")

        reader("elect", "t", 0)
        cluster.until(lambda: not raw.exists(f"{ROOT}/admin/preferred_replica_election"), "the key is gone")
        cluster.until(lambda: cluster.brokers[3].leads(t[0]), "the preferred replica leads")

        reader("delete", "doomed")
        cluster.until(lambda: not raw.exists(f"{ROOT}/brokers/topics/doomed"), "the topic is gone")

        path = f"{ROOT}/brokers/topics/t/partitions/1/state"
        state = json.loads(raw.get(path)[0])
        raw.set(path, json.dumps({**state, "isr": [2]}).encode())  # as a leader of Kafka's does by itself
        reader("isr", "t", 1)
        cluster.until(lambda: shrunk(cluster, t[1]), "the brokers hear of the isr")

        reader("logdir", 1)
        reader("config", "t", "retention.ms", "7")
        told = ("topics", "t", {"retention.ms": "7"})
        heard = cluster.leader_node.notices
        cluster.until(lambda: any(notice.arguments == told for notice in heard), "the setting is noticed")
        for parent in ("isr_change_notification", "log_dir_event_notification"):
            cluster.until(lambda: not raw.get_children(f"{ROOT}/{parent}"), f"{parent} is read and cleared")  # noqa: B023

        ids = [int(reader("id")), cluster.ask("generate_broker_id") - 1000, int(reader("id"))]
        assert len(set(ids)) == 3
        cluster.until_converged()
        assert cluster.findings() == ()


def shrunk(cluster: Cluster, tp: TopicPartition) -> bool:
    """Whether some broker has heard of an isr of the leader alone."""
    told = (p for call in cluster.calls for p in getattr(call, "partitions", ()) if hasattr(p, "isr"))
    return any(p.topic == tp.topic and p.partition == tp.partition and p.isr == (2,) for p in told)
