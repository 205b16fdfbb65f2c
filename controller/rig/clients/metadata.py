"""A client's view of the cluster: the partitions of topics by the metadata of a live broker, until it is refreshed.

* It is read from the live broker with the lowest id: at the first use, when it is older than `max_age_ms`, and when a
  broker refused a request. In between it may be out of date.
* An offline partition (KIP-694: 1) is absent. A client that `knows_status` recognises read-only ones (-1); an older one
  takes all visible ones for online, and is refused by the leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ...model.host import PartitionMetadata
from ...model.reductions import ONLINE
from ...model.values import Replicas, TopicPartition
from ...simulated.broker import Broker
from ...simulated.clock import VirtualClock

MAX_AGE_MS: Final = 5_000


@attrs.frozen
class PartitionInfo:
    """A partition as clients see it. `status`: 0 online, -1 read-only (KIP-694). `leader` -1: none."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: Replicas
    isr: Replicas
    status: int

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@attrs.define(eq=False)
class ClientMetadata:
    """One client's view. `knows_status` False: a client from before KIP-694."""

    brokers: Mapping[int, Broker]
    clock: VirtualClock
    knows_status: bool = True
    max_age_ms: int = MAX_AGE_MS
    refreshes: int = 0
    _known: dict[str, tuple[PartitionInfo, ...]] = attrs.field(factory=dict)
    _asked_ms: int | None = None

    def partitions(self, topic: str) -> tuple[PartitionInfo, ...]:
        """The partitions of `topic` by id; empty where it is unknown."""
        if self._asked_ms is None or self.clock.now_ms() - self._asked_ms >= self.max_age_ms:
            self.refresh()
        return self._known.get(topic, ())

    def online(self, topic: str) -> tuple[PartitionInfo, ...]:
        """The partitions that take records, as far as is known."""
        return tuple(info for info in self.partitions(topic) if info.status == ONLINE)

    def partition(self, tp: TopicPartition) -> PartitionInfo | None:
        return next((info for info in self.partitions(tp.topic) if info.partition == tp.partition), None)

    def refresh(self) -> bool:
        """Read the metadata of a live broker; False if there is none."""
        broker = min((b for b in self.brokers.values() if b.is_up and b.metadata), key=_id_of, default=None)
        if broker is None:
            return False
        self._known = {topic: tuple(map(self._info, told.values())) for topic, told in broker.shown().items()}
        self._asked_ms = self.clock.now_ms()
        self.refreshes += 1
        return True

    def _info(self, said: PartitionMetadata) -> PartitionInfo:
        status = said.status_code if self.knows_status else ONLINE
        parts = (said.leader, said.leader_epoch, said.replicas, said.isr, status)
        return PartitionInfo(said.topic, said.partition, *parts)


def _id_of(broker: Broker) -> int:
    return broker.broker_id
