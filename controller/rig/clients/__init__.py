"""Clients of the rig's cluster: producers that choose partitions, consumers, groups with committed offsets.

They use the metadata of brokers, as real clients do, until they refresh it. `Clients` creates them, and lets their time
pass with the rig's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from ...model.values import TopicPartition
from ...simulated.broker import Broker
from ...simulated.clock import VirtualClock
from ..producers import Producers
from .consumer import Consumer as Consumer
from .consumer import Group as Group
from .consumer import Offsets as Offsets
from .metadata import ClientMetadata as ClientMetadata
from .metadata import PartitionInfo as PartitionInfo
from .producer import Partitioner as Partitioner
from .producer import Producer as Producer


@attrs.define(eq=False)
class Clients:
    """All clients of one cluster. Each has its own metadata; `knows_status` False: from before KIP-694."""

    brokers: Mapping[int, Broker]
    clock: VirtualClock
    producers: Producers
    offsets: Offsets = attrs.field(factory=Offsets)
    _stepping: list[Producer | Group] = attrs.field(factory=list)

    def metadata(self, *, knows_status: bool = True) -> ClientMetadata:
        return ClientMetadata(self.brokers, self.clock, knows_status)

    def producer(self, partitioner: Partitioner | None = None, *, knows_status: bool = True) -> Producer:
        """A new producer, whose streams run as time passes."""
        made = Producer(self.metadata(knows_status=knows_status), self.producers, partitioner)
        self._stepping.append(made)
        return made

    def consumer(self, *, knows_status: bool = True) -> Consumer:
        """A new consumer, which is assigned by hand and reads when it is polled."""
        return Consumer(self.metadata(knows_status=knows_status), self.brokers)

    def group(self, name: str, topics: Sequence[str], members: int = 1, *, knows_status: bool = True) -> Group:
        """A new group, which reads as time passes."""
        made = Group(name, tuple(topics), self.metadata(knows_status=knows_status), self.brokers, self.offsets)
        made.resize(members)
        self._stepping.append(made)
        return made

    def step(self, ms: int) -> None:
        """Let time pass for all of them."""
        for client in self._stepping:
            client.step(ms)

    def purged(self, tp: TopicPartition) -> None:
        """A partition is gone for good: its committed offsets are deleted."""
        self.offsets.purged(tp)
