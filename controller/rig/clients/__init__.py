"""Clients of the rig's cluster: producers that choose partitions, consumers, groups with committed offsets.

They see what brokers tell in their metadata, as real clients do, and go on by it until they ask again. `Clients` makes
them, and lets their time pass with the rig's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from controller.model.values import TopicPartition
from controller.rig.clients.consumer import Consumer
from controller.rig.clients.group import Group, Offsets
from controller.rig.clients.metadata import ClientMetadata, PartitionInfo
from controller.rig.clients.producer import Partitioner, Producer
from controller.rig.producers import Producers
from controller.simulated.broker import Broker
from controller.simulated.clock import VirtualClock

__all__ = [
    "ClientMetadata",
    "Clients",
    "Consumer",
    "Group",
    "Offsets",
    "PartitionInfo",
    "Partitioner",
    "Producer",
]


@attrs.define(eq=False)
class Clients:
    """All clients of one cluster. Each has metadata of its own; `knows_status` False: from before KIP-694."""

    brokers: Mapping[int, Broker]
    clock: VirtualClock
    producers: Producers
    offsets: Offsets = attrs.field(factory=Offsets)
    _stepping: list[Producer | Group] = attrs.field(factory=list)

    def metadata(self, *, knows_status: bool = True) -> ClientMetadata:
        """What one more client knows."""
        return ClientMetadata(self.brokers, self.clock, knows_status)

    def producer(self, partitioner: Partitioner | None = None, *, knows_status: bool = True) -> Producer:
        """One more producer, whose streams flow as time passes."""
        made = Producer(self.metadata(knows_status=knows_status), self.producers, partitioner)
        self._stepping.append(made)
        return made

    def consumer(self, *, knows_status: bool = True) -> Consumer:
        """One more consumer, that is assigned by hand and reads when it is polled."""
        return Consumer(self.metadata(knows_status=knows_status), self.brokers)

    def group(self, name: str, topics: Sequence[str], members: int = 1, *, knows_status: bool = True) -> Group:
        """One more group, that reads as time passes."""
        made = Group(name, tuple(topics), self.metadata(knows_status=knows_status), self.brokers, self.offsets)
        made.resize(members)
        self._stepping.append(made)
        return made

    def step(self, ms: int) -> None:
        """Time passes for all of them."""
        for client in self._stepping:
            client.step(ms)

    def purged(self, tp: TopicPartition) -> None:
        """A partition is gone for good: whatever was committed of it goes."""
        self.offsets.purged(tp)
