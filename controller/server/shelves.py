"""The records of all partitions, and the deletion of the oldest.

* The newest `retention_bytes` of each partition are kept. Records above the high watermark cannot be deleted, nor those
  of a topic that is only compacted: at twice that size the disk counts as full.
* `__consumer_offsets` and `__transaction_state` are never full.
* Compaction replaces batches for all replicas at once, since they share them (`kedge.controller.server.compaction`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ..coordinators import INTERNAL_TOPICS
from ..simulated.broker import Broker, ReplicaId
from ..simulated.log import truncation_offset
from ..simulated.replica import Replica
from .policies import DELETE, Configs, policies
from .record_store import RecordStore, shrunk
from .rows import Row

RETENTION_BYTES: Final = 64 * 1024 * 1024


@attrs.define(eq=False)
class Shelves:
    """One shelf for all replicas of a partition; `brokers` hold the replicas. `settings`: of topics, by kind and
    name."""

    brokers: Mapping[int, Broker]
    settings: Configs
    retention_bytes: int = RETENTION_BYTES
    _shelves: dict[ReplicaId, RecordStore] = attrs.field(factory=dict)

    def of(self, replica: Replica) -> RecordStore:
        return self._shelves.setdefault((replica.topic_id, replica.partition), RecordStore())

    @property
    def size_bytes(self) -> int:
        """Bytes of all stored records, each counted once."""
        return sum(shelf.size_bytes for shelf in list(self._shelves.values()))

    def is_full(self, replica: Replica) -> bool:
        """Whether the partition has no room for another batch."""
        return replica.topic not in INTERNAL_TOPICS and self.of(replica).size_bytes > 2 * self.retention_bytes

    # --- deleting

    def clean(self) -> None:
        """The records of partitions without any replica are deleted."""
        held = {place for broker in self.brokers.values() for place in broker.replicas}
        for place in [place for place in self._shelves if place not in held]:
            del self._shelves[place]

    def trim(self, replica: Replica) -> None:
        """Delete the oldest batches where there are more than `retention_bytes`, unless the topic is only compacted."""
        shelf = self.of(replica)
        if shelf.size_bytes <= self.retention_bytes or DELETE not in policies(replica.topic, self.settings):
            return
        if shelf.trim(self.retention_bytes, replica.log):
            self._follow(replica)

    def delete_before(self, replica: Replica, offset: int) -> None:
        """Delete what is below `offset`, which is not above the high watermark, in all logs of the partition."""
        shelf = self.of(replica)
        if offset > shelf.start_offset:
            shelf.delete_before(offset, replica.log)
            self._follow(replica)

    def delete_older(self, replica: Replica, timestamp_ms: int) -> None:
        """Delete the oldest batches that have no record of that time or later."""
        self.delete_before(replica, self.of(replica).begins_by(timestamp_ms, replica.log))

    def delete_beyond(self, replica: Replica, bytes_max: int) -> None:
        """Delete the oldest batches, as long as at least `bytes_max` remain."""
        self.delete_before(replica, self.of(replica).begins_within(bytes_max, replica.log))

    def _follow(self, replica: Replica) -> None:
        start = self.of(replica).start_offset
        for held in self._held(replica):
            with self.brokers[held.broker].isolated(held):
                if held.log.end_offset >= start:
                    held.log.delete_before(start)

    def _held(self, replica: Replica) -> list[Replica]:
        place = (replica.topic_id, replica.partition)
        return [held for broker in self.brokers.values() if (held := broker.replicas.get(place)) is not None]

    # --- compacting

    def replace(self, leader: Replica, rows: Sequence[Row], remaining: Sequence[Row]) -> None:
        """Of these rows of the leader's log the `remaining` ones stay. The logs of all replicas that have the same
        records shrink with it; their offsets stay."""
        if not rows:
            return  # retention deleted all of them
        self.of(leader).replace(rows, remaining)
        runs = shrunk(leader.log, remaining, rows[-1].stored.end_offset)
        for held in self._held(leader):
            with self.brokers[held.broker].isolated(held):
                held.log.resize(runs, truncation_offset(held.log, leader.log))
