"""A controller on etcd, over the metadata that real Kafka brokers left."""

from __future__ import annotations

import json

import pytest

from kedge import BrokerRegistration, Controller, HostResponse, TopicPartition
from kedge.controller.check import check_store
from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.stores import ABSENT, PRESENT, MetadataStore, Put
from kedge.stores.tree import TreeEntry, read_tree
from tests.kit.data import DATA
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.slow]

MOVED = [[1, 3], [2, 1], [3, 2], [2, 3]]  # where Kafka was moving them
CALL_S = 10.0
WAIT_S = 60.0


class JoiningHost:
    """Leaders whose followers are in sync at once; `join` reports it, again and again, as leaders do when they are
    refused, because a follower is not alive yet."""

    controller: Controller

    def __init__(self) -> None:
        self._led: dict[TopicPartition, tuple[LeaderAndIsrPartition, int]] = {}

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        for told in request.partitions:
            if told.leader == request.broker_id:
                self._led[TopicPartition(told.topic, told.partition)] = (told, request.broker_epoch)
        return HostResponse()

    def join(self) -> None:
        for partition, (told, broker_epoch) in list(self._led.items()):
            missing = [b for b in told.target_replicas or () if b not in told.isr]
            if missing:
                isr = [*told.isr, *missing]
                self.controller.alter_isr(
                    partition, told.leader, told.leader_epoch, told.partition_epoch, isr, broker_epoch
                )

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:  # noqa: ARG002 - all is well
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:  # noqa: ARG002 - as above
        return HostResponse()


def load(store: MetadataStore, tree: tuple[TreeEntry, ...]) -> None:
    """Every key that is not ephemeral, written as often as it had been, since that is the partition epoch."""
    kept = [entry for entry in tree if entry.value is not None and not entry.ephemeral]
    for round_ in range(1 + max(entry.generation for entry in kept)):
        expect = PRESENT if round_ else ABSENT
        ops = [Put(e.key, e.value or b"", expect) for e in kept if e.generation >= round_]
        for start in range(0, len(ops), store.capabilities.commit_ops_max):
            store.commit(ops[start : start + store.capabilities.commit_ops_max], timeout_s=CALL_S)


def test_kafkas_running_moves_are_taken_over_on_etcd_and_finished(store: MetadataStore, other: MetadataStore) -> None:
    """The controller takes the tree over, ends its moves, and leaves nothing to find."""
    load(other, read_tree(DATA / "kafka_3_9_tree_moving.json"))
    host = JoiningHost()
    controller = host.controller = Controller(store, 101, host)
    with controller:
        controller.start()
        for broker_id, rack in ((1, "a"), (2, "b"), (3, "c")):
            controller.register_broker(BrokerRegistration(broker_id, rack=rack))
        until(lambda: len(controller.describe().live_brokers) == 3)
        until(lambda: host.join() or orders(other) == MOVED)  # type: ignore[func-returns-value]
        until(lambda: check_store(other, timeout_s=CALL_S).findings == ())
        assert not controller.admin.list_partition_reassignments().result(CALL_S)
        assert controller.describe().partitions == 19


def orders(store: MetadataStore) -> list[list[int]]:
    """The replicas of the four partitions that Kafka was moving."""
    entry = store.get("/brokers/topics/orders", timeout_s=CALL_S)
    assert entry is not None
    partitions = json.loads(entry.value)["partitions"]
    return [partitions[str(number)] for number in range(4)]
