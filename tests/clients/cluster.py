"""A cluster behind a gateway whose moves wait until the test reports the copies, so that they are seen running."""

from __future__ import annotations

from typing import Final

from kedge import BrokerRegistration, TopicPartition
from kedge.controller.model.values import Partition
from kedge.controller.model.view import ClusterView
from tests.clients.tap import Tap
from tests.kit.waiting import until
from tests.wire.served import RACKS, Served

_ANSWER_S: Final = 30


class Withheld(Served):
    """Brokers accept all requests, and copy nothing: `catch_up` reports that they did. `tap` sees requests."""

    def __init__(self) -> None:
        self.tap: Final = Tap()
        super().__init__(apis=self.tap.apis)

    def catch_up(self, topic: str) -> None:
        """Every replica of the topic is in sync, those that are being added too, and no move of it is left."""
        for partition, epoch, broker_epoch in self.controller.query(lambda view: _rows(view, topic)).result(_ANSWER_S):
            wanted = tuple(dict.fromkeys((*partition.replicas, *(partition.target_replicas or ()))))
            if set(wanted) == set(partition.isr):
                continue
            tp = TopicPartition(topic, partition.partition)
            leader, leader_epoch = partition.leader, partition.leader_epoch
            self.controller.alter_isr(tp, leader, leader_epoch, epoch, wanted, broker_epoch).result(_ANSWER_S)
        until(lambda: not self.moving(topic))

    def moving(self, topic: str) -> list[int]:
        """The partitions of the topic that are being reassigned."""

        def ask(view: ClusterView) -> list[int]:
            return sorted(p.partition for p in view.moving() if p.topic == topic)

        return self.controller.query(ask).result(_ANSWER_S)

    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Where a partition is to lie."""

        def ask(view: ClusterView) -> tuple[int, ...]:
            found = view.partition(topic, partition)
            assert found is not None
            return found.replicas

        return self.controller.query(ask).result(_ANSWER_S)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads a partition."""

        def ask(view: ClusterView) -> int:
            found = view.partition(topic, partition)
            assert found is not None
            return found.leader

        return self.controller.query(ask).result(_ANSWER_S)

    def bounce(self, broker: int) -> None:
        """A broker goes and comes back: what it led is led by others, where there are any; nothing lacks a replica."""
        epoch = self.controller.broker_epochs[broker]
        self.controller.unregister_broker(broker, epoch)
        until(lambda: broker not in self.controller.describe().live_brokers)
        self.controller.register_broker(BrokerRegistration(broker, rack=RACKS[broker]))
        until(lambda: broker in self.controller.describe().live_brokers)
        for topic in self.controller.query(lambda view: list(view.topic_names())).result(_ANSWER_S):
            if not self.moving(topic):
                self.catch_up(topic)


def _rows(view: ClusterView, topic: str) -> list[tuple[Partition, int, int]]:
    """Each partition, its epoch, and the epoch of the broker that leads it."""
    led = [p for p in view.partitions_of(topic) if p.leader in view.brokers]
    return [(p, view.partition_epoch(p), view.brokers[p.leader].epoch) for p in led]
