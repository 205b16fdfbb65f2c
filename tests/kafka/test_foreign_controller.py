"""Kafka's own controller leads on the store between two terms of Kedge."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kedge import BrokerRegistration, Controller, NewTopic, Settings, TopicPartition
from kedge.controller.codec import keys
from kedge.stores import MetadataStore, open_store
from servers import LocalZooKeeper
from servers.process import free_port
from tests.kafka_servers import kafka_node
from tests.kit.waiting import until
from tests.runtime.world import Brokers

pytestmark = [pytest.mark.server, pytest.mark.full]

MOVING = TopicPartition("moving", 0)
_WAIT_S = 60.0


@pytest.fixture
def place(zookeeper_server: LocalZooKeeper) -> str:
    return f"{zookeeper_server.address}/foreign-{uuid4().hex}"


@pytest.fixture
def store(place: str) -> Iterator[MetadataStore]:
    with contextlib.closing(open_store(f"zookeeper://{place}")) as found:
        yield found


@contextlib.contextmanager
def kedge(place: str, **settings: bool) -> Iterator[Controller]:
    """It leads, and has three brokers."""
    with (
        contextlib.closing(open_store(f"zookeeper://{place}")) as store,
        Controller(store, 101, Brokers(), settings=Settings(**settings)) as controller,
    ):
        controller.start()
        for broker in (1, 2, 3):
            controller.register_broker(BrokerRegistration(broker))
        until(lambda: controller.is_active and len(controller.describe().live_brokers) == 3)
        yield controller


@contextlib.contextmanager
def kafka(place: str, folder: Path) -> Iterator[None]:
    """Broker 1 runs, and is the controller if there is none."""
    port = free_port()
    settings = {
        "broker.id": "1",
        "zookeeper.connect": place,
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / "data"),
        "controlled.shutdown.enable": "false",
    }
    node = kafka_node("Kafka", folder, settings, port)
    node.start(_WAIT_S)
    try:
        yield
    finally:
        node.stop()


def state(store: MetadataStore, topic: str) -> dict[str, Any]:
    entry = store.get(keys.state(topic, 0), timeout_s=_WAIT_S)
    assert entry is not None
    found: dict[str, Any] = json.loads(entry.value)
    return found


@pytest.mark.parametrize("resumes", [False, True])
def test_moves_from_before_kafka_are_dropped_or_resumed(
    place: str, store: MetadataStore, tmp_path: Path, *, resumes: bool
) -> None:
    """Kafka takes broker 3, which is gone, out of the isr of `written`, and lets `moving` be."""
    with kedge(place) as controller:
        topics = {"moving": NewTopic(replica_assignments=[(1,)]), "written": NewTopic(replica_assignments=[(1, 3)])}
        controller.admin.create_topics(topics).all().result(_WAIT_S)
        controller.admin.alter_partition_reassignments({MOVING: [2]}).all().result(_WAIT_S)
    begun = state(store, "moving")
    with kafka(place, tmp_path):
        until(lambda: state(store, "written")["isr"] == [1])
    until(lambda: not store.children(keys.BROKER_IDS, timeout_s=_WAIT_S))
    assert state(store, "written")["controller_epoch"] > begun["controller_epoch"]
    assert state(store, "moving") == begun
    with kedge(place, resume_foreign_targets=resumes) as controller:
        controller.admin.create_topics({"after": NewTopic(1, 1)}).all().result(_WAIT_S)
        assert set(controller.admin.list_partition_reassignments().result(_WAIT_S)) == ({MOVING} if resumes else set())
        assert ("moving-0" in controller.describe().findings.get("foreign controller", "")) is not resumes
