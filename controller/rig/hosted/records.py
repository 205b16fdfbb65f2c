"""The rules about records: acknowledged records are never lost, and the log of a leader only grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...model.values import NO_LEADER, Partition
from ...simulated.replica import Role
from ..committed import CommittedTree
from . import rules
from .broker import HostedBroker, Place
from .isr_calls import IsrCall
from .rules import Judge
from .under_test import Contents, Held


class Records:
    """Remembers the acknowledged records of each place, and the ends of leaders' logs."""

    def __init__(self, brokers: Mapping[int, HostedBroker], judge: Judge) -> None:
        self._brokers = brokers
        self._judge = judge
        self._acknowledged: dict[Place, Sequence[object]] = {}
        self._ends: dict[tuple[int, int, Place], tuple[int, int]] = {}  # of a process: leader epoch and log end
        self._epochs: dict[tuple[int, int, Place], int] = {}

    def acknowledged(self, place: Place) -> int:
        """How many records of the place are acknowledged, as far as its leaders showed."""
        return len(self._acknowledged.get(place, ()))

    def look(self, partitions: Iterable[tuple[Place, Partition]]) -> None:
        """Compare all logs with what is known of them."""
        for broker in self._brokers.values():
            for place in broker.names:
                self._epoch_and_end(broker, place, broker.held(place))
        if self._judge.heeds(rules.ACKNOWLEDGED):
            for place, partition in partitions:
                self._leader(place, partition)

    def joins(self, call: IsrCall, place: Place, committed: CommittedTree) -> None:
        """A leader requests an isr: those that it adds must have all acknowledged records."""
        p = committed.partitions.get(call.tp)
        if p is None or (p.leader, p.leader_epoch) != (call.leader, call.leader_epoch):
            return
        known = self.acknowledged(place)
        for member in set(call.isr) - set(p.isr):
            broker = self._brokers[member]
            held = broker.held(place) if place in broker.names else None
            end = 0 if held is None else held.end_offset
            said = f"broker {call.leader} adds {member} to the isr of {call.tp}, whose log ends at {end}"
            is_whole = end >= known or place in broker.lost
            self._judge.require(is_whole, rules.JOINS, f"{said}: {known} records are acknowledged")

    def grouped(self, partitions: Iterable[tuple[Place, Partition]]) -> list[str]:
        """In-sync replicas whose records differ from their leader's, one line each."""
        if not self._judge.heeds(rules.ALIKE):
            return []
        found = []
        for place, p in partitions:
            logs = {b: self._read(b, place) for b in p.isr if self._brokers[b].held(place) is not None}
            lengths = {b: len(log.records) for b, log in logs.items()}
            if len({tuple(log.records) for log in logs.values()}) > 1:
                found.append(f"{p.tp}: the logs of the isr differ; records on each broker: {lengths}")
        return found

    def _epoch_and_end(self, broker: HostedBroker, place: Place, held: Held | None) -> None:
        process = (broker.broker_id, broker.process, place)
        if held is None:
            self._epochs.pop(process, None)
            self._ends.pop(process, None)
            return
        known = self._epochs.get(process, -1)
        who = f"broker {broker.broker_id}, {broker.names[place]}"
        self._judge.require(held.leader_epoch >= known, rules.EPOCHS, f"{who}: {known} was followed by {held}")
        self._epochs[process] = held.leader_epoch
        epoch, end = self._ends.get(process, (-1, 0))
        if held.role is Role.LEADER and held.leader_epoch == epoch:
            self._judge.require(held.end_offset >= end, rules.ENDS, f"{who}: the log ended at {end}, now: {held}")
        if held.role is Role.LEADER:
            self._ends[process] = (held.leader_epoch, held.end_offset)

    def _leader(self, place: Place, p: Partition) -> None:
        if p.leader == NO_LEADER or any(place in broker.lost for broker in self._brokers.values()):
            return  # a disk may have taken acknowledged records along
        broker = self._brokers[p.leader]
        held = broker.held(place) if place in broker.names else None
        if held is None or (held.role, held.leader_epoch) != (Role.LEADER, p.leader_epoch):
            return  # it has not heard of its election
        log = self._read(p.leader, place)
        known, who = self._acknowledged.get(place, ()), f"{p.tp}, leader {p.leader} under {p.leader_epoch}"
        shared = list(log.records[: len(known)])
        self._judge.require(
            shared == list(known),
            rules.ACKNOWLEDGED,
            f"{who}: {len(known)} records were acknowledged, and it has {len(log.records)}, of which "
            f"{_common(shared, known)} are the same",
        )
        self._judge.require(
            log.high_watermark <= len(log.records), rules.ACKNOWLEDGED, f"{who}: the high watermark is above the end"
        )
        for member in p.isr:
            self._has_acknowledged(member, place, log.high_watermark, who)
        if log.high_watermark > len(known):
            self._acknowledged[place] = tuple(log.records[: log.high_watermark])

    def _has_acknowledged(self, member: int, place: Place, high_watermark: int, who: str) -> None:
        broker = self._brokers.get(member)
        held = None if broker is None or place not in broker.names else broker.held(place)
        end = 0 if held is None else held.end_offset
        self._judge.require(
            end >= high_watermark,
            rules.ACKNOWLEDGED,
            f"{who}: the high watermark is {high_watermark}, and the log of {member}, in the isr, ends at {end}",
        )

    def _read(self, broker: int, place: Place) -> Contents:
        return self._brokers[broker].host.read(broker, self._brokers[broker].names[place], place[0])


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
