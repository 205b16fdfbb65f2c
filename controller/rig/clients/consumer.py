"""A consumer of partitions that it is told to read: from their leaders, up to the high watermark.

A partition that is read-only (KIP-694) is read as any other. One that is offline, or gone, is an error of that
partition alone. An offset that a log does not reach any more begins anew at the log's start (earliest).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from controller.model.errors import ErrorCode
from controller.model.values import TopicPartition
from controller.rig.clients.metadata import ClientMetadata
from controller.simulated.broker import Broker
from controller.simulated.log import Run
from controller.simulated.replica import Replica


@attrs.define(eq=False)
class Consumer:
    """One consumer. `positions`: the next offset of each partition that is assigned. `errors`: why a partition could
    not be read at the last poll."""

    metadata: ClientMetadata
    brokers: Mapping[int, Broker]
    positions: dict[TopicPartition, int] = attrs.field(factory=dict)
    errors: dict[TopicPartition, ErrorCode] = attrs.field(factory=dict)

    def assign(self, offsets: Mapping[TopicPartition, int] | Iterable[TopicPartition]) -> None:
        """Just these partitions are read: from their offsets, or those that are new here from the beginning."""
        found = offsets if isinstance(offsets, Mapping) else {tp: self.positions.get(tp, 0) for tp in offsets}
        self.positions, self.errors = dict(found), {}

    def poll(self) -> dict[TopicPartition, list[Run]]:
        """What is new, by partition. Positions go on."""
        self.errors = {}
        found = {tp: runs for tp in list(self.positions) if (runs := self._read(tp))}
        if self.errors:
            self.metadata.refresh()
        return found

    def _read(self, tp: TopicPartition) -> list[Run]:
        leader = self._leader(tp)
        if not isinstance(leader, Replica):
            self.errors[tp] = leader
            return []
        log, position = leader.log, self.positions[tp]
        if position > log.end_offset:
            position = 0
        runs = [run.head(min(run.end, log.high_watermark) - run.start) for run in log.read(position)]
        runs = [run for run in runs if run.count > 0]
        self.positions[tp] = runs[-1].end if runs else position
        return runs

    def _leader(self, tp: TopicPartition) -> Replica | ErrorCode:
        """Who answers a fetch, or why nobody does."""
        info = self.metadata.partition(tp)
        if info is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker = self.brokers.get(info.leader)
        if broker is None or not broker.is_up:
            return ErrorCode.LEADER_NOT_AVAILABLE
        replica, refused = broker.replica(tp), broker.refuses_fetch(tp)
        return replica if replica is not None and refused is ErrorCode.NONE else refused
