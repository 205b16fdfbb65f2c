"""A consumer of assigned partitions: it reads from their leaders, up to the high watermark.

A read-only partition (KIP-694) is read as any other. An offline or deleted one is an error of that partition alone. If
a log does not reach an offset any more, reading restarts at the log's start (earliest).

A consumer group, and the committed offsets of groups: a broker's coordinator, as far as partitions are concerned.

* Every visible partition of the group's topics (online or read-only) is assigned to one member, in turn. Where
  partitions or members change, the group rebalances: `generation` counts it.
* A member begins at the committed offset, or at the beginning. Records are committed with the poll that read them.
* The committed offsets of a purged partition are deleted (KIP-694), so that a new one with its id is read from its
  beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from ...model.errors import ErrorCode
from ...model.values import TopicPartition
from ...simulated.broker import Broker
from ...simulated.log import Run
from ...simulated.replica import Replica
from .metadata import ClientMetadata


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


@attrs.define(eq=False)
class Offsets:
    """Committed offsets: group and partition -> the next offset."""

    committed: dict[tuple[str, TopicPartition], int] = attrs.field(factory=dict)

    def purged(self, tp: TopicPartition) -> None:
        self.committed = {at: offset for at, offset in self.committed.items() if at[1] != tp}


@attrs.define(eq=False)
class Group:
    """The members of a group, by number. `consumed`: the number of records read from each partition in all."""

    name: str
    topics: tuple[str, ...]
    metadata: ClientMetadata
    brokers: Mapping[int, Broker]
    offsets: Offsets
    generation: int = 0
    consumed: dict[TopicPartition, int] = attrs.field(factory=dict)
    members: list[Consumer] = attrs.field(factory=list)
    _assigned: tuple[tuple[TopicPartition, ...], int] | None = None

    def resize(self, members: int) -> None:
        """Set the number of members; the next poll rebalances."""
        while len(self.members) < members:
            self.members.append(Consumer(self.metadata, self.brokers))
        del self.members[members:]

    @property
    def assignment(self) -> Sequence[tuple[TopicPartition, ...]]:
        return [tuple(member.positions) for member in self.members]

    def committed(self, tp: TopicPartition) -> int | None:
        """The committed offset of `tp`; None where there is none."""
        return self.offsets.committed.get((self.name, tp))

    def poll(self) -> dict[TopicPartition, list[Run]]:
        """Every member reads the new records, and commits them."""
        self._rebalance()
        found: dict[TopicPartition, list[Run]] = {}
        for member in self.members:
            read = member.poll()
            found |= read
            for tp, runs in read.items():
                self.offsets.committed[self.name, tp] = runs[-1].end
                self.consumed[tp] = self.consumed.get(tp, 0) + sum(run.count for run in runs)
        return found

    def step(self, ms: int) -> None:  # noqa: ARG002 - it reads as fast as it is written
        self.poll()

    def _rebalance(self) -> None:
        tps = tuple(info.tp for topic in self.topics for info in self.metadata.partitions(topic))
        if self._assigned == (tps, len(self.members)):
            return
        self._assigned = (tps, len(self.members))
        self.generation += 1
        for place, member in enumerate(self.members):
            own = tps[place :: len(self.members)]
            member.assign({tp: self._begin(tp) for tp in own})

    def _begin(self, tp: TopicPartition) -> int:
        committed = self.committed(tp)
        return 0 if committed is None else committed
