"""A consumer of assigned partitions: it reads from their leaders, up to the high watermark.

A read-only partition (KIP-694) is read as any other. An offline or deleted one is an error of that partition alone. If
a log does not reach an offset any more, reading begins anew at the log's start (earliest).
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
    """One consumer. `positions`: the next offset of each assigned partition. `errors`: of the partitions that could not
    be read at the last poll."""

    metadata: ClientMetadata
    brokers: Mapping[int, Broker]
    positions: dict[TopicPartition, int] = attrs.field(factory=dict)
    errors: dict[TopicPartition, ErrorCode] = attrs.field(factory=dict)

    def assign(self, offsets: Mapping[TopicPartition, int] | Iterable[TopicPartition]) -> None:
        """Read exactly these partitions: from the given offsets; otherwise new ones from the beginning."""
        found = offsets if isinstance(offsets, Mapping) else {tp: self.positions.get(tp, 0) for tp in offsets}
        self.positions, self.errors = dict(found), {}

    def poll(self) -> dict[TopicPartition, list[Run]]:
        """The new records, by partition; advances the positions."""
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
        """The replica that answers a fetch, or the error."""
        info = self.metadata.partition(tp)
        if info is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker = self.brokers.get(info.leader)
        if broker is None or not broker.is_up:
            return ErrorCode.LEADER_NOT_AVAILABLE
        replica, refused = broker.replica(tp), broker.refuses_fetch(tp)
        return replica if replica is not None and refused is ErrorCode.NONE else refused
