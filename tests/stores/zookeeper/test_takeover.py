"""What real Kafka brokers left in ZooKeeper in the middle of their moves, taken over there and finished."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import WatchedEvent

from kedge import Controller, HostResponse, TopicPartition
from kedge.controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge.stores import open_store
from kedge.stores.tree import TreeEntry, read_tree
from tests.kit.data import DATA
from tests.kit.waiting import until
from tests.stores.zookeeper.test_layout import make

pytestmark = [pytest.mark.server, pytest.mark.slow]
WAIT_S = 60.0


class Brokers:
    """Brokers that copy at once: what is to be moved is in sync as soon as its leader hears of it."""

    def __init__(self) -> None:
        self.controller: Controller | None = None
        self.deleted: set[tuple[str, int, int]] = set()

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        assert self.controller is not None
        for partition in request.partitions:
            wanted = [*partition.isr, *(b for b in partition.target_replicas or () if b not in partition.isr)]
            if partition.leader == request.broker_id and len(wanted) > len(partition.isr):
                self.controller.alter_isr(
                    TopicPartition(partition.topic, partition.partition),
                    partition.leader,
                    partition.leader_epoch,
                    partition.partition_epoch,
                    wanted,
                    request.broker_epoch,
                )
        return HostResponse()

    def update_metadata(self, _: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        self.deleted |= {(p.topic, p.partition, request.broker_id) for p in request.partitions if p.delete}
        return HostResponse()


class Onlooker:
    """An independent client that reads the topics again at every change, and keeps what is no JSON."""

    def __init__(self, raw: KazooClient, root: str) -> None:
        self.seen = 0
        self.broken: list[tuple[str, object]] = []
        self._raw = raw
        self._root = root
        for topic in raw.get_children(f"{root}/brokers/topics"):
            self._look(f"{root}/brokers/topics/{topic}")
            for number in raw.get_children(f"{root}/brokers/topics/{topic}/partitions"):
                self._look(f"{root}/brokers/topics/{topic}/partitions/{number}/state")
        self.first = self.seen

    def _look(self, path: str) -> None:
        try:
            data, _ = self._raw.get(path, watch=self._again)
        except NoNodeError:
            return  # it was deleted after the event
        self.seen += 1
        try:
            assert isinstance(json.loads(data), dict)
        except (TypeError, ValueError, AssertionError):
            self.broken.append((path, data))

    def _again(self, event: WatchedEvent) -> None:
        if event.type == "CHANGED":
            threading.Thread(target=self._look, args=(event.path,)).start()


def plant(raw: KazooClient, root: str, tree: tuple[TreeEntry, ...]) -> None:
    """The tree as it stood, to the number of writes: its brokers live as long as `raw`, its controller is gone."""
    raw.ensure_path(root)
    for entry in tree:
        if entry.ephemeral and entry.key != "/controller":
            raw.create(root + entry.key, entry.value, ephemeral=True)
        elif not entry.ephemeral:
            make(raw, root + entry.key, entry.value)
            for _ in range(entry.generation):
                raw.set(root + entry.key, entry.value)


@pytest.fixture
def onlooker(raw: KazooClient, chroot: str) -> Onlooker:
    plant(raw, chroot, read_tree(DATA / "kafka_3_9_tree_moving.json"))
    return Onlooker(raw, chroot)


@pytest.fixture
def controller(url: str, onlooker: Onlooker) -> Iterator[Controller]:
    assert onlooker.broken == []
    brokers = Brokers()
    with Controller(open_store(url), node_id=1, host=brokers) as made:
        brokers.controller = made
        made.start()
        yield made


@pytest.mark.usefixtures("controller")
def test_kafkas_moves_are_finished_in_zookeeper(raw: KazooClient, chroot: str, onlooker: Onlooker) -> None:
    """Every partition ends on the replicas that Kafka was asked for, in Kafka's layout, and reads at any time
    finds JSON."""
    targets = {0: [1, 3], 1: [2, 1], 2: [3, 2], 3: [2, 3], 4: [1, 2], 5: [2, 3]}

    def topic() -> dict[str, object]:
        document: dict[str, object] = json.loads(raw.get(f"{chroot}/brokers/topics/orders")[0])
        return document

    deadline_s = time.monotonic() + WAIT_S
    while topic()["partitions"] != {str(p): replicas for p, replicas in targets.items()}:
        assert time.monotonic() < deadline_s, topic()
        time.sleep(0.02)
    for partition, replicas in targets.items():
        data, stat = raw.get(f"{chroot}/brokers/topics/orders/partitions/{partition}/state")
        state = json.loads(data)
        assert set(state["isr"]) == set(replicas), (partition, state)
        assert state["leader"] in replicas
        assert state.get("targetReplicas") is None
        assert (stat.version > 1) is (partition < 4)  # the others were not moved
        assert raw.get(f"{chroot}/brokers/topics/orders/partitions/{partition}")[0] is None
    assert topic()["topic_id"] == "HOeYd-G3RBO81LizAh-M9g"
    assert json.loads(raw.get(f"{chroot}/controller")[0])["brokerid"] == 1
    assert raw.exists(f"{chroot}/brokers/ids/2").ephemeralOwner
    assert int(raw.get(f"{chroot}/controller_epoch")[0]) > 1
    until(lambda: onlooker.seen >= onlooker.first + 5, "the onlooker sees five keys change")
    assert onlooker.broken == []


def test_a_deleted_topic_leaves_nothing_behind(controller: Controller, raw: KazooClient, chroot: str) -> None:
    """The controller deletes the parents of its keys as well: a node that stayed would be a topic to Kafka's tools."""
    assert "orders" in raw.get_children(f"{chroot}/brokers/topics")
    until(lambda: controller.describe().is_active, "the controller leads")
    controller.admin.delete_topics(["orders"])["orders"].result(timeout=WAIT_S)
    until(lambda: "orders" not in raw.get_children(f"{chroot}/brokers/topics"), "the topic is gone")
    assert raw.get_children(f"{chroot}/admin/delete_topics") == []
