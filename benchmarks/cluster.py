"""Clusters to measure on: a tree in a memory server, and hosts that answer at once."""

from __future__ import annotations

from controller import BrokerRegistration, Controller, HostResponse
from controller.codec import keys, partition_state, small, topic
from controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from controller.model.values import Partition, Replicas, Topic
from stores import ABSENT, MemoryServer, MemoryStore, Put


class QuietHost:
    """Answers at once and keeps nothing."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return HostResponse()

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return HostResponse()


def replicas_of(number: int, brokers: int, replication_factor: int) -> Replicas:
    """R of the partition with this number: the ids 1..brokers in turn."""
    return tuple(1 + (number + i) % brokers for i in range(replication_factor))


def plant(server: MemoryServer, topics: int, partitions: int, brokers: int, replication_factor: int = 3) -> None:
    """`topics` x `partitions` with all replicas in sync, in Kafka's layout."""
    store = MemoryStore(server)
    number = 0
    for index in range(topics):
        name = f"topic-{index:06d}"
        assignments = [replicas_of(number + p, brokers, replication_factor) for p in range(partitions)]
        ops = [
            Put(keys.topic_config(name), small.encode_config({}), ABSENT),
            Put(keys.topic(name), topic.encode(Topic(name, f"{index:022d}"), assignments), ABSENT),
        ]
        for p, replicas in enumerate(assignments):
            value = partition_state.encode(Partition(name, p, replicas, replicas, replicas[0], 0), 1)
            ops.append(Put(keys.state(name, p), value, ABSENT))
        store.commit(ops, timeout_s=60)
        number += partitions
    store.close()


def register(controller: Controller, brokers: int) -> dict[int, int]:
    """Brokers 1..n, in three racks; their epochs."""
    return {b: controller.register_broker(BrokerRegistration(b, rack=f"r{b % 3}")) for b in range(1, brokers + 1)}


def settle(controller: Controller) -> None:
    """Poll until there is nothing to do."""
    while controller.poll_once():
        pass
