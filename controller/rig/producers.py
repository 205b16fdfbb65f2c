"""Producers: records with unique ids, sent with acks=all.

A record is acknowledged when the high watermark has passed it on the leader that took it, in the same leader epoch.
Every acknowledged record must be in the leader's log in the end; `lost` returns those that are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from ..model.errors import ErrorCode
from ..model.values import TopicPartition
from ..simulated.broker import Broker
from ..simulated.clock import VirtualClock
from ..simulated.log import Log, Run
from ..simulated.replica import Replica, Role


@attrs.define(eq=False)
class _Waiting:
    replica: Replica
    run: Run


@attrs.define(eq=False)
class Writer:
    """Writes to `partitions` in turn, `records_per_s` in all, until `stop()`. `record_bytes`: of each record."""

    partitions: tuple[TopicPartition, ...]
    records_per_s: float
    record_bytes: int
    owed: float = 0.0
    turn: int = 0
    is_running: bool = True

    def stop(self) -> None:
        """End the writing; records that were written can still be acknowledged."""
        self.is_running = False


@attrs.define(eq=False)
class Producers:
    """All records that are written to a cluster, and the acknowledged ones."""

    brokers: Mapping[int, Broker]
    clock: VirtualClock
    writers: list[Writer] = attrs.field(factory=list)
    sent: int = 0
    refused: int = 0
    _next_ids: dict[TopicPartition, int] = attrs.field(factory=dict)  # per partition, so that runs stay whole
    _waiting: dict[TopicPartition, list[_Waiting]] = attrs.field(factory=dict)
    _runs: dict[TopicPartition, list[Run]] = attrs.field(factory=dict)

    # --- writing

    def write(self, tp: TopicPartition, count: int, record_bytes: int) -> int:
        """Write `count` records to the leader of `tp`; returns how many it took: 0 where there is no leader."""
        replica = self._leader(tp)
        if replica is None or count < 1 or self.brokers[replica.broker].refuses_produce(tp) is not ErrorCode.NONE:
            self.refused += count
            return 0
        run = replica.append(count, self.new_ids(tp, count), record_bytes)
        self.sent += count
        waiting = self._waiting.setdefault(tp, [])
        last = waiting[-1] if waiting else None
        if last is not None and last.replica is replica and last.run.goes_on_with(run):
            last.run = last.run.head(last.run.count + run.count)
        else:
            waiting.append(_Waiting(replica, run))
        return count

    def _leader(self, tp: TopicPartition) -> Replica | None:
        """The leader of `tp` with the highest epoch, to which a client's metadata finally leads."""
        found = (broker.replica(tp) for broker in self.brokers.values() if broker.is_up)
        leading = [replica for replica in found if replica is not None and replica.role is Role.LEADER]
        return max(leading, key=lambda replica: replica.leader_epoch, default=None)

    def step(self, ms: int) -> None:
        """Write what is due, and take in acknowledgements."""
        for writer in self.writers:
            if writer.is_running:
                self._write_due(writer, ms)
        for tp in list(self._waiting):
            self._hear(tp)

    def _write_due(self, writer: Writer, ms: int) -> None:
        writer.owed += writer.records_per_s * ms / 1000
        due = int(writer.owed)
        writer.owed -= due
        each, more = divmod(due, len(writer.partitions))
        for place in range(len(writer.partitions)):
            tp = writer.partitions[(writer.turn + place) % len(writer.partitions)]
            self.write(tp, each + (1 if place < more else 0), writer.record_bytes)
        writer.turn += more

    def next_id(self, tp: TopicPartition) -> int:
        return self._next_ids.get(tp, 0)

    def new_ids(self, tp: TopicPartition, count: int) -> int:
        """The first of `count` ids that no other record of `tp` has."""
        first = self._next_ids.get(tp, 0)
        self._next_ids[tp] = first + count
        return first

    # --- acknowledgements

    def _hear(self, tp: TopicPartition) -> None:
        still = []
        for waiting in self._waiting[tp]:
            replica, run = waiting.replica, waiting.run
            if replica.role is not Role.LEADER or replica.leader_epoch != run.leader_epoch:
                continue  # its leader was replaced: it is never acknowledged, but may be in the log
            count = min(run.end, replica.log.high_watermark) - run.start
            if count > 0:
                self.believe_acknowledged(tp, run.head(count))
            if count < run.count:
                still.append(_Waiting(replica, run.tail(run.start + max(0, count))))
        if still:
            self._waiting[tp] = still
        else:
            del self._waiting[tp]

    def believe_acknowledged(self, tp: TopicPartition, run: Run) -> None:
        """The records of `run` were acknowledged, and must not be lost."""
        runs = self._runs.setdefault(tp, [])
        if runs and runs[-1].goes_on_with(run):
            runs[-1] = runs[-1].head(runs[-1].count + run.count)
        else:
            runs.append(run)

    def forget(self, topic: str, partition: int | None = None) -> None:
        """The topic or one of its partitions was deleted: its acknowledged records may be gone."""
        for known in (self._runs, self._waiting):
            for tp in [tp for tp in known if tp.topic == topic and partition in (None, tp.partition)]:
                del known[tp]

    def acknowledged(self, tp: TopicPartition | None = None) -> int:
        """The number of acknowledged records of `tp`, or of all."""
        wanted: Iterable[list[Run]] = self._runs.values() if tp is None else [self._runs.get(tp, [])]
        return sum(run.count for runs in wanted for run in runs)

    @property
    def waiting(self) -> int:
        """The number of records that a leader took, but that are not acknowledged yet."""
        return sum(waiting.run.count for found in self._waiting.values() for waiting in found)

    def lost(self, tp: TopicPartition, log: Log) -> list[Run]:
        return [run for run in self._runs.get(tp, []) if not log.holds(run)]

    @property
    def partitions(self) -> list[TopicPartition]:
        return list(self._runs)
